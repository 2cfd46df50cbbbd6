import numpy as np
import pandas as pd
import pytest

from firecv.errors import DataError
from firecv.estimators.columns import FARTHEST, Rows, standardized

ALL = np.arange(50)


def columns(x, x_val):
    return standardized(
        Rows.of(x, "X"), np.arange(len(x)), Rows.of(x_val, "X_val"), ALL[: len(x_val)]
    )


def test_arrays_of_numbers_are_standardized_as_tables_of_numbers_are():
    rng = np.random.default_rng(0)
    x, x_val = rng.normal(5, 3, size=(50, 4)), rng.normal(size=(20, 4))
    x[:, 2] = x_val[:, 2] = 7.0
    for one, other in zip(
        columns(x, x_val), columns(pd.DataFrame(x), pd.DataFrame(x_val)), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-5)
    assert not columns(x, x_val)[0][:, 2].any()


def test_missing_values_get_a_column_and_infinities_are_missing():
    x = np.random.default_rng(0).normal(size=(50, 2))
    x[3, 1], x[4, 1] = np.nan, np.inf
    found, found_val = columns(x, x[:10])
    assert found.shape == (50, 3) and found_val.shape == (10, 3)
    assert (found[[3, 4], 2] > 0).all() and (found[5:, 2] < 0).all()


def test_what_is_far_out_is_brought_nearer():
    x = np.random.default_rng(0).normal(size=(50, 1))
    assert columns(x, np.array([[1e9]]))[1].item() == FARTHEST


def test_dates_booleans_and_text():
    frame = pd.DataFrame(
        {
            "when": pd.to_datetime(["2020-01-01", None, "2022-01-01"]),
            "is_ill": [True, False, True],
            "town": ["Ulm", None, "Bonn"],
        }
    )
    found, _ = columns(frame, frame)
    assert found.shape == (
        3,
        6,
    )  # a date, a truth value, a missing date; two towns and a missing one


def test_other_columns_in_v_are_refused():
    with pytest.raises(DataError, match=r"X_val has the columns \['b'\] \(1\), X has \['a'\]"):
        columns(pd.DataFrame({"a": [1.0, 2.0]}), pd.DataFrame({"b": [1.0]}))
