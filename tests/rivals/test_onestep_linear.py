"""The closed form of One-step: stationary points and limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from firecv.errors import DataError, ModelError
from firecv.ratios.ulsif import ULSIF
from firecv.rivals import OneStepLinear
from firecv.rivals.onestep_linear import alternate, solve_classifier, solve_weights
from firecv.seeding import derive


def case(n=40, b=5, seed=0):
    """Return kernel values, losses and the kernels' mean over V."""
    rng = derive(seed, "case")
    return rng.random((n, b)), rng.random(n), rng.random(b)


def bound_of(beta, kernels, losses, mean, bound, penalty):
    g = kernels @ beta
    first = np.mean(g * losses) ** 2
    return first + bound**2 * (np.mean(g**2) - 2 * mean @ beta) + penalty * beta @ beta


@given(st.integers(0, 999), st.floats(0.1, 10), st.floats(1e-3, 10))
@settings(max_examples=25, deadline=None)
def test_the_weights_are_where_the_bound_is_stationary(seed, bound, penalty):
    kernels, losses, mean = case(seed=seed)
    beta = solve_weights(kernels, losses, mean, bound, penalty)
    gradient = (
        2 * np.mean(kernels @ beta * losses) * kernels.T @ losses / len(losses)
        + 2 * bound**2 * (kernels.T @ kernels @ beta / len(losses) - mean)
        + 2 * penalty * beta
    )
    assert np.abs(gradient).max() < 1e-9 * max(1.0, bound**2)
    least = bound_of(beta, kernels, losses, mean, bound, penalty)
    for move in derive(seed, "moves").normal(size=(10, 5)):
        assert bound_of(beta + 0.1 * move, kernels, losses, mean, bound, penalty) > least


def test_the_classifier_is_weighted_ridge_regression():
    kernels, weights, _ = case()
    targets = derive(0, "targets").normal(size=(40, 3))
    alpha = solve_classifier(kernels, targets, weights, 0.2)

    def loss(a):
        each = np.square(kernels @ a - targets).sum(1)
        return np.mean(weights * each) + 0.2 * np.square(a).sum()

    for move in derive(0, "moves").normal(size=(10, 5, 3)):
        assert loss(alpha + 0.01 * move) > loss(alpha)


def test_a_large_bound_gives_least_squares_ratios_and_weighted_regression():
    kernels, _, mean = case()
    targets, penalty = np.sign(derive(0, "targets").normal(size=(40, 2))), 0.3
    gram = kernels.T @ kernels / 40
    beta = np.linalg.solve(gram + penalty * np.eye(5), mean)
    weights = np.maximum(kernels @ beta, 0)
    alpha = solve_classifier(kernels, targets, weights, 0.1)
    bound = 1e5
    found = alternate(
        kernels,
        targets,
        mean,
        bound=bound,
        weight_penalty=bound**2 * penalty,
        penalty=0.1,
        max_iterations=50,
    )
    np.testing.assert_allclose(found.weight_coefficients, beta, rtol=1e-6)
    np.testing.assert_allclose(found.weights, weights, rtol=1e-6)
    np.testing.assert_allclose(found.coefficients, alpha, rtol=1e-6)


def test_a_small_bound_drives_the_weights_to_zero():
    kernels, losses, mean = case()
    sizes = [
        np.abs(kernels @ solve_weights(kernels, losses, mean, bound, 0.1)).max()
        for bound in (1.0, 0.1, 1e-3)
    ]
    assert sizes[0] > sizes[1] > sizes[2] and sizes[2] < 1e-4


def world(n=200, m=100):
    rng = derive(0, "world")
    x, v = rng.normal(size=(n, 2)), rng.normal(0.7, 0.7, size=(m, 2))
    return x, np.where(x[:, 0] > 0.5, "right", "left"), v


def test_a_large_bound_gives_the_weights_of_ulsif_before_it_cuts_coefficients():
    x, y, v = world()
    model = OneStepLinear(bound=1e4).fit(x, y, v)
    ratio = ULSIF().fit(x, v)
    assert model.width_ == ratio.width_
    phi = model._kernels(x)
    gram = phi.T @ phi / len(x) + ratio.penalty_ * np.eye(phi.shape[1])
    beta = np.linalg.solve(gram, model._kernels(v).mean(0))
    np.testing.assert_allclose(model.weights_, np.maximum(phi @ beta, 0), rtol=1e-4, atol=1e-6)


def test_turns_end_at_a_fixed_point():
    x, y, v = world()
    model = OneStepLinear().fit(x, y, v)
    assert 1 < model.n_iter_ < 50
    phi = model._kernels(x)
    targets = np.where(y[:, None] == model.classes_, 1.0, -1.0)
    losses = 0.5 * np.square(phi @ model.coefficients_ - targets).sum(1)
    ratio = ULSIF().fit(x, v)
    beta = solve_weights(phi, losses, model._kernels(v).mean(0), 1.0, ratio.penalty_)
    np.testing.assert_allclose(beta, model.weight_coefficients_, rtol=1e-5, atol=1e-8)


def test_a_smaller_bound_shuns_losses_more():
    """With the penalty in proportion the bound is A(g) + M^2 B(g): A falls as M does."""
    kernels, losses, mean = case()
    risks = [
        abs(np.mean(kernels @ solve_weights(kernels, losses, mean, m, 0.1 * m**2) * losses))
        for m in (0.1, 0.5, 1.0, 10.0)
    ]
    assert risks == sorted(risks) and risks[-1] > 2 * risks[0]


def test_two_classes_are_told_apart_and_the_same_seed_gives_the_same():
    x, y, v = world()
    model, again = (OneStepLinear(random_state=3).fit(x, y, v) for _ in range(2))
    assert model.score(v, np.where(v[:, 0] > 0.5, "right", "left")) > 0.9
    np.testing.assert_array_equal(model.weights_, again.weights_)
    assert clone(model).get_params() == model.get_params()


def test_three_classes_are_told_apart():
    x, _, v = world()
    y = np.digitize(x[:, 0], [0, 1])
    model = OneStepLinear(penalty=1e-3).fit(x, y, v)
    assert model.coefficients_.shape[1] == 3
    assert model.score(v, np.digitize(v[:, 0], [0, 1])) > 0.85


def test_what_cannot_be_fitted_is_refused():
    x, y, v = world()
    with pytest.raises(DataError, match="two classes"):
        OneStepLinear().fit(x, np.zeros(200), v)
    with pytest.raises(DataError, match="y has shape"):
        OneStepLinear().fit(x, y[:-1], v)
    with pytest.raises(DataError, match="NaN"):
        OneStepLinear().fit(x, y, v * np.nan)
    with pytest.raises(ModelError, match="bound"):
        OneStepLinear(bound=-1).fit(x, y, v)
    with pytest.raises(ModelError, match="max_iterations"):
        OneStepLinear(max_iterations=0).fit(x, y, v)
