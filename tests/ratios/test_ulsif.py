"""uLSIF against brute force, in limits and on problems whose ratio is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from firecv.errors import DataError, ModelError, NumericalError
from firecv.ratios import kernels
from firecv.ratios.kernels import Basis, gaussian
from firecv.ratios.ulsif import ULSIF, loo_scores, moments, select, solve, spectrum
from firecv.seeding import derive

PENALTIES = (1e-3, 0.1, 10.0)


def gaussians(n, m, seed=0, d=5):
    """Return N(0, I), N(0.7 e_1, I), and the true ratio at the former."""
    rng = derive(seed, "gaussians")
    train, target = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    target[:, 0] += 0.7
    return train, target, np.exp(0.7 * train[:, 0] - 0.245)


def nmse(weights, ratio):
    return np.mean((weights * ratio.mean() / weights.mean() - ratio) ** 2) / ratio.var()


def brute_force(phi_train, phi_target, penalty):
    """Return the score of every left-out pair, by solving anew without it."""
    scores = []
    for i in range(min(len(phi_train), len(phi_target))):
        x, y = np.delete(phi_train, i, 0), np.delete(phi_target, i, 0)
        matrix = x.T @ x / len(x) + penalty * np.eye(x.shape[1])
        theta = np.maximum(np.linalg.solve(matrix, y.mean(0)), 0)
        scores.append(0.5 * (phi_train[i] @ theta) ** 2 - phi_target[i] @ theta)
    return np.array(scores)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 20), st.integers(2, 20), st.integers(1, 8), st.integers(0, 10**6))
def test_leave_one_out_equals_brute_force(n, m, b, seed):
    rng = derive(seed, "kernels")
    x, y = rng.random((n, b)), rng.random((m, b))
    s = min(n, m)
    found = loo_scores(x[:s], y[:s], spectrum(x.T @ x / n), y.mean(0), (n, m), PENALTIES)
    expected = np.stack([brute_force(x, y, penalty) for penalty in PENALTIES], axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("n", "m"), [(30, 30), (40, 25), (25, 40)])
def test_selection_scores_equal_brute_force_over_the_pairs(n, m, monkeypatch):
    monkeypatch.setattr(kernels, "BLOCK", 1)  # blocks of 16 rows
    train, target, _ = gaussians(n, m)
    basis = Basis.of(train, target, n_centres=8, standardise=True, seed=3)
    found = select(basis, (train, target), [0.5, 2.0], PENALTIES, 3)
    orders = [
        derive(3, "ratios", "pairs", name).permutation(k)
        for name, k in (("train", n), ("target", m))
    ]
    for row, width in zip(found, [0.5, 2.0], strict=True):
        x, y = (
            gaussian(np.concatenate(list(basis.distances(rows, order))), width)
            for rows, order in zip((train, target), orders, strict=True)
        )
        expected = [brute_force(x, y, penalty).mean() for penalty in PENALTIES]
        np.testing.assert_allclose(row, expected, rtol=1e-8)


def test_coefficients_solve_the_linear_system_and_are_cut_at_0():
    rng = derive(0, "system")
    phi, mean = rng.normal(size=(30, 6)), rng.normal(size=6)
    gram = phi.T @ phi / 30
    for penalty, found in zip(PENALTIES, solve(spectrum(gram), mean, PENALTIES), strict=True):
        expected = np.linalg.solve(gram + penalty * np.eye(6), mean)
        assert (expected < 0).any()
        np.testing.assert_allclose(found, np.maximum(expected, 0), rtol=1e-10)


def test_moments_are_means_of_kernel_values_whatever_the_blocks(monkeypatch):
    train, target, _ = gaussians(50, 40)
    basis = Basis.of(train, target, n_centres=9, standardise=True, seed=0)
    phi = gaussian(np.concatenate(list(basis.distances(train))), 1.5)
    monkeypatch.setattr(kernels, "BLOCK", 1)
    _, found = moments(basis, train, [0.5, 1.5])
    np.testing.assert_allclose(found.gram, phi.T @ phi / 50, rtol=1e-12)
    np.testing.assert_allclose(found.mean, phi.mean(0), rtol=1e-12)


def test_the_candidates_with_the_lowest_score_are_taken():
    train, target, _ = gaussians(200, 150)
    ratio = ULSIF(n_centres=20).fit(train, target)
    at = np.unravel_index(ratio.scores_.argmin(), (5, 5))
    assert ratio.width_ == ratio.widths[at[0]] * ratio.basis_.unit
    assert ratio.penalty_ == ratio.penalties[at[1]]
    assert ratio.centres_.shape == (20, 5) and ratio.coefficients_.shape == (20,)


@pytest.mark.parametrize("seed", range(3))
def test_a_shift_of_gaussians_is_recovered(seed):
    train, target, truth = gaussians(1000, 1000, seed)
    weights = ULSIF(random_state=seed).fit(train, target).weights(train)
    assert nmse(weights, truth) < 0.9
    assert np.corrcoef(weights, truth)[0, 1] > 0.4
    assert weights.mean() == pytest.approx(1, abs=0.25)


def test_the_weighted_mean_of_train_moves_to_that_of_the_target():
    train, target, _ = gaussians(2000, 1500, d=1)
    weights = ULSIF().fit(train, target).weights(train)
    assert weights.mean() == pytest.approx(1, abs=0.1)
    assert np.average(train[:, 0], weights=weights) == pytest.approx(target.mean(), abs=0.1)


def test_a_narrow_target_within_a_wide_train_has_its_peak_of_4():
    peaks = []
    for seed in range(5):  # one draw of 2,000 rows leaves the peak a deviation of 0.4
        rng = derive(seed, "narrow")
        train, target = rng.normal(1, 1 / 2, (2000, 1)), rng.normal(1, 1 / 8, (2000, 1))
        ratio = ULSIF(random_state=seed).fit(train, target)
        truth = 4 * np.exp(-30 * (train[:, 0] - 1) ** 2)
        assert np.mean((ratio.weights(train) - truth) ** 2) / truth.var() < 0.06
        peaks.append(ratio.weights([[1.0]])[0])
    assert np.mean(peaks) == pytest.approx(4, abs=0.5)


def test_identical_samples_have_weights_of_about_1():
    train, _, _ = gaussians(500, 2)
    weights = ULSIF().fit(train, train).weights(train)
    assert weights.mean() == pytest.approx(1, abs=0.1)
    assert weights.std() < 0.35


@pytest.mark.parametrize("standardise", [True, False])
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_of_the_data_do_not_matter(standardise, unit):
    train, target, _ = gaussians(120, 90)
    ratio = ULSIF(standardise=standardise, n_centres=30)
    expected = ratio.fit(train, target).weights(train)
    found = ratio.fit(train * unit + 3 * unit, target * unit + 3 * unit)
    np.testing.assert_allclose(found.weights(train * unit + 3 * unit), expected, rtol=1e-6)


def test_the_order_of_columns_and_of_weighed_rows_does_not_matter():
    train, target, _ = gaussians(120, 90)
    ratio = ULSIF(n_centres=30).fit(train, target)
    expected, turned = ratio.weights(train), [4, 2, 0, 1, 3]
    found = clone(ratio).fit(train[:, turned], target[:, turned]).weights(train[:, turned])
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    np.testing.assert_allclose(ratio.weights(train[::-1]), expected[::-1], rtol=1e-10)


def test_the_order_of_rows_does_not_matter_at_given_candidates():
    train, target, _ = gaussians(120, 60)  # at most 100 centres: all of the target
    ratio = ULSIF(widths=[1.0], penalties=[0.1])
    expected = ratio.fit(train, target).weights(train)
    found = ratio.fit(train[::-1], target[::-1]).weights(train)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_the_same_seed_gives_the_same_weights_and_inputs_stay_unchanged():
    train, target, _ = gaussians(150, 130)
    copies = train.copy(), target.copy()
    first, again, other = (
        ULSIF(n_centres=10, random_state=seed).fit(train, target).weights(train)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    np.testing.assert_array_equal(train, copies[0])
    np.testing.assert_array_equal(target, copies[1])


def test_images_in_single_precision_are_computed_in_double():
    rng = derive(0, "images")
    train, target = (rng.random((60, 784), np.float32) for _ in range(2))
    train[:, :50] = target[:, :50] = 0  # constant pixels
    weights = ULSIF().fit(train, target).weights(train)
    assert weights.dtype == np.float64
    expected = ULSIF().fit(train.astype(np.float64), target.astype(np.float64)).weights(train)
    np.testing.assert_allclose(weights, expected, rtol=1e-9)


def test_many_duplicates_are_no_obstacle():
    train = np.array([[0.0]] * 90 + [[1.0]] * 10)
    target = np.array([[0.0]] * 60 + [[1.0]] * 40)
    weights = ULSIF().fit(train, target).weights([[0.0], [1.0]])
    np.testing.assert_allclose(weights, [0.6 / 0.9, 4.0], rtol=0.25)


def test_two_rows_of_either_sample_are_enough():
    weights = ULSIF().fit([[0.0], [1.0]], [[0.5], [1.0]]).weights([[0.0], [1.0]])
    assert (weights >= 0).all() and np.isfinite(weights).all()


def test_a_target_outside_the_support_of_train_is_an_error():
    rng = derive(0, "outside")
    train = rng.normal(size=(500, 1))
    with pytest.raises(DataError, match="outside the support"):
        ULSIF().fit(train, rng.normal(1000, 1, (500, 1)))
    far = rng.normal(20, 2, (30, 1))
    with pytest.raises(NumericalError, match="outside the support of train"):
        ULSIF(widths=[0.25], standardise=False).fit(train, far)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("n_centres", 0),
        ("widths", ()),
        ("widths", (-1.0,)),
        ("penalties", (0.0,)),
        ("random_state", None),
    ],
)
def test_bad_settings_are_named(setting, value):
    train, target, _ = gaussians(10, 10)
    with pytest.raises(ModelError, match=f"{setting} is"):
        ULSIF(**{setting: value}).fit(train, target)


def test_weights_need_a_fit_and_its_features():
    with pytest.raises(NotFittedError):
        ULSIF().weights([[0.0]])
    train, target, _ = gaussians(20, 20)
    with pytest.raises(DataError, match="1 columns"):
        ULSIF().fit(train, target).weights([[0.0]])
