"""What FIRE with V's labels on the server costs beside FedAvg: time, bytes and memory.

Clients differ as in the world *bands*: client k has the classes' patterns of one end, of the other
or between the two, and V lies at three quarters of the way, so that weights move in every round and
steps on V's loss help. They train at the rate of that world's tables. A decision is all that
FedAvg's server does not do: the clients' weights, the choice of the hold in every fifth round, and
the server's step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from statistics import median
from typing import Any
from unittest.mock import patch

import torch
from federated_runs import WIDTHS, Made, Turn, Values, in_turns, ratio, run_of
from timing import in_fresh_process, peak_mb, reset_peak, resident_mb, trim

from firecv.federated import Client, engine
from firecv.federated.algorithms import FedAvg, weighed
from firecv.federated.algorithms.fire import Fire
from firecv.federated.bundles import Bundle
from firecv.federated.contract import Algorithm, Cohort
from firecv.federated.uploads import Uploads
from firecv.fire.validation import Validation, as_validation
from firecv.models import Batch, Task
from firecv.seeding import derive_torch
from firecv.training import Training

LOCAL = Training(1, 64, 0.05, "sgd")
N_LABELS = (50, 200)
N_ROUNDS = 10
"""Two choices of the hold are in as many rounds; what they cost repeats with every five."""
EVERY = {"": 1, ", every fifth": 5}
METHODS = [f"{n} labels{text}" for text in EVERY for n in N_LABELS]
PLACE_OF_V = 0.75
DECISIONS = ((engine, "decided"), (weighed, "chosen_hold"), (weighed, "server_step"))
METRICS = {
    "labeled_time_ratio": f"time of FIRE with so many labels of V on the server over FedAvg's, in "
    f"{N_ROUNDS} rounds; weights are decided in every round or in every fifth",
    "decision_share": "time of the clients' weights, the choice of the hold and the server's step "
    "over a round of FedAvg, in the same rounds",
    "labeled_bytes_ratio": "bytes sent up and down over FedAvg's, in the same rounds",
    "held_memory_ratio": "peak memory of FIRE's first round over that of FedAvg with all uploads "
    "held, each over the process before it",
}


class Differing(Made):
    """Clients whose samples show patterns of the classes, other ones from end to end."""

    def data(self, k: int, n: int) -> Batch:
        """Return samples of a client."""
        return samples((k + 0.5) / len(self), n, derive_torch(0, "differing", k))


def samples(place: float, n: int, rng: torch.Generator) -> Batch:
    """Return noisy patterns, of which those of one class at one end are another's at the other."""
    ends = torch.rand(WIDTHS[-1], WIDTHS[0], generator=derive_torch(0, "patterns"))
    y = torch.randint(WIDTHS[-1], (n,), generator=rng)
    pattern = (1 - place) * ends[y] + place * ends.roll(1, 0)[y]
    return (pattern + torch.rand(n, WIDTHS[0], generator=rng)) / 2, y


def labeled(n: int) -> Validation:
    """Return V with labels."""
    return as_validation(samples(PLACE_OF_V, n, derive_torch(0, "validation")))


def label_values(clients: Sequence[Client], n_turns: int) -> Values:
    """Return what FIRE with labels costs beside FedAvg."""
    deciding: dict[str, list[float]] = {}
    n_bytes: dict[str, int] = {}

    def turn_of(name: str, algorithm: Algorithm, holder: Validation) -> Turn:
        def turn() -> float:
            with clocked() as seconds:
                start, n_bytes[name] = time.process_time(), 0
                for done in run_of(algorithm, clients, N_ROUNDS, holder):
                    n_bytes[name] += done.bytes_up + done.bytes_down
                taken = time.process_time() - start
            deciding.setdefault(name, []).append(sum(seconds))
            return taken

        return turn

    turns = {"fedavg": turn_of("fedavg", FedAvg(LOCAL), Validation("none"))}
    for text, every in EVERY.items():
        for n in N_LABELS:
            name = f"{n} labels{text}"
            turns[name] = turn_of(name, Fire(every=every, local=LOCAL), labeled(n))
    next(run_of(Fire(local=LOCAL), clients, 1, labeled(N_LABELS[0])))  # brings code into memory
    seconds = in_turns(turns, n_turns)
    values: Values = {}
    for name in METHODS:
        values[name, "labeled_time_ratio"] = ratio(seconds[name], seconds["fedavg"])
        values[name, "decision_share"] = ratio(deciding[name], seconds["fedavg"])
        values[name, "labeled_bytes_ratio"] = n_bytes[name] / n_bytes["fedavg"]
    return values


@contextmanager
def clocked() -> Generator[list[float]]:
    """Note the seconds of every decision meanwhile."""
    seconds: list[float] = []

    def noting(function: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                seconds.append(time.process_time() - start)

        return noted

    with ExitStack() as stack:
        for module, name in DECISIONS:
            stack.enter_context(patch.object(module, name, noting(getattr(module, name))))
        yield seconds


class HoldingFedAvg(FedAvg):
    """FedAvg whose server keeps all uploads until the last one is there."""

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return the mean of the clients' weights."""
        held = Uploads(list(uploads), uploads.rule)
        return super().server_update(task, server, held, cohort, holder)


def held_memory_values(n_clients: int, n_samples: int, n_turns: int) -> Values:
    """Return FIRE's peak memory over that of FedAvg with all uploads held."""
    clients = Differing(n_clients, n_samples)

    def peak(algorithm: Algorithm, n_labels: int) -> float:
        return median(
            in_fresh_process(round_memory, algorithm, clients, n_labels) for _ in range(n_turns)
        )

    held = peak(HoldingFedAvg(LOCAL), 0)
    return {
        (f"{n} labels", "held_memory_ratio"): peak(Fire(local=LOCAL), n) / held for n in N_LABELS
    }


def round_memory(algorithm: Algorithm, clients: Made, n_labels: int = 0) -> float:
    """Return the peak memory of one round over the process before it, in MiB."""
    holder = labeled(n_labels) if n_labels else Validation("none")
    first = type(clients)(min(2, len(clients)), clients.sizes[0])
    next(run_of(algorithm, first, 1, holder))  # what libraries load on first use
    trim()
    reset_peak()
    start = resident_mb()
    next(run_of(algorithm, clients, 1, holder))
    return peak_mb() - start
