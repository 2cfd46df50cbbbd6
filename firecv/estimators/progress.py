"""A progress bar over epochs, if someone is looking."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from firecv.progress import bar


@contextmanager
def epochs_shown(n_epochs: int, verbose: bool) -> Generator[Callable[[str, float], None]]:
    """Give a function to be called with the fragment and the loss after every epoch.

    Parameters
    ----------
    n_epochs
        Epochs of all fragments together.
    verbose
        Whether to show a bar, on a terminal's standard error; elsewhere nothing is shown.
    """
    with bar("training", n_epochs, shown=verbose) as advance:
        yield lambda name, loss: advance(1, f"{name}: {loss:.4f}")
