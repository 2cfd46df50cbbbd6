"""Grouped folds are scikit-learn's, row by row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedGroupKFold

from firecv.data.grouped import grouped_folds


def by_sklearn(y, groups, n):
    folds = np.empty(len(y), int)
    for fold, (_, rows) in enumerate(StratifiedGroupKFold(n).split(y, y, groups)):
        folds[rows] = fold
    return folds


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 10),
    n_classes=st.integers(2, 4),
    n_rows=st.integers(80, 200),
    repeats=st.floats(0, 1),
)
def test_they_equal_scikit_learns(seed, n, n_classes, n_rows, repeats):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.repeat(np.arange(n_classes), 20), rng.integers(n_classes, size=n_rows)])
    groups = np.arange(len(y))
    again = rng.random(len(y)) < repeats * 0.7
    groups[again] = rng.integers(len(y), size=again.sum())
    np.testing.assert_array_equal(grouped_folds(y, groups, n), by_sklearn(y, groups, n))


@pytest.mark.parametrize("n", [2, 5, 10])
def test_single_rows_are_spread_as_plain_stratified_folds_are(n):
    y = np.repeat([0, 1, 2], [40, 70, 130])
    folds = grouped_folds(y, np.arange(len(y)), n)
    counts = np.array([[np.sum(y[folds == k] == c) for c in range(3)] for k in range(n)])
    assert (np.ptp(counts, axis=0) <= 1).all()
