"""Many stacks, one process per core."""

import multiprocessing
import signal
from collections.abc import Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing

import torch

from firecv.errors import DataError
from firecv.progress import bar
from firecv.stacked.parcel import packed, unpacked
from firecv.stacked.settings import StackSettings
from firecv.stacked.stack import Stack, StackResult
from firecv.stacked.train import check_fit, train_stack

Job = tuple[Stack, StackSettings]


def run_stacks(
    jobs: Sequence[Job], n_processes: int = 2, progress: bool = True
) -> list[StackResult]:
    """Return the trained stacks of all jobs, in their order.

    Every process takes one job at a time on one thread, the longest first. An error or Ctrl-C
    stops all of them. As the processes are started afresh, a script that calls this needs the
    usual ``if __name__ == "__main__":``.

    Parameters
    ----------
    jobs
        Stacks with their settings, say one per table.
    n_processes
        Number of processes, usually that of cores; with 1 no other process is started.
    progress
        Whether to show a bar, if standard error is a terminal.

    Examples
    --------
    >>> import numpy as np
    >>> from firecv.seeding import derive_torch
    >>> from firecv.stacked import initial_weights
    >>> x, y = np.eye(4), np.array([0, 1, 0, 1])
    >>> initial = initial_weights(4, 2, [derive_torch(0, "weights", m) for m in range(3)])
    >>> job = (Stack(x, y, np.ones((3, 4)), initial), StackSettings(n_epochs=2))
    >>> [len(result.losses) for result in run_stacks([job, job], n_processes=1)]
    [3, 3]
    """
    if n_processes < 1:
        raise DataError(f"n_processes must be at least 1, got {n_processes}")
    for stack, settings in jobs:
        check_fit(stack, settings)
    costs = [_cost(*job) for job in jobs]
    order = sorted(range(len(jobs)), key=lambda place: -costs[place])
    results: dict[int, StackResult] = {}
    with bar("training", sum(costs), shown=progress) as advance:
        if min(n_processes, len(jobs)) < 2:
            for place in range(len(jobs)):
                results[place] = train_stack(*jobs[place])
                advance(costs[place], None)
        else:
            with closing(_in_processes(jobs, order, n_processes)) as finished:
                for place, result in finished:
                    results[place] = result
                    advance(costs[place], None)
    return [results[place] for place in range(len(jobs))]


def _in_processes(
    jobs: Sequence[Job], order: Sequence[int], n_processes: int
) -> Generator[tuple[int, StackResult]]:
    """Yield the number of each job and its result as it is finished."""
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(n_processes, len(jobs)), context, _prepare)
    try:
        futures = {pool.submit(_work, *map(packed, jobs[place])): place for place in order}
        for future in as_completed(futures):
            yield futures[future], unpacked(future.result(), StackResult)
    except BaseException:
        # A job may take hours: its process is stopped rather than waited for.
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _prepare() -> None:
    """Leave Ctrl-C to the parent, and the other cores to the other processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)


def _work(stack: object, settings: object) -> object:
    return packed(train_stack(unpacked(stack, Stack), unpacked(settings, StackSettings)))


def _cost(stack: Stack, settings: StackSettings) -> float:
    """Return about how many multiplications a job takes."""
    factor = 1 if settings.form == "plain" else 3
    return float(len(stack)) * stack.x.size * settings.n_epochs * factor
