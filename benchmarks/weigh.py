"""What weighing clients is worth: FIRE's rules beside FedAvg, its controls and other algorithms.

Fashion-MNIST, ten clients with 400 images each, a perceptron 784-128-64-10, twelve rounds of three
local epochs, 200 images of V on the server; worlds as in `firecv.federated.worlds`. Every method
has the same clients, initial weights and shuffles at each seed. Runs are kept as they finish, so an
interrupted benchmark goes on where it was.

Regimes: "none" sees nothing of V, "summary" its inputs on the server alone, "labelled_summary" its
labels there too, "labelled" gives V with its labels to every client.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

import torch
from command import say
from timing import Row, markdown, short, write_rows

from firecv.data import load
from firecv.federated import Client, LocalFleet, Plan, rounds
from firecv.federated.algorithms import ALGORITHMS, SCAFFOLD, FedAvg, FedDyn
from firecv.federated.algorithms.fire import Fire
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.contract import Algorithm
from firecv.federated.controls import LabelledLoss, MatchedMeans
from firecv.federated.weighing import Weighing
from firecv.federated.worlds import World, world
from firecv.fire.validation import Unlabelled, as_validation
from firecv.models import Task, mlp
from firecv.seeding import derive, derive_torch
from firecv.training import Training

RESULTS = Path(__file__).parent / "results"
N_ROUNDS, N_SEEDS = 12, 5
LOCAL = Training(3, 64, 0.05, "sgd", momentum=0.9)
PLAIN = Training(3, 64, 0.1, "sgd")
CASES = ("bands", "nuisance", "skew", "iid")


class Method(NamedTuple):
    """A line of the table."""

    regime: str
    make: Callable[[], Algorithm]


def weighed(weighing: Weighing | MatchedMeans | LabelledLoss) -> Callable[[], Algorithm]:
    """Return FedAvg with clients weighed in some way."""
    return lambda: Weighed(FedAvg(LOCAL), weighing)


def fire(form: str, strength: float) -> Callable[[], Algorithm]:
    """Return a form that acts on local training, V's Fisher coming from the server."""
    on = "validation"
    return lambda: Fire(form, strength, fisher_on=on, local=LOCAL)  # pyright: ignore


def other(name: str, **settings: float) -> Callable[[], Algorithm]:
    """Return another algorithm with the same local training."""
    return lambda: ALGORITHMS[name](local=LOCAL, **settings)


METHODS = {
    "fedavg": Method("none", lambda: FedAvg(LOCAL)),
    "fedprox 0.1": Method("none", other("fedprox", strength=0.1)),
    "fedprox 1": Method("none", other("fedprox", strength=1.0)),
    "quadratic 0.1": Method("labelled_summary", fire("quadratic", 0.1)),
    "quadratic 1": Method("labelled_summary", fire("quadratic", 1.0)),
    "precondition 0.1": Method("labelled_summary", fire("precondition", 0.1)),
    "align 0.1": Method("labelled_summary", fire("align", 0.1)),
    "distance": Method("summary", weighed(Weighing("distance", every=1, guarded=False))),
    "distance, guarded": Method("summary", weighed(Weighing("distance", every=1))),
    "mixture": Method("summary", weighed(Weighing("mixture", every=1, guarded=False))),
    "mixture, guarded": Method("summary", weighed(Weighing("mixture", every=1))),
    "information, unguarded": Method("summary", weighed(Weighing(every=1, guarded=False))),
    "firecv": Method("summary", weighed(Weighing(every=1))),
    "information, every 5": Method("summary", weighed(Weighing(every=5))),
    "input means": Method("summary", weighed(MatchedMeans("inputs", every=1))),
    "activation means": Method("summary", weighed(MatchedMeans("activations", every=1))),
    "labelled loss": Method("labelled_summary", weighed(LabelledLoss(every=1))),
    "pooled": Method("labelled", lambda: FedAvg(LOCAL)),
    "fedavg, plain": Method("none", lambda: FedAvg(PLAIN)),
    "fedavg, plain + weigh": Method("summary", lambda: Weighed(FedAvg(PLAIN), Weighing(every=1))),
    "fedprox 0.1 + weigh": Method(
        "summary", lambda: Weighed(other("fedprox", strength=0.1)(), Weighing(every=1))
    ),
    "moon": Method("none", other("moon")),
    "moon + weigh": Method("summary", lambda: Weighed(other("moon")(), Weighing(every=1))),
    "feddyn, plain": Method("none", lambda: FedDyn(local=PLAIN)),
    "feddyn, plain + weigh": Method(
        "summary", lambda: Weighed(FedDyn(local=PLAIN), Weighing(every=1))
    ),
    "scaffold, plain": Method("none", lambda: SCAFFOLD(PLAIN)),
    "scaffold, plain + weigh": Method(
        "summary", lambda: Weighed(SCAFFOLD(PLAIN), Weighing(every=1))
    ),
}
"""The recommended rule, `information` with the guard, is "firecv"."""


