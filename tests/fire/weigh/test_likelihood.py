"""The likelihood rule against its formula, its expansion, and a general solver."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from firecv.errors import DataError
from firecv.fire import averages
from firecv.fire.batch_norm import DifferentiableBatchNorm
from firecv.fire.weigh.likelihood import (
    LEAST_RISE,
    _is_finite,
    likelihood,
    mean_log_likelihood,
)
from firecv.models import Task
from firecv.seeding import derive_torch

RHO = 1 / math.sqrt(30)


def slow_value(task, trees, x, y, sizes, w, rho=RHO):
    """Return the rule's objective by loops over fragments and samples."""
    mean = {n: sum(a * t[n] for a, t in zip(w, trees, strict=True)) for n in trees[0]}
    total = 0.0
    for sample, label in zip(x, y, strict=True):
        with torch.no_grad():
            p = task.scores(sample[None], mean).softmax(1)[0]
        total += math.log(float(p[label]))
    shares = [n / sum(sizes) for n in sizes]
    apart = sum(a * math.log(a / s) for a, s in zip(w, shares, strict=True) if a > 0)
    return total / len(x) - rho * apart


def network(kind):
    if kind == "linear":
        return nn.Linear(3, 4)
    if kind == "batch norm":
        return nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Linear(5, 4))
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4))


def world(m, kind="network", n=30, seed=0):
    """Return a task, the weights of m fragments, samples and labels of V, and sizes."""
    rng = derive_torch(seed, "likelihood")
    task = Task(network(kind).double().eval())
    trees = []
    for _ in range(m):
        tree = {
            name: torch.randn(v.shape, generator=rng, dtype=torch.float64)
            for name, v in task.weights().items()
        }
        trees.append({n: v.abs() + 0.5 if "var" in n else v for n, v in tree.items()})
    x = torch.randn(n, 3, generator=rng, dtype=torch.float64)
    y = torch.randint(4, (n,), generator=rng)
    return task, trees, x, y, [10 * (i + 1) for i in range(m)]


@pytest.mark.parametrize("kind", ["linear", "network", "batch norm"])
def test_value_and_gradient_against_a_dense_loop(kind):
    task, trees, x, y, sizes = world(4, kind)
    w = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64, requires_grad=True)
    with DifferentiableBatchNorm():
        value = mean_log_likelihood(task, trees, x, y)(w)
        (gradient,) = torch.autograd.grad(value, w)
    here = w.detach().numpy()
    wanted = slow_value(task, trees, x, y, sizes, here, 0.0)
    assert value.item() == pytest.approx(wanted, abs=1e-12)
    for k in range(4):
        step = 1e-5 * np.eye(4)[k]
        up, down = (slow_value(task, trees, x, y, sizes, here + s * step, 0.0) for s in (1, -1))
        assert float(gradient[k]) == pytest.approx((up - down) / 2e-5, abs=1e-7)


@pytest.mark.parametrize("kind", ["linear", "network", "batch norm"])
@pytest.mark.parametrize("seed", [0, 1])
def test_no_general_solver_gets_higher_from_there(kind, seed):
    task, trees, x, y, sizes = world(4, kind, seed=seed)
    w = likelihood(task, trees, x, y, sizes)
    better = minimize(
        lambda v: -slow_value(task, trees, x, y, sizes, v),
        w,
        bounds=[(1e-9, 1)] * 4,
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1},
        method="SLSQP",
    )
    here = slow_value(task, trees, x, y, sizes, w)
    assert here >= -better.fun - 5 * LEAST_RISE
    assert here > slow_value(task, trees, x, y, sizes, [n / 100 for n in sizes])


