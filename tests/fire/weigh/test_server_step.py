"""The server step against plain gradient descent, its fixed point, and folds by a loop."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from firecv.errors import DataError
from firecv.fire.weigh import server_step as module
from firecv.fire.weigh.server_step import (
    HOLDS,
    LR,
    N_FOLDS,
    N_STEPS,
    NO_STEP,
    chosen_hold,
    crossfitted,
    server_step,
)
from firecv.models import Task
from firecv.seeding import derive, derive_torch


def world(n=30, n_classes=3):
    rng = derive_torch(0, "server step")
    model = nn.Sequential(
        nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Dropout(0.5), nn.Linear(6, n_classes)
    )
    task = Task(model.double())
    x = torch.randn(n, 4, generator=rng).double()
    weights = {
        name: 0.5 * torch.randn(value.shape, generator=rng).double().abs()
        for name, value in task.weights().items()
    }
    return task, weights, x, x[:, :n_classes].argmax(1)


def loss_at(task, weights, x, y):
    task.model.eval()
    with torch.no_grad():
        return float(functional.cross_entropy(task.scores(x, weights), y))


def test_without_hold_it_is_gradient_descent():
    task, weights, x, y = world()
    task.model.eval()
    names = task.trainable
    expected = {name: value.clone() for name, value in weights.items()}
    for _ in range(N_STEPS):
        live = {name: expected[name].requires_grad_() for name in names}
        loss = functional.cross_entropy(task.scores(x, expected | live), y)
        slopes = torch.autograd.grad(loss, list(live.values()))
        for name, slope in zip(names, slopes, strict=True):
            expected[name] = (expected[name] - LR * slope).detach()
    found = server_step(task, weights, x, y, 0.0)
    for name, value in found.items():
        torch.testing.assert_close(value, expected[name])
    assert loss_at(task, found, x, y) < loss_at(task, weights, x, y)


def test_the_stronger_the_hold_the_shorter_the_step():
    task, weights, x, y = world()

    def moved(hold):
        found = server_step(task, weights, x, y, hold)
        return math.sqrt(sum(float((found[n] - weights[n]).square().sum()) for n in weights))

    lengths = [moved(hold) for hold in (NO_STEP, *HOLDS)]
    assert lengths[0] == 0 and lengths == sorted(lengths) and moved(1e9) < 1e-7
    assert server_step(task, weights, x, y, NO_STEP) is weights


def test_its_fixed_point_is_that_of_loss_and_penalty(monkeypatch):
    monkeypatch.setattr(module, "N_STEPS", 3_000)
    rng = derive_torch(1, "fixed point")
    task = Task(nn.Linear(2, 2).double())
    x, y = torch.randn(12, 2, generator=rng).double(), torch.randint(2, (12,), generator=rng)
    weights = task.weights()
    found = {n: v.requires_grad_() for n, v in server_step(task, weights, x, y, 0.7).items()}
    slopes = torch.autograd.grad(functional.cross_entropy(task.scores(x, found), y), found.values())
    for (name, value), slope in zip(found.items(), slopes, strict=True):
        torch.testing.assert_close(
            slope + 0.7 * (value - weights[name]), 0 * slope, atol=1e-9, rtol=0
        )


def test_weights_and_model_are_left_alone_and_buffers_stay():
    task, weights, x, y = world()
    own, before = task.weights(), {name: value.clone() for name, value in weights.items()}
    task.model.train()
    found, again = (server_step(task, weights, x, y, 0.1) for _ in range(2))
    assert task.model.training
    assert all(torch.equal(weights[name], before[name]) for name in weights)
    assert all(torch.equal(value, own[name]) for name, value in task.weights().items())
    assert all(torch.equal(found[name], again[name]) for name in found)  # no dropout
    assert all(torch.equal(found[n], weights[n]) for n in weights if "running" in n)


def test_steps_that_diverge_are_not_taken():
    task, weights, x, y = world()
    assert server_step(task, weights, x * math.inf, y, 0.0) is weights


def test_folds_against_a_loop():
    task, weights, x, y = world(n=17)
    losses = crossfitted(task, weights, x, y, rng=derive(0, "folds"), holds=(NO_STEP, 0.3))
    fold = derive(0, "folds").permutation(17) % N_FOLDS
    expected = np.zeros(17)
    for k in range(N_FOLDS):
        rest, out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        stepped = server_step(task, weights, x[rest], y[rest], 0.3)
        expected[out] = [loss_at(task, stepped, x[[i]], y[[i]]) for i in out]
    unmoved = [loss_at(task, weights, x[[i]], y[[i]]) for i in range(17)]
    np.testing.assert_allclose(losses[0], unmoved)
    np.testing.assert_allclose(losses[1], expected)


@pytest.mark.parametrize("n_worse", [7, 8])
def test_a_gain_within_its_standard_error_is_none(monkeypatch, n_worse):
    # Samples gain or lose 1: the mean gain is 0.3 or 0.2, its standard error 0.21 or 0.22.
    task, weights, x, y = world(n=20)
    gains = torch.tensor([-1.0] * n_worse + [1.0] * (20 - n_worse)).double()
    losses = [torch.zeros(20).double(), -gains]
    monkeypatch.setattr(module, "crossfitted", lambda *_, **__: losses)
    hold = chosen_hold(task, weights, x, y, rng=derive(0, "guard"), holds=(0.3,))
    assert hold == (0.3 if n_worse == 7 else NO_STEP)


def test_a_step_that_helps_is_taken_and_noise_is_not_learned():
    rng = derive_torch(2, "choice")
    task = Task(nn.Linear(20, 2).double())
    zero = {name: torch.zeros_like(value) for name, value in task.weights().items()}
    x = torch.randn(40, 20, generator=rng).double()
    random = torch.randint(2, (40,), generator=rng)
    assert chosen_hold(task, zero, x, (x[:, 0] > 0).long(), rng=derive(0, "a")) < 1.0
    assert chosen_hold(task, zero, 3 * x, random, rng=derive(0, "a")) >= 10.0


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_tiny_v(n):
    task, weights, x, y = world(n)
    hold = chosen_hold(task, weights, x, y, rng=derive(0, "tiny"))
    assert hold in (NO_STEP, *HOLDS) and (n > 1 or hold == NO_STEP)


def test_bad_input_is_refused():
    task, weights, x, y = world()
    with pytest.raises(DataError, match="30 samples and 29 labels"):
        server_step(task, weights, x, y[1:], 0.0)
    with pytest.raises(DataError, match="at least one"):
        chosen_hold(task, weights, x[:0], y[:0], rng=derive(0, "none"))


def slowly(task, weights, x, y, hold):
    """Return the weights after plain proximal steps."""
    task.model.eval()
    moved = {name: value.clone() for name, value in weights.items()}
    for _ in range(N_STEPS):
        live = {name: moved[name].detach().requires_grad_() for name in task.trainable}
        loss = functional.cross_entropy(task.scores(x, moved | live), y)
        for name, slope in zip(live, torch.autograd.grad(loss, list(live.values())), strict=True):
            pulled = moved[name] - LR * slope + LR * hold * weights[name]
            moved[name] = pulled / (1 + LR * hold)
    return moved


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("hold", [0.0, 0.3, 10.0])
@pytest.mark.parametrize("frozen", ["", "1.bias", "1.weight", "3.weight"])
@pytest.mark.parametrize("n", [7, 60])
def test_steps_on_outputs_of_the_first_layer_are_steps_on_its_weights(n, frozen, hold, dtype):
    rng = derive_torch(3, "outputs")
    model = nn.Sequential(nn.Flatten(), nn.Linear(40, 8), nn.ReLU(), nn.Linear(8, 3)).double()
    names = [name for name, _ in model.named_parameters() if name != frozen]
    task = Task(model, names)
    x, y = torch.randn(n, 8, 5, generator=rng), torch.randint(3, (n,), generator=rng)
    weights = {name: torch.randn(v.shape, generator=rng) / 4 for name, v in task.weights().items()}
    expected = slowly(task, {k: v.double() for k, v in weights.items()}, x.double(), y, hold)
    task.model.to(dtype)
    given = {name: value.to(dtype) for name, value in weights.items()}
    found = server_step(task, given, x.to(dtype), y, hold)
    assert found.keys() == expected.keys()
    atol = 1e-12 if dtype == torch.float64 else 1e-6
    for name, value in found.items():
        assert value.dtype == dtype and not value.requires_grad
        torch.testing.assert_close(value.double(), expected[name], atol=atol, rtol=0)
    if frozen:
        assert torch.equal(found[frozen], given[frozen])


def test_outputs_are_used_where_samples_are_fewer_than_inputs(monkeypatch):
    calls = []
    by_outputs = module._moved_by_outputs
    monkeypatch.setattr(
        module, "_moved_by_outputs", lambda *args: calls.append(1) or by_outputs(*args)
    )
    task = Task(nn.Sequential(nn.Linear(5, 2)))
    for n in (5, 6):
        server_step(task, task.weights(), torch.ones(n, 5), torch.ones(n).long(), 0.1)
    assert len(calls) == 1
