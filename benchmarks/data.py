"""What preparing data costs, against the plain way of doing the same.

Every number is a ratio within one run: CPU time with one thread, wall time with two. A speed-up is
the time of the plain way over ours, so more is better. Loading is measured on the data sets in the
folder that ``FIRECV_DATA`` names.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from command import Bar, Benchmark, run, say
from scipy import ndimage
from timing import Row, in_fresh_process, interleaved, peak_mb, reset_peak, resident_mb, trim

from firecv.data import load
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
LOADED = ("mnist", "fashion_mnist", "cifar10_20k")

METRICS = {
    "speedup": "time of the plain way over ours; rotation_60k: 60,000 uint8 images of 28 x 28, "
    "each by its own angle, against a loop over scipy.ndimage.rotate with the same result",
    "load_ratio": "time of firecv.data.load over numpy.load of all arrays in the same npz",
    "load_memory_ratio": "peak memory of loading, over the process before it, in sizes of the "
    "arrays; in a process of its own",
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
        rounds, least = (QUICK_ROUNDS, 0.0) if quick else (ROUNDS, SECONDS)
        seconds = interleaved({"scipy": by_scipy, "firecv": by_firecv}, rounds, least, threads)
        ratio = seconds["scipy"] * n / len(sample) / seconds["firecv"]
        rows.append(Row(ROTATION, "scipy", "speedup", threads, 1.0))
        rows.append(Row(ROTATION, "firecv", "speedup", threads, ratio))
    return rows


def load_rows(name: str, quick: bool) -> list[Row]:
    """Return what loading a data set costs beside reading the arrays, and in memory."""
    path = Path(os.environ.get("FIRECV_DATA", ""), "images", f"{name}.npz")
    if not path.is_file():
        say(f"{name}: not measured, there is no {path}; set FIRECV_DATA")
        return []

    def by_numpy() -> None:
        with np.load(path) as arrays:
            for key in ("x_train", "y_train", "x_test", "y_test"):
                arrays[key]

    steps: dict[str, Callable[[], object]] = {"plain": by_numpy, "firecv": lambda: load(name)}
    rounds, least = (QUICK_ROUNDS, 0.0) if quick else (ROUNDS, SECONDS / 2)
    seconds = interleaved(steps, rounds, least, 1)
    return [
        Row(name, "plain", "load_ratio", 1, 1.0),
        Row(name, "firecv", "load_ratio", 1, seconds["firecv"] / seconds["plain"]),
        Row(name, "firecv", "load_memory_ratio", 1, in_fresh_process(load_memory, name)),
    ]


def load_memory(name: str) -> float:
    """Return the peak memory of loading in sizes of what is loaded."""
    load("digits")  # what libraries load on first use is not counted
    trim()
    reset_peak()
    start = resident_mb()
    split = load(name)
    size = sum(np.asarray(part.x).nbytes + part.y.nbytes for part in split.parts().values())
    return (peak_mb() - start) / (size / 2**20)


def load_case(name: str) -> Callable[[bool], list[Row]]:
    """Return the case of loading one data set."""
    return lambda quick: load_rows(name, quick)


if __name__ == "__main__":
    run(
        Benchmark(
            "data",
            "Time and memory of preparing data.",
            {ROTATION: rotation_rows} | {name: load_case(name) for name in LOADED},
            METRICS,
            [
                Bar(ROTATION, "speedup", 2, 20.0, is_least=True),
                *(Bar(name, "load_ratio", 1, 2.0) for name in LOADED),
                *(Bar(name, "load_memory_ratio", 1, 2.5) for name in LOADED),
            ],
            ("numpy", "scipy", "torch"),
        )
    )
