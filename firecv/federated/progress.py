"""A progress bar over rounds, if someone is looking."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from firecv.federated.history import Record
from firecv.progress import bar


@contextmanager
def rounds_shown(n_rounds: int, n_done: int, progress: bool) -> Generator[Callable[[Record], None]]:
    """Give a function to be called with the record of every round.

    Parameters
    ----------
    n_rounds
        Rounds in all.
    n_done
        Of these, how many were done earlier.
    progress
        Whether to show a bar, on a terminal's standard error; elsewhere nothing is shown.
    """
    with bar("rounds", n_rounds, done=n_done, shown=progress) as advance:
        n_bytes = 0

        def show(record: Record) -> None:
            nonlocal n_bytes
            n_bytes += record.bytes_up + record.bytes_down
            advance(1, words(record, n_bytes))

        yield show


def words(record: Record, n_bytes: int) -> str:
    """Return what the bar says: accuracies, clients that failed, and what has been sent so far.

    Examples
    --------
    >>> words(Record(2, (0,), {1: "late"}, scores={"test_accuracy": 0.9312}), 4_300_000)
    'test 93.1 %, 1 failed, 4.3 MB'
    """
    parts = [
        f"{name.removesuffix('_accuracy')} {100 * value:.1f} %"
        for name, value in {**record.scores, **record.client_means()}.items()
        if name.endswith("_accuracy")
    ]
    if record.failures:
        parts.append(f"{len(record.failures)} failed")
    if record.unweighed is not None:
        parts.append("not weighed")
    return ", ".join([*parts, f"{n_bytes / 1e6:.1f} MB"])
