"""The convergence theorem in exact expectation, and how it fails with the batch's own Fisher."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, target
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from firecv.errors import DataError
from firecv.fisher.theory import Quadratic, batch_bias, convergence_sides
from firecv.seeding import derive

SKEWED = Quadratic(np.eye(1), np.zeros(1), np.array([[2.0], [-1.0], [-1.0]]))
"""Starts where the loss is lowest; only the noise moves it."""


def every_sequence(n_atoms: int, n_steps: int) -> np.ndarray:
    return np.array(list(itertools.product(range(n_atoms), repeat=n_steps)))


@st.composite
def quadratics(draw: st.DrawFn) -> Quadratic:
    n, n_atoms = draw(st.integers(1, 3)), draw(st.integers(2, 3))

    def numbers(*shape: int) -> np.ndarray:
        return draw(arrays(float, shape, elements=st.floats(-3, 3)))

    root, noise = numbers(n, n), numbers(n_atoms, n)
    return Quadratic(root @ root.T + 0.01 * np.eye(n), numbers(n), noise - noise.mean(0))


@settings(max_examples=200, deadline=None)
@given(
    quadratics(),
    st.floats(0, 5),
    st.floats(0, 0.95),
    st.floats(0.01, 1),
    st.integers(1, 5),
    st.booleans(),
)
def test_the_theorem_holds_if_the_average_stops_at_the_previous_batch(
    problem: Quadratic, strength, decay, step_rate, n_steps, longer
) -> None:
    if longer:  # 1 / (L (1 + lambda G)) is enough: one power of the factor is not needed
        step_rate *= 1 + strength * np.square(problem.noise).sum(1).max()
    sides = convergence_sides(
        problem,
        every_sequence(len(problem.noise), n_steps),
        strength=strength,
        decay=decay,
        step_rate=step_rate,
        own_batch=False,
    )
    if sides.right > 1e-6:
        target(sides.left / sides.right)
    assert sides.left <= sides.right * (1 + 1e-9) + 1e-12
    assert sides.preconditioned_left <= sides.preconditioned_right * (1 + 1e-9) + 1e-12


def test_without_strength_both_readings_are_plain_gradient_descent() -> None:
    problem = Quadratic(np.diag([1.0, 3.0]), np.array([1.0, -2.0]), np.array([[1.0, 0], [-1.0, 0]]))
    draws = every_sequence(2, 3)
    own, previous = (
        convergence_sides(problem, draws, strength=0.0, decay=0.5, own_batch=b)
        for b in (True, False)
    )
    theta = np.tile(problem.start, (8, 1))
    total = 0.0
    for column in draws.T:
        gradient = theta @ problem.curvature
        total += np.square(gradient).sum(1).mean()
        theta = theta - (gradient + problem.noise[column]) / 3
    assert own == previous
    assert own.left == own.preconditioned_left == pytest.approx(total / 3)
    assert own.right == pytest.approx(13 / (3 / 3) + 1)  # 2 * 6.5 / (eta T) + eta L sigma^2


def test_one_preconditioned_step_by_hand() -> None:
    problem = Quadratic(np.eye(1), np.ones(1), np.array([[1.0], [-1.0]]))
    draws = np.array([[0, 0], [1, 0]])  # only the first draw matters for two gradients
    sides = convergence_sides(problem, draws, strength=1.0, decay=0.5, own_batch=True)
    # step 1/4, preconditioner 1.5: theta = 1 - 1.5/4 * 2 or 1 - 0
    assert sides.left == pytest.approx((1 + (0.25**2 + 1) / 2) / 2)


@pytest.mark.parametrize(
    ("decay", "step_rate", "n_steps"),
    [(0.0, 0.02, 3000), (0.5, 0.004, 10_000), (0.9, 5e-4, 50_000)],
)
def test_with_its_own_batch_algorithm_1_leaves_the_optimum(decay, step_rate, n_steps) -> None:
    draws = derive(0, "draws").integers(3, size=(4, n_steps))
    own, previous = (
        convergence_sides(
            SKEWED, draws, strength=1.0, decay=decay, step_rate=step_rate, own_batch=own_batch
        )
        for own_batch in (True, False)
    )
    assert own.left > 2 * own.right
    assert previous.left <= previous.right


def test_the_failure_is_exact_and_does_not_go_away_with_smaller_steps() -> None:
    # decay 0: E theta <- (1 - eta (1 + lambda E e^2)) E theta - eta lambda E e^3, whose limit is
    # -2/3, and the left side is at least the mean of (E theta)^2.
    for step in (1e-3, 1e-4):
        mean, total, n_steps = 0.0, 0.0, round(20 / step)
        for _ in range(n_steps):
            total += mean**2
            mean -= step * (3 * mean + 2)
        right = step * 25 * 2
        assert total / n_steps > 8 * right
        assert mean == pytest.approx(-2 / 3)


@settings(max_examples=40, deadline=None)
@given(arrays(float, (3, 2), elements=st.floats(-3, 3)), st.integers(1, 4))
def test_the_bias_equals_the_mean_over_all_batches(gradients, batch_size: int) -> None:
    products, fishers, means = [], [], []
    for batch in itertools.product(gradients, repeat=batch_size):
        rows = np.array(batch)
        fishers.append(rows.T @ rows / batch_size)
        means.append(rows.mean(0))
        products.append(fishers[-1] @ means[-1])
    expected = np.mean(products, 0) - np.mean(fishers, 0) @ np.mean(means, 0)
    np.testing.assert_allclose(batch_bias(gradients, batch_size), expected, atol=1e-12)


def test_the_bias_moves_a_model_that_has_nothing_left_to_learn() -> None:
    gradients = SKEWED.noise
    assert gradients.mean() == 0
    np.testing.assert_allclose(batch_bias(gradients, 1), [2.0])


def test_symmetric_noise_has_no_bias() -> None:
    gradients = np.array([[1.0, 2.0], [-1.0, -2.0], [0.5, -3.0], [-0.5, 3.0]])
    np.testing.assert_allclose(batch_bias(gradients, 1), 0, atol=1e-15)


@pytest.mark.parametrize(
    ("problem", "draws", "message"),
    [
        (SKEWED._replace(curvature=np.eye(2)), np.zeros((1, 1), int), "for 1 parameters"),
        (SKEWED._replace(noise=np.ones((2, 1))), np.zeros((1, 1), int), "subtract it"),
        (SKEWED, np.zeros((0, 3), int), "n_runs, n_steps"),
    ],
)
def test_bad_problems_are_refused(problem, draws, message: str) -> None:
    with pytest.raises(DataError, match=message):
        convergence_sides(problem, draws, strength=1.0, decay=0.5, own_batch=True)


def test_an_empty_batch_is_refused() -> None:
    with pytest.raises(DataError, match="batch_size=0"):
        batch_bias(np.ones((2, 1)), 0)


def test_the_rate_follows_from_the_bound() -> None:
    # Both terms at eta = 1 / ((1 + lambda G) L sqrt(T)) fall as 1 / sqrt(T).
    def right(n_steps: int, growth: float = 3.0, gap: float = 2.0, variance: float = 1.5) -> float:
        step = 1 / (growth * math.sqrt(n_steps))
        return 2 * gap / (step * n_steps) + step * growth**2 * variance

    assert right(400) / right(100) == pytest.approx(0.5)
