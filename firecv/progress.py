"""A progress bar, if someone is looking."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

from firecv.display import visible


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

    # Names of sites and columns may stand in it, in which rich would else find markup.
    words = TextColumn("{task.description}", markup=False)
    columns = (words, BarColumn(), MofNCompleteColumn(), Remaining())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task(visible(what), total=total)
        bars.update(task, completed=done)

        def advance(step: float, text: str | None) -> None:
            bars.update(task, advance=step, description=None if text is None else visible(text))

        yield advance
