"""Kernels, scaling, distances and the checks that all density-ratio estimators share."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist

from firecv.errors import DataError, ModelError, NumericalError
from firecv.ratios import kernels
from firecv.ratios.kernels import (
    Basis,
    Scaling,
    check_count,
    check_overlap,
    check_positive,
    check_rows,
    check_samples,
    check_separation,
    folds_of,
    gaussian,
    median_distance,
    row_blocks,
    squared_distances,
)
from firecv.seeding import derive


def samples(n=40, m=30, d=3, seed=0):
    rng = derive(seed, "samples")
    return rng.normal(size=(n, d)), rng.normal(0.5, 1, (m, d))


def basis_of(train, target, n_centres=7):
    return Basis.of(train, target, n_centres=n_centres, standardise=True, seed=0)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.integers(1, 12), st.integers(1, 6), st.integers(0, 1000))
def test_kernels_agree_with_plain_distances(n_rows, n_centres, n_features, seed):
    rng = derive(seed, "rows")
    rows, centres = rng.normal(size=(n_rows, n_features)), rng.normal(size=(n_centres, n_features))
    expected = np.exp(-(cdist(rows, centres) ** 2) / (2 * 0.7**2))
    found = gaussian(squared_distances(rows, centres), 0.7)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@given(st.integers(0, 5000), st.integers(1, 2000))
@settings(max_examples=30, deadline=None)
def test_blocks_cover_every_row_once(n_rows, n_columns):
    rows = [row for part in row_blocks(n_rows, n_columns) for row in range(part.start, part.stop)]
    assert rows == list(range(n_rows))


def test_scaled_features_have_mean_0_and_deviation_1_over_both_samples():
    train, target = samples()
    scaled = Scaling.of(train, target).apply(np.concatenate([train, target]))
    np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-14)
    np.testing.assert_allclose(scaled.std(0), 1, rtol=1e-13)


@pytest.mark.parametrize("offset", [1e9, -1e9])
@pytest.mark.parametrize("unit", [1e-140, 1e140])
def test_scaling_neither_cancels_nor_overflows(offset, unit):
    train, target = samples()
    moved = [x + offset for x in (train, target)]
    scaled = Scaling.of(*moved).apply(moved[0])
    np.testing.assert_allclose(scaled, Scaling.of(train, target).apply(train), atol=1e-5)
    small = Scaling.of(train * unit, target * unit).apply(train * unit)
    np.testing.assert_allclose(small, Scaling.of(train, target).apply(train), rtol=1e-10)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e20])
def test_a_constant_feature_becomes_0_at_any_value(value):
    train, target = samples()
    train[:, 1] = target[:, 1] = value
    scaled = Scaling.of(train, target).apply(np.full((2, 3), 7.0))
    assert (scaled[:, 1] == 0).all() and (scaled[:, 0] != 0).all()


def test_without_standardising_distances_stay_as_they_are():
    train, target = samples()
    scaling = Scaling.of(train, target, standardise=False)
    np.testing.assert_allclose(pdist(scaling.apply(train)), pdist(train), rtol=1e-12)


def test_the_median_distance_is_that_of_all_pairs_of_both_samples():
    train, target = samples()
    scaling = Scaling.of(train, target)
    expected = np.median(pdist(scaling.apply(np.concatenate([train, target]))))
    assert median_distance(train, target, scaling, derive(0, "rows")) == pytest.approx(expected)


def test_a_median_of_0_gives_way_to_the_mean_of_distances_above_0():
    train, target = np.array([[0.0]] * 9 + [[2.0]]), np.zeros((10, 1))
    scaling = Scaling.of(train, target, standardise=False)
    assert median_distance(train, target, scaling, derive(0, "rows")) == pytest.approx(2.0)


def test_the_few_rows_that_differ_are_found_although_not_drawn(monkeypatch):
    monkeypatch.setattr(kernels, "SAMPLED", 3)
    train, target = np.zeros((4000, 1)), np.zeros((4000, 1))
    train[17] = 3.0
    scaling = Scaling.of(train, target, standardise=False)
    assert median_distance(train, target, scaling, derive(0, "rows")) == pytest.approx(3.0)


@pytest.mark.parametrize("standardise", [True, False])
def test_rows_that_are_all_equal_are_an_error(standardise):
    rows = np.full((5, 2), 0.1)
    scaling = Scaling.of(rows, rows, standardise=standardise)
    with pytest.raises(DataError, match="all 5 rows of X_train and 5 of X_target are equal"):
        median_distance(rows, rows, scaling, derive(0, "rows"))


BAD = {
    "nan": ([[1.0], [np.nan]], "NaN"),
    "infinite": ([[1.0], [-np.inf]], "infinite"),
    "huge": ([[1.0], [1e200]], "beyond 1e\\+150"),
    "one row": ([[1.0]], "1 rows; expected 2 or more"),
    "empty": (np.zeros((0, 1)), "0 rows"),
    "no columns": (np.zeros((3, 0)), "expected \\(n_samples, n_features\\)"),
    "one axis": ([1.0, 2.0], "reshape\\(-1, 1\\)"),
    "images": (np.zeros((2, 4, 4)), "flatten images"),
    "text": ([["a"], ["b"]], "real numbers"),
    "mixed objects": (np.array([[1.0], ["b"]], object), "real numbers"),
    "complex": (np.ones((2, 1), complex), "real numbers"),
    "other columns": (np.zeros((3, 2)), "same features"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("side", ["X_train", "X_target"])
def test_bad_samples_are_named(name, side):
    bad, message = BAD[name]
    good = np.zeros((3, 1))
    given_samples = (bad, good) if side == "X_train" else (good, bad)
    with pytest.raises(DataError, match=message) as raised:
        check_samples(*given_samples)
    assert side in str(raised.value)


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int64", "uint8", "bool", ">f8"]
)
def test_any_real_numbers_are_taken_and_single_precision_is_kept(dtype):
    rows = np.array([[0], [1]], dtype)
    found, _ = check_samples(rows, rows)
    assert found.dtype.name == ("float32" if dtype == "float32" else "float64")
    assert found.tolist() == [[0], [1]]


def test_tables_of_pandas_are_taken():
    table = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})
    found, _ = check_samples(table, table)
    assert found.tolist() == [[1, 0.5], [2, 1.5]]


def test_rows_to_weigh_must_have_the_fitted_features_and_may_be_none():
    assert len(check_rows(np.zeros((0, 3)), 3)) == 0
    with pytest.raises(DataError, match="2 columns; the ratio was fitted on 3"):
        check_rows([[1, 2]], 3)


@pytest.mark.parametrize("values", [(), (0.0,), (-1.0,), (np.nan,), (np.inf,), [[1.0]]], ids=repr)
def test_candidates_must_be_above_0(values):
    with pytest.raises(ModelError, match="penalties is"):
        check_positive("penalties", values)


@pytest.mark.parametrize("value", [1, 2.5, True, None, "3"], ids=repr)
def test_counts_must_be_whole_and_large_enough(value):
    with pytest.raises(ModelError, match="n_folds is .* from 2 on"):
        check_count("n_folds", value, 2)


@pytest.mark.parametrize("n_rows", [5, 13])
def test_folds_are_disjoint_and_cover_all_rows(n_rows):
    folds = folds_of(n_rows, 5, derive(0, "folds"))
    assert sorted(np.concatenate(folds)) == list(range(n_rows))
    assert max(map(len, folds)) - min(map(len, folds)) <= 1


def test_more_folds_than_rows_are_an_error():
    with pytest.raises(DataError, match="4 rows make no 5 folds"):
        folds_of(4, 5, derive(0, "folds"))


def test_centres_are_different_rows_of_the_target():
    train, target = samples()
    centres = basis_of(train, target).centres
    at = [np.flatnonzero((target == centre).all(1)).item() for centre in centres]
    assert len(set(at)) == 7


def test_a_small_target_gives_all_its_rows_as_centres():
    train, target = samples(m=5)
    np.testing.assert_array_equal(basis_of(train, target, 100).centres, target)


@pytest.mark.parametrize("order", [None, [3, 1, 1, 39]], ids=["all", "some"])
def test_distances_do_not_depend_on_blocks(order, monkeypatch):
    train, target = samples()
    basis, rows = basis_of(train, target), None if order is None else np.array(order)
    whole = np.concatenate(list(basis.distances(train, rows)))
    chosen = train if order is None else train[order]
    expected = cdist(basis.scaling.apply(chosen), basis.scaling.apply(basis.centres)) ** 2
    np.testing.assert_allclose(whole, expected, atol=1e-12)
    monkeypatch.setattr(kernels, "BLOCK", 1)
    blocks = list(basis.distances(train, rows))
    assert len(blocks) == -(-len(chosen) // 16)
    np.testing.assert_allclose(np.concatenate(blocks), whole, atol=1e-12)


def test_a_combination_of_kernels_is_evaluated_at_new_rows():
    train, target = samples()
    basis, coefficients = basis_of(train, target), np.arange(7.0)
    scaled = [basis.scaling.apply(x) for x in (train, basis.centres)]
    expected = np.exp(-(cdist(*scaled) ** 2) / 2 / 0.5**2) @ coefficients
    np.testing.assert_allclose(basis.combine(train, 0.5, coefficients), expected, rtol=1e-10)
    assert basis.combine(train[:0], 0.5, coefficients).shape == (0,)


def separated(n=50):
    rng = derive(0, "clusters")
    return rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) + 1000


def test_two_clusters_far_apart_are_an_error():
    train, target = separated()
    with pytest.raises(DataError, match="outside the support"):
        check_separation(train, target, Scaling.of(train, target), derive(0, "rows"))


def test_a_single_training_row_near_the_target_is_enough_to_go_on(monkeypatch):
    monkeypatch.setattr(kernels, "SAMPLED", 4)
    train, target = separated(500)
    train[3] = target[7]
    check_separation(train, target, Scaling.of(train, target), derive(0, "rows"))


@pytest.mark.parametrize("share", [0.0, 1e-9, np.nan], ids=repr)
def test_a_ratio_without_support_in_train_is_an_error(share):
    with pytest.raises(NumericalError, match="outside the support of train"):
        check_overlap(share)
    check_overlap(1e-3)
