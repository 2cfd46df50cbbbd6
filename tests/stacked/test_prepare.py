"""Initial weights, scales and merged rows are what they are made from."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.preprocessing import StandardScaler

from firecv.errors import DataError
from firecv.models import table_mlp
from firecv.seeding import derive, derive_torch
from firecv.stacked import initial_weights, merge_duplicates, standardise


def test_each_model_is_the_network_of_its_generator() -> None:
    weights = initial_weights(5, 3, [derive_torch(7, "weights", model) for model in range(4)])
    for model in range(4):
        alone = table_mlp(5, 3, derive_torch(7, "weights", model)).state_dict()
        assert weights.keys() == alone.keys()
        assert all(torch.equal(weights[name][model], alone[name]) for name in alone)


def test_no_generator_is_refused() -> None:
    with pytest.raises(DataError, match="no generator"):
        initial_weights(5, 3, [])


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), n_rows=st.integers(2, 30))
def test_scales_are_those_of_scikit_learn_with_sample_weights(seed: int, n_rows: int) -> None:
    rng = derive(seed, "scales")
    x = rng.normal(size=(n_rows, 3)) * 10.0 ** rng.integers(-3, 4, 3) + rng.normal(size=3) * 10
    weights = rng.integers(0, 3, (2, n_rows)) + np.eye(2, n_rows, dtype=int)
    mean, scale = standardise(x, weights)
    for model in range(2):
        if np.count_nonzero(weights[model]) < 2:
            continue
        scaler = StandardScaler().fit(x, sample_weight=weights[model])
        np.testing.assert_allclose(mean[model], scaler.mean_, rtol=1e-10)
        np.testing.assert_allclose(scale[model], scaler.scale_, rtol=1e-9)


def test_a_column_constant_in_training_becomes_zero_everywhere() -> None:
    x = np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 4.0], [9.0, 8.0]])
    mean, scale = standardise(x, np.array([[1, 1, 1, 0]]))
    assert (((x - mean) / scale)[:, 0] == 0).all()


def test_columns_that_are_not_numeric_stay_as_they_are_unless_constant() -> None:
    x = np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 3.0], [1.0, 0.0, 5.0]])
    mean, scale = standardise(x, np.array([[1, 1, 0]]), numeric=np.array([False, False, True]))
    assert mean.tolist() == [[0, 0, 2]] and scale.tolist() == [[1, np.inf, 1]]
    with pytest.raises(DataError, match="numeric has shape"):
        standardise(x, np.array([[1, 1, 0]]), numeric=np.array([True]))


tables = arrays(np.int64, st.tuples(st.integers(1, 20), st.just(3)), elements=st.integers(0, 2))


@settings(max_examples=50, deadline=None)
@given(table=tables)
def test_merging_loses_and_repeats_nothing(table) -> None:
    x, y = table[:, :2], table[:, 2]
    distinct = merge_duplicates(x, y)
    np.testing.assert_array_equal(distinct.x[distinct.places], x)
    np.testing.assert_array_equal(distinct.y[distinct.places], y)
    rows = np.column_stack([distinct.x, distinct.y])
    assert len(np.unique(rows, axis=0)) == len(rows)
    weights = derive(0, "weights").random((2, len(x)))
    merged = distinct.merge(weights)
    for place in range(len(distinct.x)):
        expected = weights[:, distinct.places == place].sum(axis=1)
        np.testing.assert_allclose(merged[:, place], expected)


def test_rows_and_labels_must_be_as_many() -> None:
    with pytest.raises(DataError, match="expected .n_rows, n_features."):
        merge_duplicates(np.ones((3, 2)), np.zeros(2, int))
