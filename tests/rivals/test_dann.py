"""The reversed gradient, its schedule, the domain loss and two steps worked out by autograd."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from firecv.errors import ModelError
from firecv.models import Task, mlp
from firecv.rivals.contract import Target
from firecv.rivals.dann import DANN, domain_loss, reversal, reverse_gradient
from firecv.seeding import derive_torch
from firecv.training import Training
from tests.rivals.shifted_world import trial


def samples(seed, n, width=3, move=0.0):
    return torch.randn(n, width, generator=torch.Generator().manual_seed(seed)).double() + move


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.floats(0, 10))
def test_the_layer_is_the_identity_and_its_derivative_minus_the_factor_times_it(seed, factor):
    x = samples(seed, 2)
    assert torch.equal(reverse_gradient(x, factor), x)
    jacobian = torch.autograd.functional.jacobian(lambda x: reverse_gradient(x, factor), x)
    wanted = -factor * torch.eye(6).double()
    torch.testing.assert_close(jacobian.reshape(6, 6), wanted, rtol=0, atol=0)


def test_the_reversal_rises_from_none_to_nearly_all():
    values = [reversal(p / 100) for p in range(101)]
    assert values[0] == 0 and values == sorted(values) and 0.9999 < values[-1] < 1
    assert values[20] == pytest.approx(2 / (1 + math.exp(-2)) - 1)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 6))
def test_the_domain_loss_counts_both_sides_half_whatever_their_sizes(seed, n, m):
    a, b = 3 * samples(seed, n, 1)[:, 0], 3 * samples(seed + 1, m, 1)[:, 0]
    source = sum(-math.log(1 - 1 / (1 + math.exp(-v))) for v in a.tolist()) / n
    target = sum(-math.log(1 / (1 + math.exp(-v))) for v in b.tolist()) / m
    assert float(domain_loss(a, b)) == pytest.approx((source + target) / 2, rel=1e-9)


@pytest.mark.parametrize("strength", [1.0, 0.4])
def test_two_steps_are_descent_of_the_network_against_and_of_the_head_along_the_domain_loss(
    strength,
):
    x, v, y = samples(0, 12), samples(1, 9, move=1.0), torch.arange(12) % 2
    body, last = nn.Sequential(nn.Linear(3, 4), nn.Tanh()).double(), nn.Linear(4, 2).double()
    model = nn.Sequential(*body, last)
    for param in model.parameters():
        nn.init.uniform_(param, -0.5, 0.5, generator=derive_torch(0, "weights"))
    theta = [p.detach().clone().requires_grad_() for p in model.parameters()]
    head = mlp((4,), (7,), 1, derive_torch(3, "domain head")).double()
    training = Training(2, None, 0.1, "sgd")
    outcome = DANN(strength, hidden=7).fit(Task(model), (x, y), Target(v), training, 3)

    def features(x, w, b):
        return (x @ w.T + b).tanh()

    for step in range(2):
        a, b = features(x, *theta[:2]), features(v, *theta[:2])
        labels = functional.cross_entropy(a @ theta[2].T + theta[3], y)
        domain = domain_loss(head(a)[:, 0], head(b)[:, 0])
        factor = strength * reversal(step / 2)
        of_theta = torch.autograd.grad(
            labels - factor * domain, theta, retain_graph=True, materialize_grads=True
        )
        of_head = torch.autograd.grad(domain, list(head.parameters()))
        with torch.no_grad():
            for p, g in zip((*theta, *head.parameters()), (*of_theta, *of_head), strict=True):
                p -= 0.1 * g
    for ours, wanted in zip(model.parameters(), theta, strict=True):
        torch.testing.assert_close(ours, wanted, rtol=1e-10, atol=1e-12)
    with torch.no_grad():
        right = (head(features(x, *theta[:2])) < 0).double().mean()
        right = right + (head(features(v, *theta[:2])) > 0).double().mean()
    assert outcome.chosen["domain_accuracy"] == pytest.approx(float(right) / 2)


def test_the_head_cannot_tell_domains_of_one_law():
    x, v = samples(0, 600), samples(1, 600)
    task = Task(mlp((3,), (8,), 2, derive_torch(0, "weights")).double())
    data = (x, (x[:, 0] > 0).long())
    outcome = DANN().fit(task, data, Target(v), Training(15, 64, 0.01), 0)
    assert abs(outcome.chosen["domain_accuracy"] - 0.5) < 0.07


def test_the_head_tells_domains_apart_unless_the_network_hides_them():
    training = Training(60, 64, 0.01, "sgd", momentum=0.9)
    shown, hidden = (trial(DANN(s), (0, 8), training, 0)[1].chosen for s in (1e-9, 1.0))
    assert shown["domain_accuracy"] > 0.85 and hidden["domain_accuracy"] < 0.7


def test_strength_zero_trains_no_head():
    x = samples(0, 8)
    task = Task(mlp((3,), (4,), 2, derive_torch(0, "weights")).double())
    outcome = DANN(0.0).fit(task, (x, torch.arange(8) % 2), Target(x), Training(1), 0)
    assert outcome.chosen == {} and outcome.weights is None


def test_a_head_without_units_is_refused():
    with pytest.raises(ModelError, match="hidden is 0"):
        DANN(hidden=0)
