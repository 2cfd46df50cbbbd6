"""How far a long computation is: a bar on a terminal, now and then a line in a log."""

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from firecv.display import visible
from firecv.progress import bar

EVERY = 60.0
"""Seconds between two lines in a log."""


@contextmanager
def watched(
    n_runs: int, seconds: float, n_jobs: int, *, shown: bool = True
) -> Generator[Callable[[float, str], None]]:
    """Give a function to be called after each run with its expected seconds and a few words.

    Parameters
    ----------
    n_runs
        How many runs there are.
    seconds
        What they are expected to take, in CPU seconds.
    n_jobs
        How many run at a time.
    shown
        Whether anything is shown, on standard error.
    """
    began = last = time.monotonic()
    n_done, done = 0, 0.0
    with bar(f"{n_runs} runs", max(seconds, 1e-9), shown=shown) as advance:

        def show(expected: float, words: str) -> None:
            nonlocal n_done, done, last
            n_done, done = n_done + 1, done + expected
            now = time.monotonic()
            advance(expected, f"{n_done}/{n_runs} runs, {words}")
            if shown and not sys.stderr.isatty() and (now - last > EVERY or n_done == n_runs):
                last = now
                left = progress_left(done, seconds, now - began, n_jobs)
                line = f"{n_done}/{n_runs} runs, {minutes(now - began)} gone, {left}; {words}"
                print(visible(line), file=sys.stderr, flush=True)

        yield show


def progress_left(done: float, total: float, gone: float, n_jobs: int) -> str:
    """Return in words how long the rest will take, going by how long it took so far.

    Examples
    --------
    >>> progress_left(done=30.0, total=90.0, gone=60.0, n_jobs=2)
    'about 2 min left'
    """
    if done <= 0:
        return f"about {minutes(total / n_jobs)} in all"
    return f"about {minutes(gone * max(total - done, 0.0) / done)} left"


def minutes(seconds: float) -> str:
    """Return a time as people say it.

    Examples
    --------
    >>> minutes(8), minutes(300), minutes(9000)
    ('8 s', '5 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