def test_to_second_order_the_metric_is_the_fisher_of_v():
    """Of a model that is linear in its weights the Fisher is the Hessian exactly."""
    task, trees, x, y, sizes = world(3, "linear")
    shares = np.array(sizes) / sum(sizes)
    flat = [torch.cat([t["weight"].flatten(), t["bias"]]) for t in trees]
    theta = sum(s * f for s, f in zip(shares, flat, strict=True))
    apart = torch.stack([f - theta for f in flat], 1)  # D, (d, m)
    gradient, fisher = torch.zeros(16).double(), torch.zeros(16, 16).double()
    for sample, label in zip(x, y, strict=True):
        scores = theta[:12].view(4, 3) @ sample + theta[12:]
        p = scores.softmax(0)
        for c in range(4):
            residual = torch.eye(4).double()[c] - p
            g = torch.cat([torch.outer(residual, sample).flatten(), residual])
            fisher += p[c] * torch.outer(g, g) / len(x)
            gradient += g / len(x) if c == label else 0.0
    dw = torch.tensor([0.5, -0.2, -0.3]).double()
    value_of = mean_log_likelihood(task, trees, x, y)
    start = torch.from_numpy(shares)

    def left(t):
        move = apart @ (t * dw)
        expected = gradient @ move - move @ fisher @ move / 2
        return abs(float(value_of(start + t * dw) - value_of(start) - expected))

    first = float(gradient @ apart @ dw)
    assert abs(first) > 0.01 and left(1e-2) < 1e-3 * abs(first) * 1e-2
    assert left(1e-2) / left(5e-3) == pytest.approx(8, rel=0.1)  # what is left is cubic


def test_equal_models_get_their_shares():
    task, trees, x, y, sizes = world(3)
    np.testing.assert_allclose(
        likelihood(task, [trees[0]] * 3, x, y, sizes), np.array(sizes) / 60, atol=1e-12
    )


def taught(n_fragments, n_validation=60):
    """Return fragments of one teacher, with noise, and V as the teacher labels it."""
    rng = derive_torch(5, "taught")
    task = Task(nn.Linear(3, 3).double())
    teacher = {n: 2 * torch.randn(v.shape, generator=rng).double() for n, v in task.state().items()}
    x = torch.randn(n_validation, 3, generator=rng).double()
    y = task.scores(x, teacher).argmax(1)
    trees = [
        {n: v + 0.3 * torch.randn(v.shape, generator=rng).double() for n, v in teacher.items()}
        for _ in range(n_fragments)
    ]
    return task, trees, x, y


@pytest.mark.parametrize("scale", [-10.0, 1e3, -1e30], ids=str)
def test_a_destroyed_model_gets_next_to_nothing(scale):
    task, trees, x, y = taught(5)
    rng = derive_torch(6, "noise")
    noise = {n: torch.randn(v.shape, generator=rng).double() for n, v in trees[0].items()}
    trees[2] = {n: scale * (v if scale < 0 else noise[n]) for n, v in trees[2].items()}
    for precise in (True, False):
        given = trees if precise else [{n: v.float() for n, v in t.items()} for t in trees]
        w = likelihood(task, given, x, y, [1] * 5)
        assert w[2] < 0.01 and w.sum() == pytest.approx(1)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_model_that_is_not_finite_never_wins(value):
    task, trees, x, y, sizes = world(4)
    wanted = likelihood(task, [trees[k] for k in (0, 2, 3)], x, y, [sizes[k] for k in (0, 2, 3)])
    broken = {n: v.clone() for n, v in trees[1].items()}
    broken["2.bias"][1] = value
    start = np.array([0.1, 0.7, 0.1, 0.1])
    for also_from in (None, start):
        found = likelihood(task, [trees[0], broken, *trees[2:]], x, y, sizes, also_from=also_from)
        assert found[1] == 0 and found.sum() == pytest.approx(1)
        np.testing.assert_allclose(found[[0, 2, 3]], wanted, atol=1e-2)  # two starts
    with pytest.raises(DataError, match="all fragments"):
        likelihood(task, [broken, broken], x, y, [1, 1])


def test_the_order_of_fragments_does_not_matter():
    task, trees, x, y, sizes = world(5)
    order = [3, 0, 4, 1, 2]
    found = likelihood(task, trees, x, y, sizes)
    again = likelihood(task, [trees[k] for k in order], x, y, [sizes[k] for k in order])
    np.testing.assert_allclose(again, found[order], atol=1e-6)


def test_limits():
    task, trees, x, y, sizes = world(3)
    assert likelihood(task, trees[:1], x, y, [7]).tolist() == [1.0]
    assert likelihood(task, trees, x, y, sizes, strength=0).tolist() == [n / 60 for n in sizes]
    near = likelihood(task, trees, x, y, sizes, strength=1e-4)
    np.testing.assert_allclose(near, np.array(sizes) / 60, atol=1e-3)


@pytest.mark.parametrize("n", [1, 2])
def test_a_tiny_v_still_gives_weights(n):
    task, trees, x, y, sizes = world(4, n=n)
    w = likelihood(task, trees, x, y, sizes)
    assert np.isfinite(w).all() and w.sum() == pytest.approx(1) and (w >= 0).all()


