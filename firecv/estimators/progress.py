"""A progress bar over epochs, if someone is looking."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager


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
    if not verbose or not sys.stderr.isatty():
        yield lambda name, loss: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        bar = bars.add_task("training", total=n_epochs)
        yield lambda name, loss: bars.update(bar, advance=1, description=f"{name}: {loss:.4f}")
