import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firecv.fire.weigh.simplex import minimize_on_simplex


@given(st.lists(st.floats(0.05, 1.0), min_size=2, max_size=8))
def test_a_quadratic_inside_the_simplex_is_minimized(raw: list[float]) -> None:
    target = np.array(raw) / sum(raw)
    result = minimize_on_simplex(
        lambda w: (float(((w - target) ** 2).sum()), 2 * (w - target)),
        np.full(len(raw), 1 / len(raw)),
        n_rounds=300,
        still=1e-9,
    )
    np.testing.assert_allclose(result.weights, target, atol=5e-3)
    assert result.weights.sum() == pytest.approx(1.0)


def test_a_linear_objective_goes_to_its_best_corner() -> None:
    slope = np.array([0.0, 3.0, 5.0])
    result = minimize_on_simplex(lambda w: (float(w @ slope), slope), np.full(3, 1 / 3), 40)
    assert result.weights[0] > 0.999


def test_weights_stay_positive_and_a_step_that_does_not_help_is_taken_back() -> None:
    values = iter([3.0, 1.0, 2.0, 0.5])
    seen: list[np.ndarray] = []

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        seen.append(w)
        return next(values), np.array([0.2, -0.2])

    result = minimize_on_simplex(objective, np.array([0.5, 0.5]), n_rounds=4)
    assert result.value == 0.5
    np.testing.assert_array_equal(result.weights, seen[3])
    assert result.path == (3.0, 1.0, 2.0, 0.5)
    assert seen[1][0] < seen[0][0]
    assert seen[2][0] < seen[3][0] < seen[1][0]  # half of the step from the second round's weights
    assert all((w > 0).all() for w in seen)


def test_a_wild_derivative_moves_a_weight_by_a_factor_of_e_at_most() -> None:
    values = iter([2.0, 1.0])
    result = minimize_on_simplex(
        lambda w: (next(values), np.array([1e300, -1e300])), np.array([0.5, 0.5]), n_rounds=2
    )
    assert result.weights[1] / result.weights[0] == pytest.approx(np.exp(2))


def test_equal_derivatives_move_nothing_and_end_the_search() -> None:
    result = minimize_on_simplex(lambda w: (1.0, np.full(3, 7.0)), np.array([0.2, 0.3, 0.5]), 50)
    np.testing.assert_array_equal(result.weights, [0.2, 0.3, 0.5])
    assert len(result.path) == 1
