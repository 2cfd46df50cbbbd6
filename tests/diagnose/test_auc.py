import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from firecv.diagnose.auc import auc_interval, mean_auc, placements
from firecv.seeding import derive


def scored(n, m, gap, seed=0):
    rng = derive(seed, "auc")
    scores = np.concatenate([rng.normal(gap, 1, n), rng.normal(0, 1, m)])
    return scores, np.arange(n + m) < n


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=4, max_size=30), st.data())
def test_the_auc_of_one_fold_is_that_of_scikit_learn(values, data):
    scores = np.array(values, np.float64)
    n = data.draw(st.integers(1, len(values) - 1))
    is_fragment = np.arange(len(values)) < n
    found = mean_auc(scores, is_fragment, [np.arange(len(values))])
    assert found == pytest.approx(roc_auc_score(is_fragment, scores))


def test_rows_of_different_folds_are_not_compared():
    scores, is_fragment = np.array([1.0, 0.0, 101.0, 100.0]), np.array([True, False, True, False])
    folds = [np.array([0, 1]), np.array([2, 3])]
    assert mean_auc(scores, is_fragment, folds) == 1.0
    assert mean_auc(scores, is_fragment, [np.arange(4)]) == 0.75


def test_rows_outside_all_folds_have_no_placement():
    found = placements(np.arange(4.0), np.array([True, False, True, False]), [np.array([0, 1])])
    np.testing.assert_array_equal(found, [0.0, 0.0, np.nan, np.nan])


def test_the_standard_error_is_that_of_delong_where_classifiers_tell_samples_apart():
    scores, is_fragment = scored(60, 40, 2.5)
    low, high = auc_interval(scores, is_fragment, [np.arange(100)])[1:]
    a, b = scores[:60], scores[60:]
    psi = (a[:, None] > b).astype(float)
    delong = psi.mean(1).var(ddof=1) / 60 + psi.mean(0).var(ddof=1) / 40
    factor = 2 - (2 * psi.mean() - 1) ** 2
    assert (high - low) / (2 * 1.96) == pytest.approx(np.sqrt(delong * factor), rel=1e-4)
    assert 1 < factor < 1.25


def test_samples_told_apart_without_error_leave_doubt():
    found = auc_interval(np.arange(10.0), np.arange(10) >= 5, [np.arange(10)])
    assert found.mean == found.high == 1.0
    assert found.low == pytest.approx(1 - 1.96 * 0.1, abs=1e-3)
