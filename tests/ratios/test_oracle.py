import numpy as np
import pytest

from firecv.data.shifts import Rotation, rotation
from firecv.errors import DataError, ModelError
from firecv.ratios.oracle import OracleRatio
from firecv.seeding import derive

X, TARGET = derive(0, "x").normal(size=(20, 2)), derive(0, "y").normal(size=(10, 2))


def test_a_function_gives_weights_anywhere():
    found = OracleRatio(lambda rows: rows[:, 0] - rows[:, 1]).fit(X, TARGET)
    for rows in (X, TARGET, X[:0]):
        np.testing.assert_allclose(found.weights(rows), np.exp(rows[:, 0] - rows[:, 1]))


def test_values_give_weights_to_the_training_rows_only():
    values = X[:, 0]
    found = OracleRatio(values).fit(X, TARGET)
    np.testing.assert_allclose(found.weights(X), np.exp(values))
    with pytest.raises(DataError, match="weighs the 20 rows it was fitted on"):
        found.weights(TARGET)
    with pytest.raises(DataError, match="weighs the 20 rows it was fitted on"):
        found.weights(X[::-1])


def test_the_log_ratio_of_a_shift_is_taken():
    images, y = np.zeros((4000, 3, 3), np.uint8), np.zeros(4000, int)
    shifted = rotation(images, y, derive(0, "shift"), "train", Rotation(3.0, 4.0))
    rows = np.c_[shifted.x.reshape(4000, -1), shifted.log_ratio]  # rows that differ
    w = OracleRatio(shifted.log_ratio).fit(rows, rows).weights(rows)
    assert w.mean() == pytest.approx(1, abs=0.1)


def test_minus_infinity_is_a_weight_of_zero():
    found = OracleRatio([-np.inf, 0.0]).fit([[0.0], [1.0]], [[0.0], [1.0]])
    assert found.weights([[0.0], [1.0]]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("log_ratio", "words"),
    [
        (np.zeros(19), "shape .19,. for 20 rows"),
        (np.zeros((20, 1)), "shape .20, 1. for 20 rows"),
        (np.full(20, np.nan), "from nan to nan"),
        (np.full(20, 1e4), "exponential is finite"),
    ],
    ids=["too few", "a column", "nan", "too large"],
)
def test_values_that_are_no_ratio_are_refused(log_ratio, words):
    with pytest.raises(DataError, match=words):
        OracleRatio(log_ratio).fit(X, TARGET)
    with pytest.raises(DataError, match=words):
        OracleRatio(lambda rows: log_ratio).fit(X, TARGET).weights(X)


def test_nothing_is_known_without_a_ratio():
    with pytest.raises(ModelError, match="log_ratio is None"):
        OracleRatio().fit(X, TARGET)
