import numpy as np
import pandas as pd
import pytest

from firecv.errors import DataError
from firecv.ratios.training_rows import TrainingRows
from firecv.seeding import derive

ROWS = derive(0, "rows").normal(size=(1000, 300)).astype(np.float32)


@pytest.mark.parametrize(
    "again",
    [ROWS.copy(), ROWS.astype(np.float64), np.asfortranarray(ROWS), pd.DataFrame(ROWS)],
    ids=["copy", "double", "columns first", "data frame"],
)
def test_the_same_values_are_known_again(again):
    TrainingRows.of(ROWS).check(again, "KMM")


def test_a_zero_may_have_either_sign():
    TrainingRows.of(np.array([[0.0], [1.0]])).check([[-0.0], [1.0]], "KMM")


@pytest.mark.parametrize(
    "other",
    [ROWS[:-1], ROWS[::-1], ROWS + 1, ROWS[:0]],
    ids=["fewer", "another order", "other values", "none"],
)
def test_other_rows_are_refused(other):
    with pytest.raises(DataError, match="KMM weighs the 1000 rows it was fitted on"):
        TrainingRows.of(ROWS).check(other, "KMM")


def test_another_number_of_columns_is_refused():
    with pytest.raises(DataError, match="columns"):
        TrainingRows.of(ROWS).check(ROWS[:, 1:], "KMM")
