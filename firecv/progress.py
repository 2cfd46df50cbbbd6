"""A progress bar, if someone is looking."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def bar(
    what: str, total: float, *, done: float = 0, shown: bool = True
) -> Generator[Callable[[float, str | None], None]]:
    """Give a function that advances a bar and changes what stands before it.

    Parameters
    ----------
    what
        What stands before the bar.
    total
        Where it ends.
    done
        Where it begins.
    shown
        Whether to show it, on a terminal's standard error; elsewhere nothing is shown.

    Examples
    --------
    >>> with bar("training", total=3) as advance:
    ...     advance(1, "loss 0.2")
    """
    if not shown or not sys.stderr.isatty():
        yield lambda step, text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task(what, total=total)
        bars.update(task, completed=done)
        yield lambda step, text: bars.update(task, advance=step, description=text)
