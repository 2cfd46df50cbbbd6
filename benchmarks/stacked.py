"""What one step of one small table network costs in a stack, against training it alone.

The plain method is the usual loop: one network 30-4-2 on 500 rows, a full-batch forward pass,
``loss.backward()`` and ``torch.optim.Adam``. Speedups are the loop's CPU time per step over ours
per model and step, with one thread. The sweep is the paper's: 27 tables, 17 folds, 100 repeats and
1500 epochs, extrapolated from a few epochs on every real table to two processes on two cores.
`benchmarks/fire.py` runs these cases among its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from command import Bar, say
from numpy.typing import NDArray
from sklearn.neural_network import MLPClassifier
from timing import Row, interleaved
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap
from torch.nn.functional import cross_entropy

from firecv.data import DATASETS, load
from firecv.data.encode import encode_parts
from firecv.errors import FirecvError
from firecv.models import table_mlp
from firecv.seeding import derive, derive_torch
from firecv.stacked import (
    Stack,
    StackSettings,
    initial_weights,
    merge_duplicates,
    standardise,
    train_stack,
)
from firecv.stacked.chunk import chunk_size

FORMS = {
    "table_30_4_2": StackSettings(),
    "table_precondition": StackSettings("precondition", "labelled"),
    "table_precondition_paper": StackSettings("precondition", "labelled", preset="paper"),
    "table_precondition_unlabelled": StackSettings("precondition", "unlabelled"),
    "table_quadratic": StackSettings("quadratic", "labelled"),
    "table_trace": StackSettings("trace", "labelled"),
    "table_trace_unlabelled": StackSettings("trace", "unlabelled"),
    "table_align": StackSettings("align", "labelled"),
}
"""Cases, each a form; the strength is 0.1 and half of the rows are validation rows."""
SWEEPS = {
    "sweep27": StackSettings(),
    "sweep27_precondition": StackSettings("precondition", "labelled"),
    "sweep27_trace": StackSettings("trace", "labelled"),
    "sweep27_align": StackSettings("align", "labelled"),
}
N_ROWS, N_FEATURES, N_MODELS = 500, 30, 128
EPOCHS, LOOP_EPOCHS, AGREEMENT_EPOCHS = 100, 20, 50
N_FOLDS, N_REPEATS, SWEEP_EPOCHS, CORES = 2 + 5 + 10, 100, 1500, 2
TWICE = "bupa"
"""The paper lists 27 tables, one of them under two names."""

METRICS = {
    "stacked_speedup": "time of the loop per step over that per model and step",
    "max_error": f"float64, largest difference of weights from the loop's, {AGREEMENT_EPOCHS} "
    f"epochs",
    "sweep_hours": f"27 tables x {N_FOLDS} folds x {N_REPEATS} repeats x {SWEEP_EPOCHS} epochs on "
    f"{CORES} cores, extrapolated",
}
Array = NDArray[np.float64]


def table() -> tuple[Array, NDArray[np.int64]]:
    """Return the inputs and labels of the small table."""
    rng = derive(0, "table")
    x = rng.normal(size=(N_ROWS, N_FEATURES))
    return x, (x[:, 0] + rng.normal(size=N_ROWS) > 0).astype(np.int64)


def stack_of(x: Array, y: NDArray[np.int64], n_models: int) -> Stack:
    """Return models with random halves of the rows, duplicates merged."""
    distinct = merge_duplicates(x, y)
    rows = derive(0, "halves").random((n_models, len(x))) < 0.5
    train = distinct.merge(rows)
    mean, scale = standardise(distinct.x, train)
    rngs = [derive_torch(0, "weights", model) for model in range(n_models)]
    return Stack(
        distinct.x,
        distinct.y,
        train,
        initial_weights(x.shape[1], int(y.max()) + 1, rngs),
        validation=distinct.merge(~rows),
        strength=0.1,
        mean=mean,
        scale=scale,
    )


def loop(x: Array, y: NDArray[np.int64], n_steps: int) -> Callable[[], nn.Module]:
    """Return the usual training of one network."""
    inputs, labels = torch.from_numpy(x).float(), torch.from_numpy(y)
    model = table_mlp(x.shape[1], int(y.max()) + 1, derive_torch(0, "weights", 0))
    adam = torch.optim.Adam(model.parameters(), lr=1e-3)

    def steps() -> nn.Module:
        for _ in range(n_steps):
            adam.zero_grad()
            cross_entropy(model(inputs), labels).backward()
            adam.step()
        return model

    return steps


def vmapped(x: Array, y: NDArray[np.int64]) -> Callable[[], object]:
    """Return plain training of stacked networks by torch.func.vmap and torch.optim.Adam."""
    inputs, labels = torch.from_numpy(x).float(), torch.from_numpy(y)
    model = table_mlp(N_FEATURES, 2, derive_torch(0, "weights", 0))
    rngs = [derive_torch(0, "weights", m) for m in range(N_MODELS)]
    weights = initial_weights(N_FEATURES, 2, rngs)
    adam = torch.optim.Adam(weights.values(), lr=1e-3, fused=True)
    rows = (torch.rand(N_MODELS, N_ROWS, generator=derive_torch(0, "rows")) < 0.5).float()
    rows /= rows.sum(1, keepdim=True)

    def loss(params: dict[str, Tensor], shares: Tensor) -> Tensor:
        scores = functional_call(model, params, (inputs,))
        return (cross_entropy(scores, labels, reduction="none") * shares).sum()

    gradients = vmap(grad_and_value(loss))

    def steps() -> None:
        for _ in range(LOOP_EPOCHS):
            found, _ = gradients(weights, rows)
            for name, value in weights.items():
                value.grad = found[name]
            adam.step()

    return steps


def scikit_learn(x: Array, y: NDArray[np.int64]) -> Callable[[], object]:
    """Return plain training of one network by scikit-learn."""
    model = MLPClassifier(
        (4,), alpha=0.0, batch_size=len(x), max_iter=EPOCHS, tol=0.0, n_iter_no_change=EPOCHS
    )
    return lambda: model.fit(x.astype(np.float32), y)


def speed_rows(quick: bool) -> list[Row]:
    """Return the speedups of all forms and of two other ways."""
    say("times of single steps")
    x, y = table()
    stack = stack_of(x, y, N_MODELS)

    def trained(settings: StackSettings) -> Callable[[], object]:
        chosen = with_epochs(settings, EPOCHS)
        return lambda: train_stack(stack, chosen)

    plain = next(iter(FORMS))
    steps: dict[tuple[str, str], Callable[[], object]] = {
        (plain, "plain"): loop(x, y, LOOP_EPOCHS),
        (plain, "vmap"): vmapped(x, y),
        (plain, "scikit-learn"): scikit_learn(x, y),
    }
    per_call = {
        (plain, "plain"): LOOP_EPOCHS,
        (plain, "vmap"): LOOP_EPOCHS * N_MODELS,
        (plain, "scikit-learn"): EPOCHS,
    }
    for case, settings in FORMS.items():
        steps[case, "firecv"] = trained(settings)
        per_call[case, "firecv"] = EPOCHS * N_MODELS
    seconds = interleaved(steps, 2 if quick else 12, 0.0, threads=1)
    each = {key: value / per_call[key] for key, value in seconds.items()}
    base = each[plain, "plain"]
    rows = [Row(*key, "stacked_speedup", 1, base / value) for key, value in each.items()]
    return rows + [Row(case, "plain", "stacked_speedup", 1, 1.0) for case in list(FORMS)[1:]]


def error_rows() -> list[Row]:
    """Return how far the stack is from the loop in float64."""
    say("agreement in float64")
    x, y = table()
    stack = stack_of(x, y, 3)
    assert stack.mean is not None and stack.scale is not None
    settings = StackSettings(n_epochs=AGREEMENT_EPOCHS, precision="float64")
    result, largest = train_stack(stack, settings), 0.0
    for m in range(3):
        model = table_mlp(N_FEATURES, 2, derive_torch(0, "weights", m)).double()
        adam = torch.optim.Adam(model.parameters(), lr=settings.lr)
        inputs = torch.from_numpy((stack.x - stack.mean[m]) / stack.scale[m])
        labels, rows = torch.from_numpy(stack.y), torch.from_numpy(stack.train[m])
        for _ in range(AGREEMENT_EPOCHS):
            adam.zero_grad()
            each = cross_entropy(model(inputs), labels, reduction="none")
            ((each * rows).sum() / rows.sum()).backward()
            adam.step()
        for name, value in model.state_dict().items():
            largest = max(largest, float((result.weights[name][m] - value).abs().max()))
    return [Row(next(iter(FORMS)), "firecv", "max_error", 1, largest)]


class Table(NamedTuple):
    """A real table as numbers."""

    name: str
    x: Array
    y: NDArray[np.int64]


def tables() -> list[Table]:
    """Return the paper's tables, encoded; none if they are not at hand."""
    found: list[Table] = []
    for name, dataset in DATASETS.items():
        if not dataset.folds:
            continue
        try:
            (encoded,), _ = encode_parts(load(name).train)
        except FirecvError as error:
            print(f"the sweep is left out: {error}")
            return []
        found.append(Table(name, np.asarray(encoded.x, np.float64), np.asarray(encoded.y)))
    return found


