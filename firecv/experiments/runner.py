"""Runs carried out and stored as they finish, on one core or many."""

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from firecv.experiments.engines import Answers, Engine, workers
from firecv.experiments.estimates import Estimates
from firecv.experiments.execute import Failed, execute
from firecv.experiments.spec import Run
from firecv.experiments.store import Record, Store
from firecv.experiments.watch import watched


@dataclass
class Outcome:
    """What came of some runs.

    Attributes
    ----------
    n_done
        Runs finished now.
    seconds
        CPU seconds they took.
    failures
        Runs that came to nothing, and why.
    n_elsewhere
        Runs that another process is doing.
    n_left
        Runs that the time did not suffice for.
    """

    n_done: int = 0
    seconds: float = 0.0
    failures: list[Failed] = field(default_factory=list[Failed])
    n_elsewhere: int = 0
    n_left: int = 0


def carry_out(
    runs: Sequence[Run],
    store: Store,
    *,
    n_jobs: int = 1,
    engine: Engine = "loky",
    cluster: str | None = None,
    minutes: float | None = None,
    progress: bool = True,
) -> Outcome:
    """Return what came of those runs that the store does not hold yet.

    Every record is in the store before the next is looked at: whatever happens to this process,
    only runs under way are lost. Several processes may share a store; none does what another is
    doing.

    Parameters
    ----------
    runs
        What to do, in this order.
    store
        Where results go.
    n_jobs
        Runs at a time, each on one thread; with one job and the engine "loky" no other process
        is started.
    engine, cluster
        Where runs are carried out, see `firecv.experiments.engines`.
    minutes
        After so long no further run is begun.
    progress
        Whether to show how far it is: a bar on a terminal, now and then a line elsewhere.
    """
    done = store.read(run.id for run in runs)
    store.release_finished()
    pending = [run for run in runs if run.id not in done]
    estimates = Estimates.of(done.values(), (run.setting for run in runs))
    queue = _Queue(pending, store, time.monotonic() + 60 * minutes if minutes else float("inf"))
    outcome = Outcome()
    total = sum(map(estimates.seconds, pending))
    with queue, watched(len(pending), total, n_jobs, shown=progress) as advance:
        for answer in _answers(queue, n_jobs, engine, cluster):
            _take(answer, store, queue, outcome)
            advance(estimates.seconds(queue.runs[_id(answer)]), _words(answer))
    outcome.n_elsewhere, outcome.n_left = queue.n_elsewhere, queue.n_left
    return outcome


def _answers(queue: "_Queue", n_jobs: int, engine: Engine, cluster: str | None) -> Answers:
    if n_jobs == 1 and engine == "loky":
        yield from map(execute, queue)
        return
    with workers(engine, n_jobs, cluster) as carried_out:
        yield from carried_out(queue)


class _Queue:
    """Runs to begin, each claimed until it is let go."""

    def __init__(self, runs: Sequence[Run], store: Store, deadline: float) -> None:
        self.runs = {run.id: run for run in runs}
        self.store, self.deadline = store, deadline
        self.n_elsewhere = self.n_left = 0
        self._claims: dict[str, AbstractContextManager[bool]] = {}

    def __iter__(self) -> Iterator[Run]:
        for place, run in enumerate(self.runs.values()):
            if time.monotonic() > self.deadline:
                self.n_left = len(self.runs) - place
                return
            self._claims[run.id] = self.store.claim(run)
            # Another process may have finished it since the store was read.
            if not self._claims[run.id].__enter__() or self.store.has(run):
                self.n_elsewhere += 1
                self.let_go(run.id)
                continue
            yield run

    def __enter__(self) -> None:
        """Nothing is claimed yet."""

    def __exit__(self, *error: object) -> None:
        """Give up all claims, whatever happened."""
        for name in list(self._claims):
            self.let_go(name)

    def let_go(self, name: str) -> None:
        """Give up the claim to a run."""
        self._claims.pop(name).__exit__(None, None, None)


def _take(answer: Record | Failed, store: Store, queue: _Queue, outcome: Outcome) -> None:
    if isinstance(answer, Record):
        store.write(answer)
        outcome.n_done += 1
        outcome.seconds += answer.seconds
    else:
        outcome.failures.append(answer)
    queue.let_go(_id(answer))


def _id(answer: Record | Failed) -> str:
    return answer.id if isinstance(answer, Record) else answer.run.id


def _words(answer: Record | Failed) -> str:
    if isinstance(answer, Failed):
        return f"failed: {answer.why}"
    return f"{answer.kind}, {answer.seconds:.1f} s"
