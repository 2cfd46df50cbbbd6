import math

import pytest
import torch

from firecv.diagnose.bound import hessian_change, kl_bound, marginal_bound, score_norm
from firecv.diagnose.fisher_distance import FisherDistance, Tuned
from firecv.diagnose.network import Network
from firecv.fisher.theory import Constants, linear_constants, printed_bound, proven_bound
from firecv.models import Task, mlp
from firecv.seeding import derive_torch


def test_terms_in_gamma_alone_need_no_labels():
    found = marginal_bound(0.5)
    assert found.printed[:2] == pytest.approx((0.25, 1 / 6))
    assert found.gamma_below_one
    assert all(math.isnan(term) for term in (*found.printed[2:], *found.proven[2:], found.total))


def test_from_one_on_the_printed_bound_is_infinite_and_the_proven_is_not():
    found = marginal_bound(1.0)
    assert not found.gamma_below_one
    assert found.printed.gamma_squared == math.inf
    assert found.proven.gamma_squared + found.proven.gamma_cubed == pytest.approx(math.log(2))


def test_an_unknown_gamma_leaves_all_unknown():
    found = marginal_bound(math.nan)
    assert not found.gamma_below_one
    assert math.isnan(found.printed.total)


def test_the_largest_score_norm_is_that_of_a_loop():
    task = Task(mlp((3,), (4,), 3, derive_torch(0, "weights")))
    x = torch.randn(6, 3, generator=derive_torch(0, "x"))
    expected = 0.0
    for row in x:
        for label in range(3):
            task.model.zero_grad()
            task.loss((row[None], torch.tensor([label]))).backward()
            squares = [p.grad.double().square().sum() for p in task.parameters().values()]
            expected = max(expected, float(torch.stack(squares).sum().sqrt()))
    task.model.zero_grad()
    assert score_norm(task, task.weights(), x) == pytest.approx(expected, rel=1e-5)


def linear():
    task = Task(torch.nn.Linear(1, 2, bias=False).double())
    ends = tuple({"weight": torch.tensor([[w], [-w]], dtype=torch.float64)} for w in (0.0, 1.0))
    data = torch.tensor([[1.0]], dtype=torch.float64), torch.tensor([0])
    return task, ends, data


def test_the_change_of_the_hessian_is_that_of_a_linear_classifier():
    task, ends, data = linear()
    found = hessian_change(task, ends, data, 0)

    def curvature(w):  # of log(1 + exp(-2 w)) along (1, -1) / sqrt(2), times |x|^2
        p = 1 / (1 + math.exp(-2 * w))
        return 2 * p * (1 - p)

    steps = [abs(curvature((k + 1) / 4) - curvature(k / 4)) for k in range(4)]
    assert found == pytest.approx(max(steps) / (math.sqrt(2) / 4), rel=1e-6)
    assert found <= linear_constants(1.0).beta


def test_weights_that_do_not_differ_have_no_change():
    task, (end, _), data = linear()
    assert hessian_change(task, (end, end), data, 0) == 0


def test_all_terms_are_those_of_the_theorem():
    task, (here, there), (x, y) = linear()
    network = Network(task, {}, {}, x, y)
    apart = FisherDistance(q=0.3, delta=0.77, distance=math.sqrt(2))
    found = kl_bound(0.2, apart, Tuned(network, here, {"A": there}), "A", 0)
    constants = Constants(found.score, found.score**2, found.beta)
    assert found.printed == printed_bound(0.2, math.sqrt(2), constants)
    assert found.proven == proven_bound(0.2, math.sqrt(2), constants)
    assert found.total == pytest.approx(0.3 + found.printed.total)
    assert found.score == pytest.approx(math.sqrt(2) * 0.8808, rel=1e-3)  # 1 - p at the far end


def test_without_a_distance_only_gamma_counts():
    network = Network(*[None] * 5)
    found = kl_bound(0.2, FisherDistance(blank="no"), Tuned(network, {}, {}), "A", 0)
    assert found.printed[:2] == marginal_bound(0.2).printed[:2]
    assert math.isnan(found.total)
