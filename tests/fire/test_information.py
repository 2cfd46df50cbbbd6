"""The information rule against its formula, a grid and a general solver."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import nn

from firecv.errors import DataError, StructureError
from firecv.fire.averages import ascend
from firecv.fire.information import information, most_informative
from firecv.models import Task
from firecv.seeding import derive_torch


def entropy(p: list[float]) -> float:
    return -sum(q * math.log(q) for q in p if q > 0)


def slow_value(task: Task, trees, x, sizes, w, strength: float) -> float:
    """Return I_V(w) - KL / strength by a loop over samples."""
    mean = {n: sum(a * t[n] for a, t in zip(w, trees, strict=True)) for n in trees[0]}
    with torch.no_grad():
        p = task.scores(x, mean).softmax(1).tolist()
    middle = [sum(row[c] for row in p) / len(p) for c in range(len(p[0]))]
    value = entropy(middle) - sum(map(entropy, p)) / len(p)
    shares = [n / sum(sizes) for n in sizes]
    return value - sum(a * math.log(a / s) for a, s in zip(w, shares, strict=True)) / strength


def world(m: int, seed: int = 0, activation=nn.Tanh):
    """Return a task, the weights of m fragments, samples of V and sizes."""
    rng = derive_torch(seed, "information")
    task = Task(nn.Sequential(nn.Linear(3, 5), activation(), nn.Linear(5, 4)).double())
    trees = [
        {
            n: torch.randn(v.shape, generator=rng, dtype=torch.float64)
            for n, v in task.weights().items()
        }
        for _ in range(m)
    ]
    return task, trees, torch.randn(30, 3, generator=rng).double(), [10 * (i + 1) for i in range(m)]


@pytest.mark.parametrize("strength", [0.1, 2.0, 20.0])
def test_two_fragments_against_a_grid(strength: float) -> None:
    task, trees, x, sizes = world(2)
    w = information(task, trees, x, sizes, strength=strength)
    grid = np.linspace(1e-4, 1 - 1e-4, 4001)
    values = [slow_value(task, trees, x, sizes, (1 - b, b), strength) for b in grid]
    here = slow_value(task, trees, x, sizes, w, strength)
    nearest = values[int(np.abs(grid - w[1]).argmin())]
    assert here >= nearest - 1e-8
    d = 0.01 * w.min()
    left, right = (slow_value(task, trees, x, sizes, w + [s, -s], strength) for s in (d, -d))
    assert here > max(left, right) - 1e-12  # a maximum, if not the only one


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_general_solver_gets_higher_from_there(seed: int) -> None:
    task, trees, x, sizes = world(4, seed)
    w = information(task, trees, x, sizes)
    better = minimize(
        lambda v: -slow_value(task, trees, x, sizes, v, 2.0),
        w,
        bounds=[(1e-9, 1)] * 4,
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1},
        method="SLSQP",
    )
    assert slow_value(task, trees, x, sizes, w, 2.0) >= -better.fun - 1e-7
    np.testing.assert_allclose(w, better.x, atol=1e-3)
    start = slow_value(task, trees, x, sizes, [n / 100 for n in sizes], 2.0)
    assert slow_value(task, trees, x, sizes, w, 2.0) > start


def test_no_step_goes_down_and_stationary_points_are_reached() -> None:
    task, trees, x, sizes = world(5)
    seen: list[torch.Tensor] = []

    def predict(w: torch.Tensor) -> torch.Tensor:
        seen.append(w.detach().clone())
        mean = {n: sum(a * t[n] for a, t in zip(w, trees, strict=True)) for n in trees[0]}
        return task.scores(x, mean).log_softmax(1)

    w = most_informative(predict, sizes)
    assert np.allclose(seen[0].numpy(), np.array(sizes) / sum(sizes))
    values = [slow_value(task, trees, x, sizes, v.tolist(), 2.0) for v in seen]
    end = slow_value(task, trees, x, sizes, w, 2.0)
    assert end >= max(values) - 1e-9
    shift = 1e-5
    for i in range(5):  # moving a little weight anywhere gains nothing to first order
        moved = w * (1 - shift) + shift * np.eye(5)[i]
        gain = (slow_value(task, trees, x, sizes, moved, 2.0) - end) / shift
        assert w[i] * gain < 1e-4


@pytest.mark.parametrize("activation", [nn.ReLU, nn.Tanh])
def test_it_needs_few_evaluations(activation) -> None:
    task, trees, x, sizes = world(6, 3, activation)
    calls = 0

    def predict(w: torch.Tensor) -> torch.Tensor:
        nonlocal calls
        calls += 1
        mean = {n: sum(a * t[n] for a, t in zip(w, trees, strict=True)) for n in trees[0]}
        return task.scores(x, mean).log_softmax(1)

    most_informative(predict, sizes)
    assert calls < 150


def test_predictions_without_doubt_are_no_trouble() -> None:
    task = Task(nn.Linear(1, 2, bias=False))
    trees = [{"weight": torch.tensor([[-s], [s]])} for s in (1e5, 1e4, 0.0)]
    w = information(task, trees, torch.tensor([[-1.0], [1.0]]), [1, 1, 1])
    np.testing.assert_allclose(w, [1 / 3] * 3, atol=1e-5)  # ln 2 all the same


def test_the_model_is_left_as_it_was() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2))
    task = Task(model.train())
    before = task.weights()
    trees = [{n: v + i for n, v in before.items()} for i in range(2)]
    x = torch.randn(20, 3)
    first, second = (information(task, trees, x, [5, 5]) for _ in range(2))
    assert np.array_equal(first, second)  # no dropout
    assert model.training
    assert all(torch.equal(v, before[n]) for n, v in task.weights().items())


def test_the_gradient_runs_through_averaged_batch_statistics() -> None:
    """Fragments that differ in nothing else, so without it n/N would look stationary."""
    rng = derive_torch(4, "information")
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).double()
    task = Task(model)
    x = torch.randn(20, 3, generator=rng).double()
    own = {n: torch.randn(v.shape, generator=rng).double() for n, v in task.weights().items()}
    trees = [
        own | {"1.running_mean": 0 * own["1.bias"], "1.running_var": v * torch.ones(4).double()}
        for v in (0.1, 9.0)
    ]
    w = information(task, trees, x, [1, 1])
    model.eval()
    end, start = (slow_value(task, trees, x, [1, 1], v, 2.0) for v in (w, (0.5, 0.5)))
    assert end > start + 1e-3
    for d in (1e-3, -1e-3):
        assert end > slow_value(task, trees, x, [1, 1], w + [d, -d], 2.0)


def test_trainable_entries_alone_are_enough() -> None:
    task, trees, x, sizes = world(2)
    full = {n: v.clone() for n, v in task.weights().items()}
    part = [{"2.weight": t["2.weight"]} for t in trees]
    found = information(task, part, x, sizes)
    wanted = information(task, [full | p for p in part], x, sizes)
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_bad_input_is_refused() -> None:
    task, trees, x, sizes = world(2)
    with pytest.raises(DataError, match="weights of 1 fragments, 2 sizes"):
        information(task, trees[:1], x, sizes)
    with pytest.raises(DataError, match="1 validation samples"):
        information(task, trees, x[:1], sizes)
    with pytest.raises(DataError, match="not finite"):
        information(task, [trees[0], {n: v * math.nan for n, v in trees[1].items()}], x, sizes)
    with pytest.raises(StructureError, match="different names"):
        information(task, [trees[0], {"2.bias": trees[1]["2.bias"]}], x, sizes)


def two_hills(w: torch.Tensor) -> torch.Tensor:
    """Return a value with a low maximum beside equal weights and a high one at the first vertex."""
    return 0.3 * torch.exp(-40 * (w[0] - 0.4) ** 2) + 2 * torch.exp(-40 * (w[0] - 0.95) ** 2)


def test_the_higher_of_two_maxima_is_taken_wherever_the_start() -> None:
    near = ascend(two_hills, [1, 1], strength=2.0)
    assert abs(near[0] - 0.42) < 0.05
    for start in (np.array([0.9, 0.1]), np.array([1.0, 0.0])):
        assert ascend(two_hills, [1, 1], strength=2.0, also_from=start)[0] > 0.85
    # A start that ends lower changes nothing.
    high = ascend(two_hills, [9, 1], strength=2.0)
    again = ascend(two_hills, [9, 1], strength=2.0, also_from=np.array([0.3, 0.7]))
    np.testing.assert_array_equal(again, high)
    assert high[0] > 0.85


def test_starting_from_the_weights_found_gives_them_again() -> None:
    task, trees, x, sizes = world(4)
    found = information(task, trees, x, sizes)
    again = information(task, trees, x, sizes, also_from=found)
    np.testing.assert_allclose(again, found, atol=2e-3)
    assert slow_value(task, trees, x, sizes, again, 2.0) >= (
        slow_value(task, trees, x, sizes, found, 2.0) - 1e-12
    )
