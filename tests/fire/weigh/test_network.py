"""Influence through a network's curvature, against refitting, the probe and a dense matrix."""

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from firecv.errors import DataError
from firecv.fire.weigh import network
from firecv.fire.weigh.crossfit import CrossFit, Precision
from firecv.fire.weigh.network import curvature_times, influence_on, weigh_by_network
from firecv.models import Batch, Task
from firecv.training import Training
from firecv.tree import Tree
from tests.reference import dense_fisher, flat, unflat

N_CLASSES = 3
QUICK = Training(n_epochs=8, rate=0.05, batch_size=32)


def draws(n: int, shift: float, seed: int) -> Batch:
    rng = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 3, generator=rng, dtype=torch.float64) + shift
    noise = torch.randn(n, generator=rng, dtype=torch.float64)
    return x, (x[:, 0] + 0.5 * noise > 0).long() + (x[:, 1] + 0.5 * noise > 1).long()


def world(n: int = 40) -> tuple[list[Batch], Batch]:
    parts = [draws(n, shift, seed) for seed, shift in enumerate((-1.0, 0.0, 1.0))]
    return parts, draws(3 * n // 4, 0.5, 9)


def linear(bias: bool = False) -> Task:
    return Task(nn.Linear(3, N_CLASSES, bias=bias).double())


def refit(task: Task, parts: list[Batch], weights: np.ndarray, penalty: float) -> Tree:
    """Return the parameters of lowest weighted loss and penalty, by Newton's method."""

    def loss(vector: Tensor) -> Tensor:
        values = unflat(vector, task)
        losses = [w * task.loss(part, values) for w, part in zip(weights, parts, strict=True)]
        return torch.stack(losses).sum() + penalty / 2 * vector.square().sum()

    vector = torch.zeros(sum(p.numel() for p in task.parameters().values()), dtype=torch.float64)
    for _ in range(12):
        at = vector.requires_grad_()
        (slope,) = torch.autograd.grad(loss(at), at)
        hessian = cast("Tensor", torch.autograd.functional.hessian(loss, at))
        vector = at.detach() - torch.linalg.pinv(hessian, hermitian=True, rtol=1e-12) @ slope
    return unflat(vector, task)


def differences(loss: Callable[[np.ndarray], float], w: np.ndarray) -> list[float]:
    steps = 1e-4 * np.eye(len(w))
    return [(loss(w + step) - loss(w - step)) / 2e-4 for step in steps]


def test_influence_is_the_derivative_of_the_refitted_held_out_loss() -> None:
    parts, held = world()
    task, w, penalty = linear(), np.array([0.5, 0.2, 0.3]), 0.02
    trained = refit(task, parts, w, penalty)
    result = influence_on(
        task, trained, parts, w, held, damping=penalty, n_steps=200, residual=1e-12
    )
    expected = differences(lambda v: float(task.loss(held, refit(task, parts, v, penalty))), w)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-8)


def test_a_linear_network_and_the_probe_agree() -> None:
    parts, validation = world()
    x, y = (torch.cat(each).numpy() for each in zip(*parts, strict=True))
    fragments = np.repeat([0, 1, 2], 40)
    val = tuple(each.numpy() for each in validation)
    probe = CrossFit.build(x, y, fragments, *val, n_classes=N_CLASSES)
    probe = replace(probe, probe=replace(probe.probe, penalty=0.0))
    w = probe.prior(0.3)
    exact = Precision(promise=1e-24, residual=1e-12)
    expected, _ = probe.derivative(probe.score(w, precision=exact), None, exact)
    task, total = linear(bias=True), np.zeros(4)
    for held in (probe.held > 0).T:
        kept = torch.from_numpy(~held)
        rows = [*parts, (validation[0][kept], validation[1][kept])]
        own = (validation[0][~kept], validation[1][~kept])
        trained = refit(task, rows, w, 0.0)
        change = influence_on(task, trained, rows, w, own, damping=0.0, n_steps=300, residual=1e-11)
        total += held.mean() * change
    np.testing.assert_allclose(total, expected, rtol=1e-4, atol=1e-6)


def test_the_product_is_that_of_the_dense_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "CHUNK", 7)
    torch.manual_seed(0)
    task = Task(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, N_CLASSES)).double())
    x, y = draws(20, 0.0, 0)
    matrix = dense_fisher(task, x, y, "exact")  # for cross-entropy the Gauss-Newton matrix
    v = torch.randn(len(matrix), dtype=torch.float64)
    weight = torch.full((20,), 1 / 20, dtype=torch.float64)
    result = curvature_times(task, task.weights(), (x, weight), unflat(v, task))
    torch.testing.assert_close(flat(result, task), matrix @ v)


def test_parts_enter_by_weight_not_by_size() -> None:
    parts, held = world()
    twice = [
        (torch.cat([x, x]), torch.cat([y, y])) if k == 1 else (x, y)
        for k, (x, y) in enumerate(parts)
    ]
    task, w = linear(), np.array([0.5, 0.2, 0.3])
    trained = refit(task, parts, w, 0.1)
    one, other = (influence_on(task, trained, each, w, held) for each in (parts, twice))
    np.testing.assert_allclose(one, other, rtol=1e-8)


def test_a_fragment_of_wrong_labels_loses_its_weight() -> None:
    parts, validation = world(100)
    parts[1] = parts[1][0], (parts[1][1] + 1) % N_CLASSES
    torch.manual_seed(0)
    task = Task(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, N_CLASSES)).double())
    before = task.weights()
    result = weigh_by_network(task, parts, validation, QUICK)
    assert result.influence.argmin() == 1 and result.influence[1] < 0
    assert result.weights[1] < 0.1 and not result.is_pooled
    assert result.weights.sum() + result.validation_weight == pytest.approx(1.0)
    assert result.loss < result.pooled_loss - result.margin
    for name, value in task.weights().items():
        assert torch.equal(value, before[name])
    again = weigh_by_network(task, parts, validation, QUICK)
    np.testing.assert_array_equal(again.weights, result.weights)


def test_at_strength_zero_pooling_is_kept() -> None:
    parts, validation = world()
    result = weigh_by_network(linear(), parts, validation, QUICK, strength=0.0, n_rounds=1)
    assert result.is_pooled
    np.testing.assert_allclose(result.weights, 40 / 150)
    assert result.validation_weight == pytest.approx(30 / 150)


def test_one_label_is_refused() -> None:
    parts, (x, y) = world()
    with pytest.raises(DataError, match="1 labeled samples; expected at least 2"):
        weigh_by_network(linear(), parts, (x[:1], y[:1]), QUICK)