class Largest(TorchDispatchMode):
    """Notes the largest tensor that is made."""

    numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for each in out if isinstance(out, tuple | list) else [out]:
            if isinstance(each, torch.Tensor):
                self.numel = max(self.numel, each.numel())
        return out


def test_a_thousand_models_are_never_stacked():
    rng = derive_torch(7, "many")
    task = Task(nn.Linear(40, 5).double())
    trees = [
        {n: torch.randn(v.shape, generator=rng).double() for n, v in task.state().items()}
        for _ in range(1000)
    ]
    x, y = torch.randn(20, 40, generator=rng).double(), torch.randint(5, (20,), generator=rng)
    with Largest() as seen:
        w = likelihood(task, trees, x, y, [3] * 1000)
    assert w.sum() == pytest.approx(1) and w.max() > 0.002
    assert seen.numel <= 1000  # a weight for each; a model has 205 numbers


def test_the_better_of_two_starts_is_kept():
    task, trees, x, y, sizes = world(4, seed=3)
    plain = likelihood(task, trees, x, y, sizes)
    for k in range(4):
        found = likelihood(task, trees, x, y, sizes, also_from=np.eye(4)[k])
        values = [slow_value(task, trees, x, y, sizes, w) for w in (found, plain)]
        assert values[0] >= values[1] - 1e-9


def test_bad_input_is_refused():
    task, trees, x, y, sizes = world(2)
    with pytest.raises(DataError, match="1 fragments, 2 sizes"):
        likelihood(task, trees[:1], x, y, sizes)
    with pytest.raises(DataError, match="30 validation samples and 29 labels"):
        likelihood(task, trees, x, y[1:], sizes)


def wide(n_models, n, dtype=torch.float32):
    """Return models of many inputs near a teacher, and V as the teacher labels it."""
    rng = derive_torch(8, "wide")
    task = Task(nn.Sequential(nn.Flatten(), nn.Linear(90, 12), nn.ReLU(), nn.Linear(12, 4)))
    teacher = {k: torch.randn(v.shape, generator=rng) / 3 for k, v in task.state().items()}
    x = torch.randn(n, 9, 10, generator=rng)
    y = task.scores(x, teacher).argmax(1)
    trees = []
    for i in range(n_models):
        noise = {k: torch.randn(v.shape, generator=rng) for k, v in teacher.items()}
        trees.append({k: v + 0.1 * (1 + i % 4) * noise[k] for k, v in teacher.items()})
    task.model.to(dtype)
    return task, [{k: v.to(dtype) for k, v in t.items()} for t in trees], x.to(dtype), y


@pytest.mark.parametrize(("n_models", "n"), [(2, 5), (8, 40), (40, 20)])
def test_outputs_of_the_first_layer_are_averaged_to_the_same_weights(n_models, n, monkeypatch):
    sizes = [10 + i for i in range(n_models)]
    start = np.arange(1, n_models + 1) / sum(range(1, n_models + 1))
    calls = []
    outputs = averages._outputs
    monkeypatch.setattr(averages, "_outputs", lambda *a: calls.append(1) or outputs(*a))
    single = likelihood(*wide(n_models, n), sizes, also_from=start)
    double = likelihood(*wide(n_models, n, torch.float64), sizes, also_from=start)
    assert len(calls) == 2
    monkeypatch.setattr(averages, "leading_linear", lambda task, x: None)
    slow = likelihood(*wide(n_models, n, torch.float64), sizes, also_from=start)
    assert len(calls) == 2 and np.abs(slow - np.array(sizes) / sum(sizes)).max() > 0.01
    np.testing.assert_allclose(double, slow, atol=1e-12)
    np.testing.assert_allclose(single, slow, atol=1e-6)


def test_a_frozen_first_layer_is_not_averaged():
    task, trees, x, y = wide(4, 20, torch.float64)
    same = [{**tree, "1.weight": task.state()["1.weight"].detach()} for tree in trees]
    without = [{k: v for k, v in tree.items() if k != "1.weight"} for tree in trees]
    one, other = (likelihood(task, each, x, y, [1, 2, 3, 4]) for each in (same, without))
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_finite_weights_whose_sum_overflows_are_finite():
    largest = torch.finfo(torch.float32).max
    assert _is_finite({"a": torch.full((3,), largest)})
    assert not _is_finite({"a": torch.tensor([math.inf, -math.inf])})
    assert not _is_finite({"a": torch.ones(2), "b": torch.tensor([math.nan])})
