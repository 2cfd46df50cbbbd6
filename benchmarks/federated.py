"""Federated rounds beside a plain loop, FedLab and Flower, and what FIRE adds to them.

A perceptron 784-512-256-10 on synthetic data of MNIST's shape, one local epoch of plain SGD in
batches of 64, all clients in every round. Times are CPU times with one thread, of all processes
involved; methods take turns within one run, and ratios are medians over turns. Only firecv shuffles
its samples. Other libraries run in an environment of their own: its Python is named by
``FIRECV_FEDERATED_PEERS`` or is ``.venv-federated/bin/python``, with
``requirements-federated.txt`` installed; without it they are left out.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

import federated_labels
import torch
from command import Bar, Benchmark, run, say
from federated_labels import Differing, held_memory_values, label_values, round_memory
from federated_peers import Peer, Problem, started
from federated_runs import (
    LOCAL,
    WIDTHS,
    Made,
    Turn,
    Values,
    in_turns,
    network,
    ratio,
    run_of,
    timed,
)
from timing import Row, in_fresh_process
from torch import Tensor
from torch.nn.functional import cross_entropy, linear

from firecv.federated import Client
from firecv.federated.algorithms import FedAvg
from firecv.federated.algorithms.fire import Fire
from firecv.federated.contract import Algorithm
from firecv.federated.pool import ProcessFleet
from firecv.fire.validation import Validation, as_validation
from firecv.seeding import derive_torch

ROOT = Path(__file__).resolve().parent.parent
N_VALIDATION = 200
SHAPES = {"10x600": (10, 600), "100x60": (100, 60), "1000x60": (1000, 60)}
TURNS = {"10x600": 12, "100x60": 10, "1000x60": 3}
PEERS = {"10x600": ("fedlab", "flower"), "100x60": ("fedlab", "flower"), "1000x60": ("fedlab",)}
LEFT_OUT = {"1000x60": "flower: left out, a round would take as long as ten of 100x60"}
FIRE_CASES = ("10x600", "100x60")
MEMORY_CASES = ("100x60", "1000x60")
MEMORY_TURNS, HELD_TURNS = 5, 3
FIRE_ROUNDS, FIRE_TURNS = 10, 9
"""Two refreshes are in as many rounds; what they cost repeats with every five."""
QUICK_DIVISOR = 5
FORMS: dict[str, Fire] = {
    "weigh": Fire(every=5, local=LOCAL),
    "weigh every round": Fire(local=LOCAL),
    "precondition": Fire("precondition", local=LOCAL),
    "quadratic": Fire("quadratic", local=LOCAL),
    "quadratic 8bit": Fire("quadratic", compression="8bit", local=LOCAL),
}
DEFAULT = "weigh"
METRICS = {
    "client_round_ms": "CPU milliseconds per client and round, by themselves of no meaning on "
    "another machine",
    "loop_ratio": "time over that of a plain functional loop with a streaming mean",
    "fedlab_speedup": "time of FedLab over firecv's",
    "flower_speedup": "time of Flower's simulation, all processes, over firecv's",
    "max_error": "largest difference of any weight after the first round from the loop's; firecv "
    "only where a client's samples are one batch, since it shuffles",
    "peak_memory_mb": "peak memory of a round over the process before it, clients being made when "
    "they are asked; the median of five processes",
    "memory_growth": "that memory over the same with 100 clients",
    "fire_time_ratio": f"time of FIRE over FedAvg's, over {FIRE_ROUNDS} rounds with a refresh in "
    "every fifth, V differing from the clients; firecv is `weigh`, whose default is to refresh in "
    "every round",
    "fire_bytes_ratio": "bytes sent up and down by FIRE over FedAvg's, in the same rounds",
    "diagonal_bytes_ratio": "the same of `quadratic` with diagonal Fishers as they are",
    "eight_bit_bytes_ratio": "the same of `quadratic` with diagonal Fishers in 8 bits",
    **federated_labels.METRICS,
    "process_speedup": "wall time of a round in one process over that in two",
}


def by_loop(clients: Sequence[Client]) -> Iterator[list[Tensor]]:
    """Yield the weights after every round of the least that FedAvg takes."""
    weights = [value.detach() for value in network().model.parameters()]
    while True:
        mean = [torch.zeros_like(value) for value in weights]
        for client in clients:
            own = trained(weights, *client.data)
            with torch.no_grad():
                for total, value in zip(mean, own, strict=True):
                    total.add_(value, alpha=1 / len(clients))
        weights = mean
        yield weights


def trained(weights: Sequence[Tensor], x: Tensor, y: Tensor) -> list[Tensor]:
    """Return weights after one epoch, the samples in their order."""
    own = [value.clone().requires_grad_() for value in weights]
    assert LOCAL.batch_size is not None
    for i in range(0, len(x), LOCAL.batch_size):
        rows = slice(i, i + LOCAL.batch_size)
        hidden = x[rows]
        for weight, bias in zip(own[:-2:2], own[1:-2:2], strict=True):
            hidden = torch.relu(linear(hidden, weight, bias))
        loss = cross_entropy(linear(hidden, *own[-2:]), y[rows])
        gradient = torch.autograd.grad(loss, own)
        with torch.no_grad():
            for value, slope in zip(own, gradient, strict=True):
                value.sub_(slope, alpha=LOCAL.rate)
    return own


@contextmanager
def peers(case: str, clients: Sequence[Client]) -> Generator[list[Peer]]:
    """Start other libraries, and end them afterwards."""
    python = Path(
        os.environ.get("FIRECV_FEDERATED_PEERS", ROOT / ".venv-federated" / "bin" / "python")
    )
    if case in LEFT_OUT:
        say(LEFT_OUT[case])
    if not python.is_file():
        names = ", ".join(PEERS[case])
        say(f"{names}: left out, there is no {python}; see requirements-federated.txt")
        yield []
        return
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="firecv-")))
        data = [client.data for client in clients]
        assert LOCAL.batch_size is not None
        Problem(folder, list(WIDTHS), len(data), LOCAL.batch_size, LOCAL.rate).write(
            network().model, data
        )
        yield [stack.enter_context(started(python, library, folder)) for library in PEERS[case]]


def measured(case: str, quick: bool) -> list[Row]:
    """Return the rows of one case."""
    torch.set_num_threads(1)
    n_clients, n_samples = SHAPES[case]
    lazily = Made(n_clients // (QUICK_DIVISOR if quick else 1), n_samples)
    clients = list(lazily)
    values = engine_values(case, clients, 1 if quick else TURNS[case])
    if case in MEMORY_CASES:
        values |= memory_values(case, lazily)
        values |= held_memory_values(len(lazily), n_samples, 1 if quick else HELD_TURNS)
    if case in FIRE_CASES:
        values |= fire_values(clients, 1 if quick else FIRE_TURNS)
        differing = list(Differing(len(clients), n_samples))
        values |= label_values(differing, 1 if quick else FIRE_TURNS)
    rows = [Row(case, method, metric, 1, value) for (method, metric), value in values.items()]
    return [*rows, process_row(case, clients, 1 if quick else TURNS[case])]


def engine_values(case: str, clients: Sequence[Client], n_turns: int) -> Values:
    """Return what a round of FedAvg costs, by every method."""
    own, loop = run_of(FedAvg(LOCAL), clients), by_loop(clients)
    with peers(case, clients) as others:
        turns: dict[str, Turn] = {"firecv": timed(lambda: next(own))}
        turns |= {"loop": timed(lambda: next(loop))}
        in_turns(turns, 1)  # the first round brings code and data into memory
        others = [peer for peer in others if peer.turn() is not None]
        values = error_values(clients, others)
        seconds = in_turns(turns | {peer.library: peer.turn for peer in others}, n_turns)
    for name, found in seconds.items():
        values[name, "client_round_ms"] = 1000 * median(found) / len(clients)
        values[name, "loop_ratio"] = ratio(found, seconds["loop"])
        if name not in ("firecv", "loop"):
            values["firecv", f"{name}_speedup"] = ratio(found, seconds["firecv"])
    return values


def error_values(clients: Sequence[Client], others: Sequence[Peer]) -> Values:
    """Return how far the weights of others are from the loop's after the first round."""
    expected = torch.cat([value.flatten() for value in next(by_loop(clients))])
    found = {peer.library: peer.weights() for peer in others}
    assert LOCAL.batch_size is not None
    if len(clients[0]) <= LOCAL.batch_size:
        weights = next(run_of(FedAvg(LOCAL), clients)).state.server["weights"]
        assert isinstance(weights, dict)
        found["firecv"] = torch.cat([value.flatten() for value in weights.values()])
    return {
        (name, "max_error"): float((weights - expected).abs().max())
        for name, weights in found.items()
    }


