import numpy as np
import pytest

from firecv.diagnose.auc import mean_auc
from firecv.diagnose.classifier import Pair, chosen, cross_fit, fitted
from firecv.seeding import derive


def normal_pair(n, m, mean, seed=0):
    rng = derive(seed, "classifier")
    return Pair.of(rng.normal(size=(n, len(mean))) + mean, rng.normal(size=(m, len(mean))))


@pytest.mark.parametrize(("n", "m"), [(2000, 2000), (4000, 500), (500, 4000)])
def test_log_ratios_of_normal_laws_are_recovered_whatever_the_sizes(n, m):
    mean = np.array([0.8, -0.4])
    pair = normal_pair(n, m, mean)
    found = cross_fit(pair, "linear", derive(1, "folds")).log_ratio
    truth = pair.rows @ mean - mean @ mean / 2
    assert np.sqrt(np.mean((found - truth) ** 2)) < 0.2


def test_no_row_is_scored_by_a_classifier_that_saw_it():
    pair = normal_pair(40, 30, np.zeros(2))
    found = cross_fit(pair, "linear", derive(0, "folds"))
    np.testing.assert_array_equal(np.sort(np.concatenate(found.folds)), np.arange(70))
    rng = derive(0, "other")
    for held in found.folds:
        kept = np.setdiff1d(np.arange(70), held)
        again = fitted("linear", pair.take(kept), rng).log_ratio(pair.rows[held])
        np.testing.assert_allclose(found.log_ratio[held], again)


@pytest.mark.parametrize(("n", "m"), [(10, 10), (17, 53), (200, 11)])
def test_every_part_has_rows_of_both_samples(n, m):
    pair = normal_pair(n, m, np.zeros(1))
    parts = pair.parts([0.2, 0.4, 0.6, 0.8], derive(0, "parts"))
    for part in parts:
        assert abs(pair.is_fragment[part].sum() - n / 5) <= 1
        assert abs((~pair.is_fragment[part]).sum() - m / 5) <= 1
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(n + m))


def test_trees_are_chosen_for_a_shift_that_is_no_shift_of_means():
    rng = derive(0, "spread")
    pair = Pair.of(rng.normal(0, 2, (300, 3)), rng.normal(0, 1, (300, 3)))
    kind, fits = chosen(pair, rng)
    assert kind == "trees"
    assert mean_auc(fits.log_ratio, pair.is_fragment, fits.folds) > 0.75
    linear = cross_fit(pair, "linear", rng)
    assert mean_auc(linear.log_ratio, pair.is_fragment, linear.folds) < 0.6


@pytest.mark.parametrize(
    ("n", "gap"), [(30, 0.0), (300, 0.0), (300, 1.0)], ids=["small", "none", "means"]
)
def test_linear_is_chosen_otherwise(n, gap):
    pair = normal_pair(n, n, np.full(3, gap))
    assert chosen(pair, derive(0, "choice"))[0] == "linear"


def test_samples_without_a_common_point_have_finite_ratios():
    pair = Pair.of(np.full((20, 1), 1e6) + np.arange(20)[:, None], np.zeros((20, 1)))
    assert np.isfinite(cross_fit(pair, "linear", derive(0, "folds")).log_ratio).all()


def test_constant_columns_are_no_obstacle():
    pair = Pair.of(np.ones((30, 3)), np.ones((30, 3)))
    found = cross_fit(pair, "linear", derive(0, "folds"))
    np.testing.assert_allclose(found.log_ratio, 0, atol=1e-6)
