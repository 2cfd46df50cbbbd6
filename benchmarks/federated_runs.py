"""Federated runs to be timed: a model, clients that are made when asked for, and turns."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median

import torch

from firecv.federated import Client, LocalFleet, Plan, Round, rounds
from firecv.federated.contract import Algorithm
from firecv.federated.fleet import Fleet
from firecv.fire.validation import Validation
from firecv.models import Batch, Task, mlp
from firecv.seeding import derive, derive_torch
from firecv.training import Training

WIDTHS = (784, 512, 256, 10)
LOCAL = Training(1, 64, 0.01, "sgd")

Turn = Callable[[], float | None]
"""Does its work once and returns the seconds; None, the reason said, if it fails."""
Values = dict[tuple[str, str], float]
"""Numbers by method and metric."""


class Made(Sequence[Client]):
    """Clients whose data are made when they are asked for."""

    def __init__(self, n_clients: int, n_samples: int) -> None:
        self.sizes, self.tested = [n_samples] * n_clients, list[int]()

    def __len__(self) -> int:
        """Return the number of clients."""
        return len(self.sizes)

    def __getitem__(self, k: int) -> Client:  # pyright: ignore
        """Return a client."""
        if not 0 <= k < len(self):
            raise IndexError(k)
        return Client(self.data(k, self.sizes[k]))

    def data(self, k: int, n: int) -> Batch:
        """Return samples of noise with random labels."""
        rng = derive_torch(0, "data", k)
        x = torch.rand(n, WIDTHS[0], generator=rng)
        return x, torch.randint(WIDTHS[-1], (n,), generator=rng)


def network() -> Task:
    """Return the model at its initial weights."""
    return Task(mlp(WIDTHS[:1], WIDTHS[1:-1], WIDTHS[-1], derive_torch(0, "weights")))


def run_of(
    algorithm: Algorithm,
    fleet: Fleet | Sequence[Client],
    n_rounds: int = sys.maxsize,
    holder: Validation | None = None,
) -> Iterator[Round]:
    """Yield the rounds of a run; a client that fails ends the benchmark."""
    task = network()
    if not isinstance(fleet, Fleet):
        fleet = LocalFleet(algorithm, task, fleet, seed=0)
    plan = Plan(algorithm, task, holder or Validation("none"))
    for done in rounds(plan, fleet, n_rounds):
        if done.failures:
            raise SystemExit(f"{algorithm.label}: {dict(done.failures)}")
        if done.weighed is not None and done.weighed.failed is not None:
            raise SystemExit(f"{algorithm.label}: {done.weighed.failed}")
        yield done


def timed(step: Callable[[], object], clock: Callable[[], float] = time.process_time) -> Turn:
    """Return a step that says how long it took."""

    def turn() -> float:
        start = clock()
        step()
        return clock() - start

    return turn


def in_turns(steps: Mapping[str, Turn], n_turns: int) -> dict[str, list[float]]:
    """Return the seconds of every step that never fails, turn by turn, in random order."""
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    order = derive(0, "turns")
    for _ in range(n_turns):
        for name in order.permutation(list(seconds)):
            if (found := steps[name]()) is None:
                del seconds[name]
            else:
                seconds[name].append(found)
    return seconds


def ratio(over: Sequence[float], under: Sequence[float]) -> float:
    """Return the median over turns of one time over another."""
    return median(a / b for a, b in zip(over, under, strict=True))