def memory_values(case: str, clients: Made) -> Values:
    """Return the peak memory of a round and how it grows with the number of clients."""
    found = median_memory(clients)
    values = {("firecv", "peak_memory_mb"): found}
    if case == "1000x60":
        fewer = Made(len(clients) // 10, clients.sizes[0])
        values["firecv", "memory_growth"] = found / median_memory(fewer)
    return values


def median_memory(clients: Made) -> float:
    """Return the peak memory of a round; one process may differ by a tenth from the next."""
    return median(
        in_fresh_process(round_memory, FedAvg(LOCAL), clients) for _ in range(MEMORY_TURNS)
    )


class Cost(NamedTuple):
    """What some rounds cost."""

    seconds: float
    n_bytes: int


def fire_values(clients: Sequence[Client], n_turns: int) -> Values:
    """Return what the forms of FIRE cost beside FedAvg."""
    algorithms: dict[str, Algorithm] = {"fedavg": FedAvg(LOCAL), **FORMS}
    holder, costs = shifted_validation(), dict[str, Cost]()

    def turn_of(name: str) -> Turn:
        def turn() -> float:
            costs[name] = cost(algorithms[name], clients, holder, FIRE_ROUNDS)
            return costs[name].seconds

        return turn

    for algorithm in algorithms.values():
        cost(algorithm, clients, holder, 1)  # brings code and data into memory
    seconds = in_turns({name: turn_of(name) for name in algorithms}, n_turns)
    values: Values = {}
    for name in FORMS:
        values[name, "fire_time_ratio"] = ratio(seconds[name], seconds["fedavg"])
        values[name, "fire_bytes_ratio"] = costs[name].n_bytes / costs["fedavg"].n_bytes
    for metric in ("fire_time_ratio", "fire_bytes_ratio"):
        values["firecv", metric] = values[DEFAULT, metric]
    for name, metric in (("quadratic", "diagonal"), ("quadratic 8bit", "eight_bit")):
        values["firecv", f"{metric}_bytes_ratio"] = values[name, "fire_bytes_ratio"]
    return values


def shifted_validation() -> Validation:
    """Return inputs that differ from all clients', so that `weigh` finds it and does its most."""
    rng = derive_torch(0, "validation")
    return as_validation(torch.rand(N_VALIDATION, WIDTHS[0], generator=rng).square())


def cost(
    algorithm: Algorithm, clients: Sequence[Client], holder: Validation, n_rounds: int
) -> Cost:
    """Return what the first rounds of a run cost."""
    start, n_bytes = time.process_time(), 0
    for done in run_of(algorithm, clients, n_rounds, holder):
        n_bytes += done.bytes_up + done.bytes_down
        test = None if done.weighed is None else done.weighed.test
        if test is not None and not test.rejects:
            raise SystemExit("the shift test does not reject, so nothing is weighed")
    return Cost(time.process_time() - start, n_bytes)


def process_row(case: str, clients: Sequence[Client], n_turns: int) -> Row:
    """Return how much sooner a round is done in two processes."""
    algorithm = FedAvg(LOCAL)
    with ProcessFleet(algorithm, network(), clients, seed=0, n_processes=2) as fleet:
        runs = {"one": run_of(algorithm, clients), "two": run_of(algorithm, fleet)}
        turns = {
            name: timed(lambda done=done: next(done), time.perf_counter)
            for name, done in runs.items()
        }
        in_turns(turns, 1)
        seconds = in_turns(turns, n_turns)
    return Row(case, "firecv", "process_speedup", 2, ratio(seconds["one"], seconds["two"]))


def case_of(name: str) -> Callable[[bool], list[Row]]:
    """Return one case."""
    return lambda quick: measured(name, quick)


def label_bars() -> list[Bar]:
    """Return what FIRE with V's labels on the server is held to."""
    limits = {"labeled_time_ratio": 1.2, "decision_share": 0.2, "labeled_bytes_ratio": 1.0}
    return [
        *(
            Bar(case, metric, 1, limit, method=method)
            for metric, limit in limits.items()
            for case in FIRE_CASES
            for method in federated_labels.METHODS
        ),
        *(
            Bar(case, "held_memory_ratio", 1, 2.5, method=f"{n} labels")
            for case in MEMORY_CASES
            for n in federated_labels.N_LABELS
        ),
    ]


if __name__ == "__main__":
    run(
        Benchmark(
            "federated",
            "Federated rounds beside a plain loop, FedLab and Flower.",
            {name: case_of(name) for name in SHAPES},
            METRICS,
            [
                *(Bar(case, "loop_ratio", 1, 1.1) for case in SHAPES),
                *(Bar(case, "fedlab_speedup", 1, 2.0, is_least=True) for case in SHAPES),
                *(Bar(case, "flower_speedup", 1, 3.0, is_least=True) for case in FIRE_CASES),
                *(Bar(case, "fire_time_ratio", 1, 1.2) for case in FIRE_CASES),
                *(Bar(case, "fire_bytes_ratio", 1, 1.01) for case in FIRE_CASES),
                *(Bar(case, "diagonal_bytes_ratio", 1, 1.2) for case in FIRE_CASES),
                *(Bar(case, "eight_bit_bytes_ratio", 1, 1.06) for case in FIRE_CASES),
                Bar("1000x60", "memory_growth", 1, 1.1),
                *label_bars(),
            ],
        )
    )
