"""The theorem on small problems: where it holds, where it fails, and what holds instead."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, target
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.polynomial import Polynomial

from firecv.errors import DataError
from firecv.fisher.theory import (
    Constants,
    deviation,
    kl,
    linear_constants,
    printed_bound,
    proven_bound,
)

MOST_SKEWED = (3 - math.sqrt(3)) / 6


def softmax(scores: np.ndarray) -> np.ndarray:
    p = np.exp(scores - scores.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


def joint_kl(p, q, x, theta_i, theta_val) -> float:
    """Return KL of the laws of (x, y): x from p or q, y from a linear classifier."""
    first = (p[:, None] * softmax(x @ theta_i.T)).ravel()
    second = (q[:, None] * softmax(x @ theta_val.T)).ravel()
    return kl(first, second)


def quadratic(q, x, theta_i, theta_val) -> float:
    """Return 1/2 d' F_val(theta_val) d, as the mean variance of the change of scores."""
    probabilities, change = softmax(x @ theta_val.T), x @ (theta_i - theta_val).T
    mean = (probabilities * change).sum(1)
    return float(q @ ((probabilities * change**2).sum(1) - mean**2)) / 2


@st.composite
def problems(draw: st.DrawFn):
    """Return two laws, their points, and two weights of a linear classifier."""
    n, n_classes = draw(st.integers(2, 5)), draw(st.integers(2, 4))

    def numbers(*shape: int, size: float = 1.0) -> np.ndarray:
        return draw(arrays(float, shape, elements=st.floats(-size, size)))

    p, q = softmax(numbers(n, size=2)), softmax(numbers(n, size=2))
    x, theta = numbers(n, 2, size=3), numbers(n_classes, 2, size=3)
    return p, q, x, theta + draw(st.floats(0.01, 1)) * numbers(n_classes, 2), theta


@settings(max_examples=200, deadline=None)
@given(problems())
def test_the_proven_bound_holds_for_linear_classifiers(problem) -> None:
    p, q, x, theta_i, theta_val = problem
    constants = linear_constants(float(np.linalg.norm(x, axis=1).max()))
    distance = float(np.linalg.norm(theta_i - theta_val))
    excess = joint_kl(*problem) - quadratic(*problem[1:])
    terms = proven_bound(deviation(p, q), distance, constants, linear=True)
    if terms.total > 1e-6:
        target(excess / terms.total)
    assert excess <= terms.total + 1e-12
    assert terms.cubic <= proven_bound(0.0, distance, constants).cubic + 1e-15


@settings(max_examples=200, deadline=None)
@given(problems(), st.floats(1, 3))
def test_the_printed_bound_holds_for_linear_classifiers_with_scores_above_two(problem, grow):
    p, q, x, theta_i, theta_val = problem
    largest = np.linalg.norm(x, axis=1).max()
    if largest < 1e-6:
        return
    x = x * grow * math.sqrt(2) / largest
    constants = linear_constants(float(np.linalg.norm(x, axis=1).max()))
    assert constants.score >= 2 - 1e-9
    distance = float(np.linalg.norm(theta_i - theta_val))
    excess = joint_kl(p, q, x, theta_i, theta_val) - quadratic(q, x, theta_i, theta_val)
    assert excess <= printed_bound(deviation(p, q), distance, constants).total + 1e-12


@pytest.mark.parametrize("score", [1.0, 1.5, 1.9])
def test_the_printed_bound_fails_because_moving_the_fisher_is_not_paid_for(score: float) -> None:
    # The printed local lemma holds here (G >= 1) and the laws of x are equal (gamma = 0).
    norm, distance = score / math.sqrt(2), 0.02
    x, one = np.array([[norm]]), np.ones(1)
    theta_val = np.array([[math.log(MOST_SKEWED / (1 - MOST_SKEWED)) / norm], [0.0]])
    theta_i = theta_val + distance / math.sqrt(2) * np.array([[1.0], [-1.0]])
    excess = joint_kl(one, one, x, theta_i, theta_val) - quadratic(one, x, theta_i, theta_val)
    constants = linear_constants(norm)
    assert constants.score == pytest.approx(score)
    assert excess > 1.04 * printed_bound(0.0, distance, constants).total
    enough = proven_bound(0.0, distance, constants, linear=True).total
    assert 0.99 * enough < excess <= enough


def path(logit: Polynomial, length: float):
    """Return excess and constants on a segment of a coin with this logit, theta_val = 0."""
    t = np.linspace(0, length, 4001)
    z, first, second, third = (logit.deriv(k)(t) if k else logit(t) for k in range(4))
    s = 1 / (1 + np.exp(-z))
    spread = s * (1 - s)
    shared = spread * (1 - 2 * s) * first**3 + 3 * spread * first * second
    thirds = np.abs([(1 - s) * third - shared, -s * third - shared])
    scores = np.abs([(1 - s) * first, -s * first])
    constants = Constants(scores.max(), (spread * first**2).max(), thirds.max())
    ends = np.array([[1 - s[-1], s[-1]], [1 - s[0], s[0]]])
    return kl(*ends) - (spread * first**2)[0] * length**2 / 2, constants


@pytest.mark.parametrize("score", [0.5, 2.0, 10.0, 50.0])
def test_with_constants_of_the_segment_the_printed_bound_fails_at_every_score(score) -> None:
    # The second derivative of the logit cancels the third derivative of log p at the start.
    s, slope = 0.2, score / 0.8
    logit = Polynomial([math.log(s / (1 - s)), slope, -(slope**2) * (1 - 2 * s) / 6])
    distance = 0.02 / max(score, 1) ** 2
    excess, constants = path(logit, distance)
    assert constants.score == pytest.approx(score, rel=0.05)
    assert excess > 2 * printed_bound(0.0, distance, constants).total
    assert excess <= proven_bound(0.0, distance, constants).total


