"""The local expansion against loops, its cubic remainder, and where the printed bound fails."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings, target
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize
from torch import nn

from firecv import tree
from firecv.errors import DataError, StructureError
from firecv.fisher.theory import bound_remainder, expand_kl, linear_constants
from firecv.fisher.theory.local import Constants
from firecv.models import Task
from tests import reference
from tests.cases import make_case

MOST_SKEWED = (3 - math.sqrt(3)) / 6
"""The probability at which the third cumulant of a coin is largest."""


def linear_task(weight: np.ndarray) -> Task:
    layer = nn.Linear(weight.shape[1], len(weight), bias=False).double()
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(weight))
    return Task(layer)


def skewed_coin(norm: float, distance: float):
    """Return a linear classifier of one sample where the remainder is largest, and a move."""
    logit = math.log(MOST_SKEWED / (1 - MOST_SKEWED))
    task = linear_task(np.array([[logit / norm], [0.0]]))
    move = {"weight": torch.tensor([[1.0], [-1.0]], dtype=torch.float64) * distance / 2**0.5}
    return task, torch.tensor([[norm]], dtype=torch.float64), move


@pytest.mark.parametrize("name", ["linear", "table", "cnn", "time", "frozen", "batch_norm"])
def test_both_terms_equal_their_definitions(name: str) -> None:
    case = make_case(name)
    rng = torch.Generator().manual_seed(0)
    params = {n: p.detach() for n, p in case.task.parameters().items()}
    move = {n: 0.1 * torch.randn(p.shape, generator=rng).double() for n, p in params.items()}
    found = expand_kl(case.task, [(case.x[:2], case.y[:2]), case.x[2:]], move)
    fisher = reference.dense_fisher(case.task, case.x, case.y, "exact")
    d = reference.flat(move, case.task)
    assert found.quadratic == pytest.approx(float(d @ fisher @ d) / 2, rel=1e-9)
    with torch.no_grad():
        p = case.task.scores(case.x).softmax(1)
        q = case.task.scores(case.x, tree.add(params, move)).softmax(1)
    assert found.kl == pytest.approx(float((p * (p / q).log()).sum(1).mean()), rel=1e-9)
    assert found.remainder == found.kl - found.quadratic


@pytest.mark.parametrize("name", ["table", "cnn", "conv1d", "layer_norm"])
def test_the_remainder_is_of_third_order(name: str) -> None:
    case = make_case(name)
    rng = torch.Generator().manual_seed(1)
    params = {n: p.detach() for n, p in case.task.parameters().items()}
    move = {n: torch.randn(p.shape, generator=rng).double() for n, p in params.items()}
    sizes = [expand_kl(case.task, [case.x], tree.scale(move, h)).remainder for h in (2e-4, 1e-4)]
    assert sizes[0] / sizes[1] == pytest.approx(8, rel=0.05)


@st.composite
def moves(draw: st.DrawFn):
    """Return weights, samples and a move of a linear classifier."""
    n_classes, n_features = draw(st.integers(2, 5)), draw(st.integers(1, 3))

    def numbers(*shape: int) -> np.ndarray:
        return draw(arrays(float, shape, elements=st.floats(-3, 3)))

    weight, x = numbers(n_classes, n_features), numbers(4, n_features)
    return weight, x, draw(st.floats(0.01, 1)) * numbers(n_classes, n_features)


@settings(max_examples=200, deadline=None)
@given(moves())
def test_without_the_factor_the_bound_holds_for_every_linear_classifier(drawn) -> None:
    weight, x, move = drawn
    found = expand_kl(
        linear_task(weight), [torch.from_numpy(x)], {"weight": torch.from_numpy(move)}
    )
    constants = linear_constants(float(np.linalg.norm(x, axis=1).max()))
    bound = bound_remainder(float(np.linalg.norm(move)), constants).proven
    if bound > 1e-9:
        target(abs(found.remainder) / bound)
    assert abs(found.remainder) <= bound + 1e-13


def test_with_the_factor_it_fails_for_scores_below_one() -> None:
    task, x, move = skewed_coin(norm=0.5, distance=0.1)
    constants = linear_constants(0.5)
    assert constants.score < 1
    bounds = bound_remainder(0.1, constants)
    remainder = abs(expand_kl(task, [x], move).remainder)
    assert remainder > 1.4 * bounds.printed
    assert 0.99 * bounds.proven < remainder <= bounds.proven


@pytest.mark.parametrize("unit", [0.1, 1.0, 10.0])
def test_the_unit_of_the_weights_changes_the_printed_bound_and_nothing_else(unit: float) -> None:
    task, x, move = skewed_coin(norm=unit, distance=0.1 / unit)
    bounds = bound_remainder(0.1 / unit, linear_constants(unit))
    same, other = skewed_coin(norm=1.0, distance=0.1), bound_remainder(0.1, linear_constants(1.0))
    assert expand_kl(task, [x], move).remainder == pytest.approx(
        expand_kl(same[0], [same[1]], same[2]).remainder, rel=1e-6
    )
    assert bounds.proven == pytest.approx(other.proven)
    assert bounds.printed == pytest.approx(unit * other.printed)


def test_an_optimiser_reaches_the_proven_bound_and_no_more() -> None:
    x = torch.tensor([[1.0]], dtype=torch.float64)

    def loss(values: np.ndarray) -> float:
        weight, move = values[:3, None], values[3:, None]
        length = np.linalg.norm(move)
        move = move / length * 0.02
        found = expand_kl(linear_task(weight), [x], {"weight": torch.from_numpy(move)})
        return -abs(found.remainder) / bound_remainder(0.02, linear_constants(1.0)).proven

    rng = np.random.default_rng(0)
    best = max(
        -minimize(loss, rng.normal(size=6), method="Nelder-Mead", options={"maxiter": 400}).fun
        for _ in range(3)
    )
    assert 0.97 < best <= 1 + 1e-6


@settings(max_examples=150, deadline=None)
@given(arrays(float, 4, elements=st.floats(-10, 10)), arrays(float, 4, elements=st.floats(-1, 1)))
def test_no_linear_classifier_exceeds_its_constants(logits, direction) -> None:
    length = np.linalg.norm(direction)
    if length < 1e-3:
        return
    s, p = direction / length, np.exp(logits - logits.max())
    p /= p.sum()
    centred = s - p @ s
    constants = linear_constants(1.0)
    assert max(np.linalg.norm(np.eye(4) - p, axis=1)) <= constants.score + 1e-12
    assert p @ centred**2 <= constants.fisher + 1e-12
    assert abs(p @ centred**3) <= constants.beta + 1e-12


def test_the_constants_of_linear_classifiers_are_attained() -> None:
    s = np.array([1.0, -1.0]) / math.sqrt(2)
    for p, power, value in (
        (0.5, 2, linear_constants(1.0).fisher),
        (MOST_SKEWED, 3, linear_constants(1.0).beta),
    ):
        law = np.array([p, 1 - p])
        assert law @ (s - law @ s) ** power == pytest.approx(value)


def test_the_model_stays_as_it_is() -> None:
    case = make_case("dropout")
    case.task.model.train()
    before = case.task.weights()
    expand_kl(case.task, [case.x], tree.zeros_like(case.task.parameters()))
    assert case.task.model.training
    assert all(torch.equal(v, before[n]) for n, v in case.task.weights().items())
    assert all(p.grad is None for p in case.task.parameters().values())


def test_bad_input_is_refused() -> None:
    task = linear_task(np.eye(2))
    with pytest.raises(DataError, match="no sample"):
        expand_kl(task, [], {"weight": torch.zeros(2, 2).double()})
    with pytest.raises(StructureError, match="different names"):
        expand_kl(task, [torch.zeros(1, 2).double()], {"other": torch.zeros(2, 2).double()})
    with pytest.raises(DataError, match="distance is -1"):
        bound_remainder(-1.0, Constants(1.0, 1.0, 1.0))
    with pytest.raises(DataError, match="norm is -1"):
        linear_constants(-1.0)
