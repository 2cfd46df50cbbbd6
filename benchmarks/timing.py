"""What benchmarks share: interleaved timing, peak memory, fresh processes, rows and tables.

Every measurement is one `Row`. Times are only ever given as ratios within one run, since the
machine is another tomorrow. Memory is read from ``/proc`` and so needs Linux.
"""

from __future__ import annotations

import ctypes
import gc
import json
import multiprocessing
import os
import random
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, ParamSpec, TypeVar

import torch

P = ParamSpec("P")
T = TypeVar("T")

SAMPLE_SECONDS = 0.02
MOST_CALLS = 20
"""A timed sample repeats short calls for about that long, at most that many times."""


class Row(NamedTuple):
    """One measured number."""

    case: str
    method: str
    metric: str
    threads: int
    value: float


def settle_allocator() -> None:
    """Bring the allocator into the state in which every method is then measured.

    glibc takes a large block fresh from the kernel and returns it when freed, and the page faults
    cost more than the arithmetic. The first free of such a block raises the threshold up to its
    size, at most 32 MiB, and from then on blocks below it are reused. Without this call the
    method that happens to free a large block first decides how fast all later ones are.
    """
    torch.empty(31 << 18).fill_(1)


def interleaved(
    steps: dict[T, Callable[[], object]],
    rounds: int,
    seconds: float,
    threads: int,
    seed: int = 0,
) -> dict[T, float]:
    """Return the median seconds per call of every step.

    In every round each step has one turn, in random order, so that slow and fast spells of the
    machine fall on all alike. A turn of a short step is one call untimed, which brings its data
    back into the caches, and then several timed; long steps, where that makes no difference, are
    called once.

    Parameters
    ----------
    steps : dict
        What to call, by any key.
    rounds : int
        Least number of rounds.
    seconds : float
        More rounds follow until so much time has passed.
    threads : int
        Threads of torch. One thread is timed by CPU time, on which other processes have little
        influence, more by wall time.
    seed : int
        Seed of the order.

    Returns
    -------
    dict
        Seconds by key.
    """
    torch.set_num_threads(threads)
    clock = time.process_time if threads == 1 else time.perf_counter
    calls = {key: _calls_per_sample(step, clock) for key, step in steps.items()}
    samples: dict[T, list[float]] = {key: [] for key in steps}
    order, rng = list(steps), random.Random(seed)
    end = time.monotonic() + seconds
    while rounds > 0 or time.monotonic() < end:
        rounds -= 1
        rng.shuffle(order)
        for key in order:
            if calls[key] > 1:
                steps[key]()
            samples[key].append(_seconds(steps[key], calls[key], clock))
    return {key: median(values) for key, values in samples.items()}


def _calls_per_sample(step: Callable[[], object], clock: Callable[[], float]) -> int:
    for _ in range(2):
        step()
    seconds = _seconds(step, 1, clock)
    return max(1, min(MOST_CALLS, round(SAMPLE_SECONDS / max(seconds, 1e-9))))


def _seconds(step: Callable[[], object], calls: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(calls):
        step()
    return (clock() - start) / calls


class Bystanders:
    """Watches what other processes take of the machine from now on."""

    def __init__(self) -> None:
        self.start, self.used = time.monotonic(), self._others()

    def cores(self) -> float:
        """Return the mean number of cores that others kept busy."""
        return (self._others() - self.used) / (time.monotonic() - self.start)

    @staticmethod
    def _others() -> float:
        """Return the CPU seconds of all but this process and its finished children."""
        fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
        user, nice, system, _idle, _waiting, *rest = (int(field) for field in fields)
        busy = (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")
        return busy - sum(os.times()[:4])


def resident_mb() -> float:
    """Return the resident memory of this process."""
    return _status("VmRSS")


def peak_mb() -> float:
    """Return the largest resident memory of this process since `reset_peak`."""
    return _status("VmHWM")


def reset_peak() -> None:
    """Let `peak_mb` start again from the resident memory of now."""
    Path("/proc/self/clear_refs").write_text("5")


def trim() -> None:
    """Give freed memory back to the kernel, so that it is not counted as resident."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def _status(field: str) -> float:
    found = re.search(rf"^{field}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.M)
    assert found is not None
    return int(found[1]) / 1024


class StepMemory(NamedTuple):
    """Peak resident memory of a warm step, in MiB, counted from two starts."""

    over_start: float
    """Over the process before its first step; includes what the libraries load on first use."""
    over_warm: float
    """Over the process just before this step; leaves out what is kept from step to step."""


def step_memory(step: Callable[[], object], repeats: int = 5) -> StepMemory:
    """Return the peak memory of one warm step; to be called in a process of its own.

    Parameters
    ----------
    step : Callable
        Not called before in this process.
    repeats : int
        Number of measured steps, of which the median is returned.
    """
    trim()
    start = resident_mb()
    for _ in range(2):
        step()
    found = [_one_peak(step) for _ in range(repeats)]
    return StepMemory(
        median(peak for _, peak in found) - start, median(peak - now for now, peak in found)
    )


def _one_peak(step: Callable[[], object]) -> tuple[float, float]:
    trim()
    reset_peak()
    before = resident_mb()
    result = step()
    peak = peak_mb()
    del result
    return before, peak


def in_fresh_process(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the function's result from a new process with one thread and a settled allocator.

    The function must be importable: one of a module's own, not a lambda.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, initializer=_prepare_process) as pool:
        return pool.submit(function, *args, **kwargs).result()


def _prepare_process() -> None:
    torch.set_num_threads(1)
    settle_allocator()


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as a sorted JSON list, values to 4 digits, and never half a file.

    Parameters
    ----------
    path : pathlib.Path
        File to replace; its folder is made.
    rows : Sequence
        Rows in any order.
    """
    key = ("case", "metric", "method", "threads")
    records: list[dict[str, Any]] = [
        {**row._asdict(), "value": float(f"{row.value:.4g}")} for row in rows
    ]
    records.sort(key=lambda record: [record[name] for name in key])
    text = "[\n" + ",\n".join(json.dumps(record) for record in records) + "\n]\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def metric_table(rows: Sequence[Row], metric: str) -> str:
    """Return a Markdown table of one metric, cases by methods, "a / b" for 1 / 2 threads."""
    chosen = [row for row in rows if row.metric == metric]
    methods = list(dict.fromkeys(row.method for row in chosen))
    cells: dict[tuple[str, str], list[str]] = {}
    for row in sorted(chosen, key=lambda row: row.threads):
        cells.setdefault((row.case, row.method), []).append(short(row.value))
    lines = [
        [case, *(" / ".join(cells.get((case, method), ["-"])) for method in methods)]
        for case in dict.fromkeys(row.case for row in chosen)
    ]
    return markdown(["case", *methods], lines)


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns.

    Examples
    --------
    >>> print(markdown(["case", "value"], [["mlp", "1.5"]]))
    | case | value |
    |------|-------|
    | mlp  | 1.5   |
    """
    widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]
    padded = [
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) + " |"
        for line in [header, *lines]
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([padded[0], rule, *padded[1:]])


def short(value: float) -> str:
    """Return a number in about three digits.

    Examples
    --------
    >>> short(1.23456), short(1234.5), short(2.3e-16)
    ('1.23', '1234', '2.3e-16')
    """
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1e}" if 0 < value < 1e-3 else f"{value:.3g}"
