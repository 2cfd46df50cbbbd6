"""KLIEP against a general solver, by its conditions of optimality, and on known ratios."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, nnls

from firecv.errors import DataError, FirecvNotice, ModelError, NumericalError
from firecv.ratios import kernels, kliep
from firecv.ratios.kliep import KLIEP, cross_validate, maximise, nonnegative_minimum
from firecv.seeding import derive


def gaussians(n, m, seed=0, d=5):
    """Return N(0, I), N(0.7 e_1, I), and the true ratio at the former."""
    rng = derive(seed, "gaussians")
    train, target = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    target[:, 0] += 0.7
    return train, target, np.exp(0.7 * train[:, 0] - 0.245)


def general_maximum(values):
    """Return the maximum of mean log(values @ shares) over the simplex, by SLSQP."""
    b = values.shape[1]
    found = minimize(
        lambda s: -np.log(values @ s).mean(),
        np.full(b, 1 / b),
        jac=lambda s: -(values / (values @ s)[:, None]).mean(0),
        bounds=[(0, 1)] * b,
        constraints={"type": "eq", "fun": lambda s: s.sum() - 1, "jac": lambda s: np.ones(b)},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return -found.fun


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("spread", [0.3, 3.0])
def test_the_maximum_is_that_of_a_general_solver(seed, spread):
    rng = derive(seed, "components")
    values = np.exp(spread * rng.normal(size=(60, 12)))
    found = maximise([[values]], np.ones(12), np.ones(12, bool), 1e-10)
    assert found.objective == pytest.approx(general_maximum(values), abs=1e-7)
    assert found.shares.sum() == pytest.approx(1)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.integers(1, 25), st.floats(0.01, 6), st.integers(0, 10**6))
def test_the_gradient_proves_the_maximum(n_rows, b, spread, seed):
    values = np.exp(spread * derive(seed, "components").normal(size=(n_rows, b)))
    found = maximise([[values]], np.ones(b), np.ones(b, bool), 1e-8)
    gradient = (values / (values @ found.shares)[:, None]).mean(0)
    assert (found.shares >= 0).all()
    assert gradient.max() <= 1 + 2e-8
    np.testing.assert_allclose(gradient[found.shares > 1e-4], 1, atol=1e-3)
    assert found.gap <= 1e-8


def test_equal_components_share_without_trouble():
    values = np.repeat(derive(0, "components").random((30, 3)) + 0.1, 4, axis=1)
    found = maximise([[values]], np.ones(12), np.ones(12, bool), 1e-9)
    alone = maximise([[values[:, ::4]]], np.ones(3), np.ones(3, bool), 1e-9)
    assert found.objective == pytest.approx(alone.objective, abs=1e-8)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 15), st.integers(0, 10**6), st.booleans())
def test_the_quadratic_program_is_that_of_nonnegative_least_squares(size, seed, is_cold):
    rng = derive(seed, "program")
    factor, right = rng.normal(size=(size + 5, size)), rng.normal(size=size + 5)
    start = np.zeros(size) if is_cold else rng.random(size)
    found = nonnegative_minimum(factor.T @ factor, factor.T @ right, start, 1e-12)
    np.testing.assert_allclose(found, nnls(factor, right)[0], atol=1e-7)


def test_components_that_are_not_usable_get_no_share():
    values = derive(0, "components").random((30, 6)) + 0.05
    usable = np.array([True, False, True, True, False, True])
    found = maximise([[values]], np.ones(6) * usable, usable, 1e-10)
    alone = maximise([[values[:, usable]]], np.ones(4), np.ones(4, bool), 1e-10)
    np.testing.assert_allclose(found.shares[usable], alone.shares, atol=1e-6)
    assert not found.shares[~usable].any()


def test_the_score_is_the_mean_log_on_held_out_rows_without_their_own_kernels():
    rng = derive(0, "folds")
    parts = [[rng.random((10, 5)) + 0.05] for _ in range(3)]
    own = [np.array(columns, bool) for columns in ([1, 0, 0, 0, 0], [0, 1, 1, 0, 0], [0] * 5)]
    _, score = cross_validate(parts, own, 1e-10)
    logs = []
    for fold in range(3):
        kept = ~own[fold]
        rest = np.concatenate([parts[i][0] for i in range(3) if i != fold])[:, kept]
        size = kept.sum()
        shares = maximise([[rest]], np.ones(size), np.ones(size, bool), 1e-10).shares
        logs.append(np.log(parts[fold][0][:, kept] @ shares))
    assert score == pytest.approx(np.concatenate(logs).mean(), abs=1e-6)


def test_rows_reached_by_kernels_of_the_held_out_fold_alone_do_not_stop_the_others():
    parts = [[np.array([[1.0, 0.2]])], [np.array([[0.1, 1.0]])]]
    whole, score = cross_validate(parts, [np.array([True, False]), np.array([False, True])], 1e-9)
    assert score == pytest.approx((np.log(0.2) + np.log(0.1)) / 2)
    assert whole.objective > score


def test_few_rows_do_not_make_kernels_as_narrow_as_they_can_be():
    found = [KLIEP(random_state=seed).fit(*gaussians(200, 200, seed)[:2]) for seed in range(6)]
    assert np.mean([ratio.width_ / ratio.basis_.unit > 0.25 for ratio in found]) > 0.5
    assert np.median([ratio.objective_ for ratio in found]) < 0.45  # KL is 0.245


@pytest.mark.parametrize("seed", range(3))
def test_a_shift_of_gaussians_is_recovered(seed):
    train, target, truth = gaussians(1000, 1000, seed)
    ratio = KLIEP(widths=[0.5, 1.0], random_state=seed).fit(train, target)
    weights = ratio.weights(train)
    assert np.mean((weights - truth) ** 2) / truth.var() < 0.65
    assert weights.mean() == pytest.approx(1, abs=1e-10)
    assert ratio.objective_ == pytest.approx(np.log(ratio.weights(target)).mean(), abs=1e-10)
    assert ratio.gap_ <= 1e-8
    assert np.average(train[:, 0], weights=weights) == pytest.approx(target[:, 0].mean(), abs=0.2)


def test_a_narrow_target_within_a_wide_train_has_its_peak_of_4():
    found = []
    for seed in range(5):  # one draw of 2,000 rows leaves the peak a deviation of 0.4
        rng = derive(seed, "narrow")
        train, target = rng.normal(1, 1 / 2, (2000, 1)), rng.normal(1, 1 / 8, (2000, 1))
        ratio = KLIEP(random_state=seed).fit(train, target)
        truth = 4 * np.exp(-30 * (train[:, 0] - 1) ** 2)
        assert np.mean((ratio.weights(train) - truth) ** 2) / truth.var() < 0.06
        found.append((ratio.weights([[1.0]])[0], ratio.objective_))
    peak, divergence = np.mean(found, axis=0)
    assert peak == pytest.approx(4, abs=0.5)
    # KL(N(1, 1/8) || N(1, 1/2)) = log 4 + 1/32 - 1/2
    assert divergence == pytest.approx(np.log(4) + 1 / 32 - 0.5, abs=0.06)


def test_kept_and_recomputed_kernels_give_the_same(monkeypatch):
    train, target, _ = gaussians(120, 90)
    kept = KLIEP(n_centres=20).fit(train, target)
    monkeypatch.setattr(kliep, "KEPT", 0)
    monkeypatch.setattr(kernels, "BLOCK", 1)
    anew = KLIEP(n_centres=20).fit(train, target)
    np.testing.assert_allclose(anew.scores_, kept.scores_, atol=1e-7)
    np.testing.assert_allclose(anew.weights(train), kept.weights(train), atol=1e-4)


def test_the_width_with_the_highest_score_is_taken():
    train, target, _ = gaussians(200, 150)
    ratio = KLIEP(n_centres=20).fit(train, target)
    assert ratio.scores_.shape == (5,)
    assert ratio.width_ == ratio.widths[ratio.scores_.argmax()] * ratio.basis_.unit


@pytest.mark.parametrize("unit", [1e-5, 1e5])
def test_units_and_the_order_of_columns_do_not_matter(unit):
    train, target, _ = gaussians(120, 90)
    turned = [4, 2, 0, 1, 3]
    expected = KLIEP(n_centres=30).fit(train, target).weights(train)
    moved = [unit * x[:, turned] for x in (train, target)]
    found = KLIEP(n_centres=30).fit(*moved).weights(moved[0])
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_identical_samples_have_weights_of_about_1():
    train, _, _ = gaussians(400, 2)
    ratio = KLIEP(widths=[1.0, 2.0]).fit(train, train)
    assert ratio.objective_ < 0.03
    assert ratio.weights(train).std() < 0.3


def test_a_target_out_of_reach_of_all_kernels_is_an_error():
    rng = derive(0, "outside")
    train = rng.normal(size=(500, 1))
    with pytest.raises(DataError, match="outside the support"):
        KLIEP().fit(train, rng.normal(1000, 1, (500, 1)))
    with pytest.raises(NumericalError, match="no ratio with mean 1 over train"):
        KLIEP(widths=[0.25], standardise=False).fit(train, rng.normal(30, 3, (30, 1)))


def test_stopping_early_is_said(monkeypatch):
    monkeypatch.setattr(kliep, "MOST_STEPS", 1)
    train, target, _ = gaussians(100, 100)
    with pytest.warns(FirecvNotice, match="short of its maximum"):
        KLIEP(widths=[0.5]).fit(train, target)


@pytest.mark.parametrize("tolerance", [0.0, -1.0, 1e-15, np.nan], ids=repr)
def test_a_tolerance_that_rounding_cannot_reach_is_an_error(tolerance):
    train, target, _ = gaussians(20, 20)
    with pytest.raises(ModelError, match="tolerance is"):
        KLIEP(tolerance=tolerance).fit(train, target)


def test_folds_need_target_rows():
    train, target, _ = gaussians(20, 4)
    with pytest.raises(DataError, match="4 rows make no 5 folds"):
        KLIEP().fit(train, target)
