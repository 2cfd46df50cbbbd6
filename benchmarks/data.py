"""What preparing data costs, against the plain way of doing the same.

Every number is a ratio within one run: CPU time with one thread, wall time with two. A speed-up is
the time of the plain way over ours, so more is better, and the plain way itself has 1.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import ndimage
from timing import (
    Bystanders,
    Row,
    interleaved,
    markdown,
    metric_table,
    settle_allocator,
    short,
    write_rows,
)

from firecv.data.rotation import rotate
from firecv.seeding import derive

ROTATION = "rotation_60k"
IMAGES = 60_000
SCIPY_IMAGES = 3_000
"""SciPy's loop is timed on so many images; its time grows with their number, and is scaled up."""
ROUNDS = 7
SECONDS = 20.0
QUICK_ROUNDS = 2
QUICK_IMAGES = 2_000
THREADS = (1, 2)
BUSY_CORES = 0.2
PACKAGES = ("numpy", "scipy", "torch")
RESULTS = Path(__file__).parent / "results" / "data.json"

METRICS = {
    "speedup": "time of the plain way over ours; rotation_60k: 60,000 uint8 images of 28 x 28, "
    "each by its own angle, against a loop over scipy.ndimage.rotate with the same result",
}


def rotation_rows(quick: bool) -> list[Row]:
    """Return how much faster rotation is than SciPy's, image by image."""
    rng = derive(0, ROTATION)
    n = QUICK_IMAGES if quick else IMAGES
    images = rng.integers(0, 256, (n, 28, 28), np.uint8)
    degrees = rng.uniform(0, 180, n)
    sample = rng.choice(n, min(n, SCIPY_IMAGES), replace=False)

    def by_scipy() -> None:
        for i in sample:
            ndimage.rotate(images[i], degrees[i], reshape=False, order=1, mode="grid-constant")

    def by_firecv() -> None:
        rotate(images, degrees)

    rows: list[Row] = []
    for threads in THREADS:
        say(f"{ROTATION}: time with {threads} threads")
        rounds, least = (QUICK_ROUNDS, 0.0) if quick else (ROUNDS, SECONDS)
        seconds = interleaved({"scipy": by_scipy, "firecv": by_firecv}, rounds, least, threads)
        ratio = seconds["scipy"] * n / len(sample) / seconds["firecv"]
        rows.append(Row(ROTATION, "scipy", "speedup", threads, 1.0))
        rows.append(Row(ROTATION, "firecv", "speedup", threads, ratio))
    return rows


CASES: dict[str, Callable[[bool], list[Row]]] = {ROTATION: rotation_rows}
"""What is measured, by name; each is told whether to be quick."""


class Bar(NamedTuple):
    """Least value of firecv in a case."""

    case: str
    metric: str
    threads: int
    least: float


BARS = [Bar(ROTATION, "speedup", 2, 20.0)]


def bar_table(rows: Iterable[Row]) -> str:
    """Return all bars with what was measured, as Markdown."""
    values = {row[:4]: row.value for row in rows}
    lines: list[list[str]] = []
    for bar in BARS:
        value = values.get((bar.case, "firecv", bar.metric, bar.threads))
        verdict = "not measured" if value is None else "met" if value >= bar.least else "MISSED"
        text = f"{bar.metric}, {bar.case}, {bar.threads} threads"
        lines.append([text, short(bar.least), "-" if value is None else short(value), verdict])
    return markdown(["bar", "at least", "value", ""], lines)


def report(rows: Sequence[Row]) -> str:
    """Return all tables as Markdown."""
    parts = [
        f"## {metric}: {text}\n\n{metric_table(rows, metric)}"
        for metric, text in METRICS.items()
        if any(row.metric == metric for row in rows)
    ]
    return "\n\n".join([*parts, f"## Bars\n\n{bar_table(rows)}"])


def disturbance(cores: float) -> str:
    """Return a sentence on how much of the machine others used."""
    said = f"Other processes kept {cores:.2f} of {os.cpu_count()} cores busy"
    return said + (": do not trust times with two threads." if cores > BUSY_CORES else ".")


def say(text: str) -> None:
    """Say on standard error what is being done."""
    print(text, file=sys.stderr, flush=True)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description="Time of preparing data.")
    parser.add_argument("--quick", action="store_true", help="few rounds; writes no file by itself")
    parser.add_argument(
        "--cases", nargs="+", choices=CASES, help="only these; writes no file by itself"
    )
    parser.add_argument("--output", type=Path, help=f"JSON file (default: results/{RESULTS.name})")
    return parser.parse_args(arguments)


def main() -> None:
    """Measure, print tables and write rows."""
    options = parse()
    settle_allocator()
    print(
        f"Python {platform.python_version()}, " + ", ".join(f"{p} {version(p)}" for p in PACKAGES)
    )
    bystanders = Bystanders()
    rows = [row for case in options.cases or CASES for row in CASES[case](options.quick)]
    print(f"\n{report(rows)}")
    print(f"\n{disturbance(bystanders.cores())}")
    output = options.output or (None if options.quick or options.cases else RESULTS)
    if output is not None:
        write_rows(output, rows)
        say(f"wrote {len(rows)} rows")


if __name__ == "__main__":
    main()