def sweep_rows(quick: bool) -> list[Row]:
    """Return the hours of the sweep, extrapolated from a few epochs on every table."""
    hours = dict.fromkeys([("sweep27", "plain"), *((case, "firecv") for case in SWEEPS)], 0.0)
    found = tables()
    for each in found:
        say(f"sweep: {each.name}")
        seconds = table_seconds(each, rounds=1 if quick else 3)
        for key, value in seconds.items():
            hours[key] += value / CORES / 3600 * (2 if each.name == TWICE else 1)
    if not found:
        return []
    return [Row(*key, "sweep_hours", CORES, value) for key, value in hours.items()]


def table_seconds(given: Table, rounds: int) -> dict[tuple[str, str], float]:
    """Return the seconds of one core for all folds, repeats and epochs of a table."""
    n_distinct = len(merge_duplicates(given.x, given.y).x)
    n_models = chunk_size(n_distinct, 4, torch.float32)
    n_chunks = -(-N_FOLDS * N_REPEATS // n_models)
    epochs = max(3, min(40, round(2e9 / (n_models * 4 * n_distinct * (given.x.shape[1] + 30)))))

    def trained(settings: StackSettings, n_epochs: int) -> Callable[[], object]:
        chosen = with_epochs(settings, n_epochs)
        return lambda: train_stack(stack_of(given.x, given.y, n_models), chosen)

    steps: dict[tuple[str, str, int], Callable[[], object]] = {
        ("sweep27", "plain", 0): loop(given.x, given.y, LOOP_EPOCHS)
    }
    for case, settings in SWEEPS.items():
        steps |= {(case, "firecv", n): trained(settings, n) for n in (0, epochs)}
    seconds = interleaved(steps, rounds, 0.0, threads=1)
    loop_step = seconds["sweep27", "plain", 0] / LOOP_EPOCHS
    result = {("sweep27", "plain"): loop_step * N_FOLDS * N_REPEATS * SWEEP_EPOCHS}
    for case in SWEEPS:
        start = seconds[case, "firecv", 0]
        each = (seconds[case, "firecv", epochs] - start) / epochs
        result[case, "firecv"] = n_chunks * (start + each * SWEEP_EPOCHS)
    return result


def with_epochs(settings: StackSettings, n_epochs: int) -> StackSettings:
    """Return the settings with another number of epochs."""
    return StackSettings(settings.form, settings.regime, preset=settings.preset, n_epochs=n_epochs)


def stacked_rows(quick: bool) -> list[Row]:
    """Return speed and agreement on one small table."""
    warnings.filterwarnings("ignore")  # scikit-learn's about convergence
    return error_rows() + speed_rows(quick)


CASES = {"stacked": stacked_rows, "sweep27": sweep_rows}
BARS = [
    *(
        Bar(case, "stacked_speedup", 1, 12.0, is_least=True)
        for case in ("table_30_4_2", "table_precondition")
    ),
    *(Bar(case, "sweep_hours", 2, 1.5) for case in SWEEPS),
    Bar("table_30_4_2", "max_error", 1, 1e-8),
]
