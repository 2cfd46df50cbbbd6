import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from firecv.errors import FirecvNotice
from firecv.ratios.curvature import DenseCurvature
from firecv.ratios.matching import solve_program
from firecv.seeding import derive
from tests.ratios.problems import gram, missed


def problem(n, m, n_features, shift, seed=0, width=1.5):
    """Return a kernel matrix over n and the linear term, both divided by n."""
    rng = derive(seed, "matching")
    x, target = rng.normal(size=(n, n_features)), rng.normal(shift, 1, size=(m, n_features))
    return gram(x, x, width) / n, gram(x, target, width).mean(1)


def by_scipy(kernel, kappa, bound, slack):
    n = len(kappa)
    found = minimize(
        lambda w: w @ kernel @ w / 2 - kappa @ w,
        np.ones(n),
        jac=lambda w: kernel @ w - kappa,
        bounds=[(0, bound)] * n,
        constraints=[
            {"type": "ineq", "fun": lambda w: w.sum() - n * (1 - slack)},
            {"type": "ineq", "fun": lambda w: n * (1 + slack) - w.sum()},
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    return found.x


@pytest.mark.parametrize("bound", [1.5, 5.0, 1000.0])
@pytest.mark.parametrize("slack", [0.0, 0.05, 0.8])
@pytest.mark.parametrize("shift", [0.3, 3.0])
def test_solution_is_that_of_a_generic_solver(bound, slack, shift):
    kernel, kappa = problem(25, 30, 2, shift)
    kernel += 1e-3 * np.eye(25)
    found = solve_program(DenseCurvature(kernel), kappa, bound=bound, slack=slack, tolerance=1e-9)
    expected = by_scipy(kernel, kappa, bound, slack)
    np.testing.assert_allclose(found.weights, expected, atol=2e-4 * bound**0.5)

    def objective(w):
        return w @ kernel @ w / 2 - kappa @ w

    assert objective(found.weights) <= objective(expected) + 1e-10


@settings(max_examples=60, deadline=None)
@example(12, 1, 1, 0.0, 0.5, 1.01, 0.1, 3)  # a corrector taken in full goes round in circles here
@example(2, 5, 2, 3.7392426579050433, 0.99, 1.01, 1.0, 4)
@example(54, 8, 1, 0.0, 0.0, 1.01, 10.0, 5)  # one weight makes up for what all others miss
@given(
    st.integers(2, 60),
    st.integers(1, 20),
    st.integers(1, 4),
    st.floats(-4, 4),
    st.sampled_from([0.0, 0.01, 0.5, 0.99]),
    st.sampled_from([1.01, 3.0, 1000.0]),
    st.sampled_from([0.1, 1.0, 10.0]),
    st.integers(0, 5),
)
def test_residual_is_met_as_a_projected_step_sees_it(n, m, k, shift, slack, bound, width, seed):
    kernel, kappa = problem(n, m, k, shift, seed, width)
    kernel += 1e-7 * np.eye(n)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = solve_program(
            DenseCurvature(kernel), kappa, bound=bound, slack=slack, tolerance=1e-7
        )
    w = found.weights
    assert found.kkt_residual <= 1e-7
    assert (w >= 0).all() and (w <= bound).all()
    assert abs(w.sum() - n) <= n * slack + 1e-8 * n
    # Every weight may be off by the residual, and the last one, to keep the sum, by that of all.
    assert missed(kernel, kappa, w, bound, slack) <= 2e-7 * n


def test_weights_of_one_are_kept_where_they_solve_it():
    kernel, _ = problem(30, 5, 2, 1.0)
    found = solve_program(
        DenseCurvature(kernel), kernel.sum(1), bound=10.0, slack=0.3, tolerance=1e-9
    )
    assert found.weights.tolist() == [1.0] * 30 and found.n_steps == 0


def test_a_tolerance_below_rounding_is_told_and_the_best_weights_returned():
    kernel, kappa = problem(40, 30, 3, 1.0)
    with pytest.warns(FirecvNotice, match="above the tolerance of 1.0e-30"):
        found = solve_program(
            DenseCurvature(kernel + 1e-6 * np.eye(40)),
            kappa,
            bound=50.0,
            slack=0.5,
            tolerance=1e-30,
        )
    assert found.kkt_residual < 1e-9 and np.isfinite(found.weights).all()