def run_once(method: Method, name: str, made: World, seed: int) -> dict[str, float]:
    """Return the accuracy in percent and how often the guard let the rule act."""
    algorithm = method.make()
    clients = made.clients
    if name == "pooled":
        clients = tuple(_with(client, made) for client in clients)
    task = Task(mlp((784,), (128, 64), 10, derive_torch(seed, "weights")))
    uses_labels = method.regime.startswith("labelled")
    holder = as_validation(made.validation if uses_labels else Unlabelled(made.validation))
    fleet = LocalFleet(algorithm, task, clients, seed)
    tests: list[bool] = []
    last, n_failures = None, 0
    for last in rounds(Plan(algorithm, task, holder, seed), fleet, N_ROUNDS):
        n_failures += len(last.failures)
        if last.weighed is not None and last.weighed.test is not None:
            tests.append(last.weighed.test.rejects)
    assert last is not None
    weights = last.state.server["weights"]
    x, y = made.test
    with torch.no_grad():
        right = (task.scores(x, weights).argmax(1) == y).float().mean()  # pyright: ignore
    # A client whose training diverged is left out of its round.
    found = {"accuracy": 100 * float(right), "failures": float(n_failures)}
    return found | ({"rejections": mean(tests)} if tests else {})


def _with(client: Client, made: World) -> Client:
    x, y = (torch.cat(pair) for pair in zip(client.data, made.validation, strict=True))
    return replace(client, data=(x, y))


def measure(cases: list[str], n_seeds: int, kept: Path) -> dict[str, dict[str, float]]:
    """Return what every run gave, by "case/method/seed"; finished ones are read from a file."""
    done: dict[str, dict[str, float]] = json.loads(kept.read_text()) if kept.is_file() else {}
    images = load("fashion_mnist").train
    for seed in range(n_seeds):
        for case in cases:
            made = world(case, images, derive(seed, "world", case))
            for name, method in METHODS.items():
                key = f"{case}/{name}/{seed}"
                if key not in done:
                    done[key] = run_once(method, name, made, seed)
                    say(f"{key}: {done[key]}")
                    part = kept.with_suffix(".part")
                    part.write_text(json.dumps(done, indent=0))
                    os.replace(part, kept)
    return done


def rows_of(done: dict[str, dict[str, float]], cases: list[str], n_seeds: int) -> list[Row]:
    """Return means, standard deviations over seeds and gains over FedAvg."""
    rows: list[Row] = []
    for case in cases:
        base = [done[f"{case}/fedavg/{seed}"]["accuracy"] for seed in range(n_seeds)]
        for name in METHODS:
            runs = [done[f"{case}/{name}/{seed}"] for seed in range(n_seeds)]
            found = [run["accuracy"] for run in runs]
            gains = [a - b for a, b in zip(found, base, strict=True)]
            rows.append(Row(case, name, "accuracy", 1, mean(found)))
            rows.append(Row(case, name, "gain", 1, mean(gains)))
            if n_seeds > 1:
                rows.append(Row(case, name, "gain_deviation", 1, stdev(gains)))
            if "rejections" in runs[0]:
                rate = mean(run["rejections"] for run in runs)
                rows.append(Row(case, name, "rejection_rate", 1, rate))
    return rows


def table(rows: list[Row], cases: list[str]) -> str:
    """Return accuracy, and the gain with its deviation over seeds, of all methods as Markdown."""
    values = {row[:3]: row.value for row in rows}
    lines = [
        [name, method.regime]
        + [
            f"{values[case, name, 'accuracy']:.1f} ({values[case, name, 'gain']:+.1f} ± "
            f"{short(values.get((case, name, 'gain_deviation'), 0.0))})"
            for case in cases
        ]
        for name, method in METHODS.items()
    ]
    return markdown(["method", "regime", *cases], lines)


def main() -> None:
    """Measure, print the table and write rows, as the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--seeds", type=int, default=N_SEEDS)
    parser.add_argument("--runs", type=Path, default=RESULTS / "runs" / "weigh.json")
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.runs.parent.mkdir(parents=True, exist_ok=True)
    done = measure(options.cases, options.seeds, options.runs)
    rows = rows_of(done, options.cases, options.seeds)
    print(table(rows, options.cases))
    if options.cases == list(CASES) and options.seeds == N_SEEDS:
        write_rows(RESULTS / "weigh.json", rows)


if __name__ == "__main__":
    main()
