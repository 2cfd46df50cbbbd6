import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom

from firecv.diagnose.fragments import (
    compare,
    fragment_shift,
    quantile_interval,
    too_small,
)
from firecv.seeding import derive


def shift(gap, n=4000, m=4000, seed=0, at_most=20_000):
    rng = derive(seed, "fragments")
    fragment, held = rng.normal(size=(n, 2)) + np.array([gap, 0.0]), rng.normal(size=(m, 2))
    return fragment_shift("A", n, compare("A", fragment, held, seed=seed, at_most=at_most))


@pytest.mark.parametrize("gap", [0.3, 0.8])
def test_two_normal_laws_have_the_numbers_of_the_closed_form(gap):
    found = shift(gap)
    assert found.auc.mean == pytest.approx(ndtr(gap / math.sqrt(2)), abs=0.015)
    assert found.auc.low < ndtr(gap / math.sqrt(2)) < found.auc.high
    assert found.kl.mean == pytest.approx(gap**2 / 2, abs=0.1 * gap)
    z = derive(1, "truth").normal(gap, 1, 10**6)
    gamma = np.quantile(np.abs(np.exp(gap * z - gap**2 / 2) - 1), 0.99)
    assert found.gamma.mean == pytest.approx(gamma, rel=0.2)
    assert found.p_value < 1e-6


def test_no_shift_has_numbers_near_nothing():
    found = shift(0.0)
    assert found.auc.low < 0.5 < found.auc.high
    assert abs(found.kl.mean) < 0.01
    assert found.gamma.mean < 0.2
    assert found.shared_rate == 0


def test_rows_looked_at_are_counted():
    found = shift(0.5, n=500, m=90, at_most=100)
    assert (found.n_rows, found.n_used, found.n_validation_used) == (500, 100, 90)


def test_rows_of_both_are_counted_as_shared():
    x = derive(0, "shared").normal(size=(40, 2))
    held = np.concatenate([x[:10], x[:10] + 5])
    found = fragment_shift("A", 40, compare("A", x, held, seed=0, at_most=1000))
    assert found.shared_rate == 0.5


def test_a_small_fragment_is_blank_and_says_why():
    assert compare("A", np.zeros((9, 2)), np.zeros((50, 2)), seed=0, at_most=100) is None
    found = too_small("A", 1)
    assert found.blank == "1 row; 10 or more are needed"
    assert math.isnan(found.auc.mean) and not found.alarm


@pytest.mark.parametrize(("quantile", "n"), [(0.5, 30), (0.9, 100), (0.99, 1000)])
def test_intervals_of_quantiles_hold_the_truth_as_often_as_they_say(quantile, n):
    rng = derive(0, "quantiles")
    found = [quantile_interval(rng.random(n), quantile) for _ in range(1000)]
    assert 0.93 < np.mean([each.low <= quantile <= each.high for each in found]) <= 1


def test_a_quantile_beyond_the_sample_has_no_upper_bound():
    assert quantile_interval(np.arange(100.0), 0.99).high == math.inf
    assert quantile_interval(np.arange(400.0), 0.99).high < math.inf


@pytest.mark.slow
@pytest.mark.parametrize(("n", "gap"), [(40, 0.0), (200, 0.0), (200, 0.5), (200, 1.5)])
def test_intervals_of_the_auc_hold_the_mean_auc(n, gap):
    found = [shift(gap, n, n, seed).auc for seed in range(120)]
    truth = 0.5 if gap == 0 else np.mean([each.mean for each in found])
    held = sum(each.low <= truth <= each.high for each in found)
    assert held >= binom.ppf(0.001, 120, 0.95)