@settings(max_examples=200, deadline=None)
@given(arrays(float, 5, elements=st.floats(-3, 3)), st.floats(0.01, 2))
def test_the_proven_bound_holds_for_curved_models(coefficients, distance: float) -> None:
    excess, constants = path(Polynomial(coefficients), distance)
    total = proven_bound(0.0, distance, constants).total
    if total > 1e-6:
        target(excess / total)
    assert excess <= total * (1 + 1e-4) + 1e-13


@settings(max_examples=150, deadline=None)
@given(
    arrays(float, 6, elements=st.floats(-4, 4)),
    arrays(float, 6, elements=st.floats(-4, 4)),
    arrays(float, 6, elements=st.floats(0, 1)),
)
def test_half_of_the_mixed_constant_is_enough(first, second, fishers) -> None:
    p, q = softmax(first), softmax(second)
    shift = (p - q) @ fishers  # (I) of the proof for one direction, with M = 1
    terms = proven_bound(deviation(p, q), 1.0, Constants(1.0, 1.0, 1.0))
    assert shift / 2 <= terms.mixed + 1e-12
    assert terms.mixed <= printed_bound(deviation(p, q), 1.0, Constants(1.0, 1.0, 1.0)).mixed / 2


def test_the_mixed_constant_is_attained() -> None:
    p, q, fishers = np.array([0.75, 0.25]), np.array([0.5, 0.5]), np.array([1.0, 0.0])
    terms = proven_bound(deviation(p, q), 1.0, Constants(1.0, 1.0, 1.0))
    assert (p - q) @ fishers / 2 == terms.mixed


def test_the_fisher_quadratic_does_not_see_a_shift_of_the_inputs() -> None:
    p, q, x = np.array([0.75, 0.25]), np.array([0.5, 0.5]), np.array([[1.0], [-1.0]])
    theta = np.array([[1.0], [0.0]])  # the same p(y|x) on both sides: covariate shift
    assert quadratic(q, x, theta, theta) == 0
    assert joint_kl(p, q, x, theta, theta) == pytest.approx(kl(p, q))
    assert kl(p, q) > 0.13


@settings(max_examples=200, deadline=None)
@given(problems(), st.integers(0, 2**32 - 1))
def test_changing_the_measure_costs_at_most_gamma_plus_score_times_distance(problem, seed) -> None:
    p, q, x, theta_i, theta_val = problem
    g = np.random.default_rng(seed).uniform(-1, 1, (len(x), len(theta_i)))  # bounded by L = 1
    first = p @ (softmax(x @ theta_i.T) * g).sum(1)
    second = q @ (softmax(x @ theta_val.T) * g).sum(1)
    score = linear_constants(float(np.linalg.norm(x, axis=1).max())).score
    distance = float(np.linalg.norm(theta_i - theta_val))
    assert abs(first - second) <= deviation(p, q) + score * distance + 1e-12


def score_at_other_weights(p, x, theta_i, theta_val) -> float:
    """Return the norm of E over (x, y) at theta_i of the score at theta_val."""
    apart = softmax(x @ theta_i.T) - softmax(x @ theta_val.T)
    return float(np.linalg.norm((p[:, None] * apart).T @ x))


def test_the_gradient_lemma_takes_the_constant_of_the_hessian_for_that_of_the_gradient() -> None:
    x, one, theta_val = np.array([[1.0]]), np.ones(1), np.zeros((2, 1))
    theta_i = 0.1 / math.sqrt(2) * np.array([[1.0], [-1.0]])
    assert (
        score_at_other_weights(one, x, theta_i, theta_val) > 1.8 * linear_constants(1.0).beta * 0.1
    )


@settings(max_examples=150, deadline=None)
@given(problems())
def test_the_gradient_lemma_holds_with_a_constant_of_the_gradient(problem) -> None:
    p, _, x, theta_i, theta_val = problem
    score, _, beta = linear_constants(float(np.linalg.norm(x, axis=1).max()))
    distance = float(np.linalg.norm(theta_i - theta_val))
    smooth = min(score**2, math.sqrt(2 * score * beta))  # the latter by Landau's inequality
    assert score_at_other_weights(p, x, theta_i, theta_val) <= smooth * distance + 1e-12


def test_terms_by_hand_and_beyond_gamma_one() -> None:
    constants = Constants(score=2.0, fisher=4.0, beta=3.0)
    printed = printed_bound(0.5, 0.5, constants)
    assert printed == pytest.approx((0.25, 1 / 6, 0.25, 0.125))
    assert printed.total == pytest.approx(0.25 + 1 / 6 + 0.375)
    assert printed_bound(1.0, 0.5, constants).total == math.inf
    beyond = proven_bound(3.0, 0.5, constants)
    assert beyond.gamma_squared + beyond.gamma_cubed == pytest.approx(math.log(4))
    assert beyond.mixed == pytest.approx(4 / 2 * 0.75 * 0.25)


@pytest.mark.parametrize("bound", [printed_bound, proven_bound])
def test_negative_numbers_are_refused(bound) -> None:
    for gamma, distance in ((-1.0, 1.0), (0.5, -1.0)):
        with pytest.raises(DataError, match="not negative"):
            bound(gamma, distance, Constants(1.0, 1.0, 1.0))
