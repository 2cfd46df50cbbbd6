"""What the diagonal of many samples, batch by batch, costs beside a plain evaluation of them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from command import say
from timing import Row, in_fresh_process, interleaved, peak_mb, reset_peak, resident_mb, trim
from torch.nn.functional import cross_entropy

from firecv.fisher import Diagonal, estimate
from firecv.models import Task, batches, cnn
from firecv.seeding import derive_torch

STREAM = "stream"
IMAGES = 60_000
TIMED_IMAGES = 2_048
SIZES = (2_000, 6_000, 20_000, 60_000)
"""Numbers of images between which memory is seen to grow."""
QUICK_SIZES = (500, 2_000)
BATCH = 512
METHODS = ("plain_evaluation", "firecv")
ROUNDS, SECONDS = 10, 20.0
QUICK_ROUNDS = 2


def stream_rows(quick: bool) -> list[Row]:
    """Return memory and time of a Fisher of many samples against their plain evaluation."""
    rows: list[Row] = []
    whole: dict[str, float] = {}
    for method in METHODS:
        say(f"{STREAM}: memory of {method}")
        n_images = TIMED_IMAGES if quick else IMAGES
        over_start, whole[method] = in_fresh_process(stream_memory, method, n_images)
        rows.append(Row(STREAM, method, "peak_memory_mb", 1, over_start))
        rows.append(Row(STREAM, method, "process_memory_mb", 1, whole[method]))
    ratio = whole["firecv"] / whole["plain_evaluation"]
    rows.append(Row(STREAM, "firecv", "estimate_memory_ratio", 1, ratio))
    for threads in (1, 2):
        say(f"{STREAM}: times with {threads} thread(s)")
        rounds, least = (QUICK_ROUNDS, 0.0) if quick else (ROUNDS, SECONDS / threads)
        seconds = interleaved(stream_steps(TIMED_IMAGES), rounds, least, threads)
        ratio = seconds["firecv"] / seconds["plain_evaluation"]
        rows.append(Row(STREAM, "firecv", "estimate_seconds_ratio", threads, ratio))
    return rows


def growth_rows(quick: bool) -> list[Row]:
    """Return the memory of a Fisher and of a plain evaluation by the number of samples."""
    rows: list[Row] = []
    for n_images in QUICK_SIZES if quick else SIZES:
        for method in METHODS:
            say(f"{STREAM}: memory of {method} with {n_images} images")
            found = in_fresh_process(memory_with_images, method, n_images)
            rows.append(Row(f"{STREAM} {n_images}", method, "stream_memory_mb", 1, found))
    return rows


def stream_steps(n_images: int) -> dict[str, Callable[[], object]]:
    """Return a plain evaluation and an estimate of the diagonal of the same images."""
    draws = derive_torch(0, STREAM)
    x = torch.rand(n_images, 1, 28, 28, generator=draws)
    y = torch.randint(10, (n_images,), generator=draws)
    model = cnn((1, 28, 28), 10, derive_torch(0, "cnn", "weights")).eval()
    task = Task(model)

    def evaluation() -> float:
        with torch.no_grad():
            parts = batches(x, y, BATCH)
            return sum(cross_entropy(model(a), b, reduction="sum").item() for a, b in parts)

    def diagonal() -> Diagonal:
        return estimate(Diagonal, task, batches(x, y, BATCH), law="empirical")

    return {"plain_evaluation": evaluation, "firecv": diagonal}


def stream_memory(method: str, n_images: int) -> tuple[float, float]:
    """Return the peak memory of this process, over its start and whole."""
    step = stream_steps(n_images)[method]
    start = resident_mb()
    step()
    return peak_mb() - start, peak_mb()


def memory_with_images(method: str, n_images: int) -> float:
    """Return the peak memory of this process over a warm one without images."""
    stream_steps(BATCH)[method]()  # what libraries load on first use is not counted
    trim()
    reset_peak()
    start = resident_mb()
    stream_steps(n_images)[method]()
    return peak_mb() - start
