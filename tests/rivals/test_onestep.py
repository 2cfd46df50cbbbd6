"""The network of weights that is trained beside the classifier."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from firecv.errors import ModelError
from firecv.models import Task
from firecv.rivals import OneStep, Target
from firecv.rivals.alignment import target_batches
from firecv.rivals.onestep import Weigher, mean_one, squared_bound
from firecv.seeding import derive_torch
from firecv.training import Training
from tests.rivals.problems import image_task, images, table, table_task

SETTINGS = Training(n_epochs=3, batch_size=16, rate=0.01)


@pytest.mark.parametrize("bound", [0.5, 1.0, 3.0])
def test_half_the_squared_risk_is_below_the_bound_on_bounded_losses(bound):
    """Training samples are equally likely points, V repeats them; so the ratio is known."""
    rng = np.random.default_rng(0)
    tightest = np.inf
    for _ in range(300):
        n = 6
        counts = rng.integers(0, 5, n) + (np.arange(n) == 0)
        ratio = torch.from_numpy(n * counts / counts.sum())
        losses = bound * torch.from_numpy(rng.random(n) ** 0.3)
        g = ratio * torch.from_numpy(rng.uniform(0.3, 1.5, n))
        risk = float((ratio * losses).mean())
        of_target = g[torch.from_numpy(np.repeat(np.arange(n), counts))]
        constant = bound**2 * float(ratio.square().mean())
        found = float(squared_bound(g, losses, of_target, bound)) + constant
        assert risk**2 / 2 <= found + 1e-12
        tightest = min(tightest, found / (risk**2 / 2))
    assert tightest < 2  # the bound is not met for being far away


def test_the_bound_is_the_sum_of_its_terms():
    rng = torch.Generator().manual_seed(0)
    g, losses, of_target = (torch.rand(7, generator=rng).double() for _ in range(3))
    plain = sum(float(a * b) for a, b in zip(g, losses, strict=True)) / 7
    error = sum(float(a) ** 2 for a in g) / 7 - 2 * sum(map(float, of_target)) / 7
    assert float(squared_bound(g, losses, of_target, 3.0)) == pytest.approx(plain**2 + 9 * error)


def test_training_is_one_step_of_each_in_turn():
    (x, y), target = table()
    task = table_task()
    OneStep(bound=2.0).fit(task, (x, y), target, SETTINGS, 4)
    plain = table_task()
    weigher = Weigher(plain, derive_torch(4, "weigher"))
    steps = [torch.optim.Adam(m.parameters(), 0.01) for m in (plain.model, weigher)]
    order, drawn = derive_torch(4, "shuffle", 0), derive_torch(4, "target batches")
    drawn = target_batches(target.x, 16, drawn)
    for _ in range(3):
        for rows in torch.randperm(len(x), generator=order).split(16):
            for step in steps:
                step.zero_grad()
            losses = functional.cross_entropy(plain.model(x[rows]), y[rows], reduction="none")
            g, of_target = weigher(x[rows]), weigher(next(drawn))
            bound = (g * losses.detach()).mean() ** 2 + 4 * (
                g.square().mean() - 2 * of_target.mean()
            )
            bound.backward()
            steps[1].step()
            w = weigher(x[rows]).detach()
            (losses * w / w.mean()).mean().backward()
            steps[0].step()
    for name, value in plain.weights().items():
        torch.testing.assert_close(task.weights()[name], value, rtol=1e-4, atol=1e-5)


def test_weights_are_larger_where_v_is():
    rng = torch.Generator().manual_seed(0)
    x, v = torch.randn(400, 1, generator=rng), 1 + 0.5 * torch.randn(200, 1, generator=rng)
    task = Task(nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 2)))
    outcome = OneStep().fit(task, (x, (x[:, 0] > 0).long()), Target(v), Training(30, 32, 0.01), 0)
    inside, below = (x[:, 0] - 1).abs() < 0.5, x[:, 0] < -0.5
    assert outcome.weights[inside].mean() > 4 * outcome.weights[below].mean()
    assert outcome.weights.mean() == pytest.approx(1, abs=1e-5) and (outcome.weights >= 0).all()


def test_weights_stay_near_one_without_a_shift():
    rng = torch.Generator().manual_seed(0)
    x, v = torch.randn(400, 1, generator=rng), torch.randn(400, 1, generator=rng)
    task = Task(nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 2)))
    y = torch.randint(2, (400,), generator=rng)
    outcome = OneStep(bound=10).fit(task, (x, y), Target(v), Training(20, 32, 0.01), 0)
    assert np.abs(outcome.weights - 1).mean() < 0.25


@pytest.mark.parametrize(
    "make",
    [lambda: Task(nn.Linear(2, 2)), table_task, lambda: Task(frozen())],
    ids=["linear", "perceptron", "frozen"],
)
def test_the_network_of_weights_fits_any_model_with_a_head(make):
    (x, _), _ = table()
    found = Weigher(make(), derive_torch(0, "weigher"))(x)
    assert found.shape == (90,) and bool((found > 0).all())
    assert 0.3 < float(found.detach().mean()) < 3


def frozen():
    model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2), nn.LogSoftmax(1))
    model[0].requires_grad_(False)
    return model


def test_the_network_of_weights_is_a_copy():
    task = image_task()
    before = task.weights()
    data, target = images()
    weigher = Weigher(task, derive_torch(0, "weigher"))
    weigher(data[0]).sum().backward()
    assert all(parameter.grad is None for parameter in task.model.parameters())
    with torch.no_grad():
        for parameter in weigher.parameters():
            parameter.zero_()
    assert all(torch.equal(before[name], value) for name, value in task.weights().items())


def test_zero_weights_stay_zero_when_normalised():
    assert mean_one(torch.zeros(3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("bound", [0, -1, float("inf"), float("nan")])
def test_a_bound_that_bounds_nothing_is_refused(bound):
    with pytest.raises(ModelError, match="bound is"):
        OneStep(bound=bound)
