import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.data.formats.columns import typed
from firecv.errors import DataError


def one(values, categorical=(), **settings):
    frame = pd.DataFrame({"c": pd.Series(values, **settings)})
    before = frame.copy(deep=True)
    result = typed(frame, categorical)["c"]
    pd.testing.assert_frame_equal(frame, before)
    return result


def texts(column):
    assert isinstance(column.dtype, pd.CategoricalDtype)
    return [
        None if missing else value for value, missing in zip(column, column.isna(), strict=True)
    ]


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([1, 2], "int64", [1, 2]),
        ([1, 2], "uint8", [1, 2]),
        ([1.5, np.nan], "float32", [1.5, np.nan]),
        ([True, False], "bool", [1, 0]),
        ([True, None], "boolean", [1, np.nan]),
        ([1, None], "Int64", [1, np.nan]),
        ([1.5, None], "Float64", [1.5, np.nan]),
        ([True, np.nan, False], object, [1, np.nan, 0]),
        ([1, 2.5, None], object, [1, 2.5, np.nan]),
        (["1", " 2.5", None, "-3e2"], "str", [1, 2.5, np.nan, -300]),
        (["1", 2, np.float32(3)], object, [1, 2, 3]),
        ([None, None], object, [np.nan, np.nan]),
    ],
)
def test_numbers_and_truth_values_become_float64(values, dtype, expected):
    found = one(values, dtype=dtype)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["str", object, "string", "category"])
def test_text_becomes_a_category_of_sorted_text(dtype):
    found = one(["b", None, "a", "b"], dtype=dtype)
    assert texts(found) == ["b", None, "a", "b"]
    assert found.cat.categories.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([7.0, 7, np.nan], ["7", "7", None]),
        (["7.0", "7", "x", " 7"], ["7", "7", "x", "7"]),
        ([0.5, -0.0], ["0.5", "0"]),
        (["0.50", "1e2", "+3", "007"], ["0.5", "100", "3", "7"]),
        ([True, False], ["True", "False"]),
        (["12345678901234567890", "12345678901234567891"], None),
        ([1e300], ["1e+300"]),
        (["1e999"], ["inf"]),
        (["1_000", "0x10", "nan"], ["1_000", "0x10", "nan"]),
    ],
)
def test_a_declared_category_is_named_the_same_however_it_was_written(values, expected):
    expected = values if expected is None else expected
    assert texts(one(values, ["c"])) == expected
    assert texts(one(values, ["c"], dtype=object)) == expected


@pytest.mark.parametrize("values", [[1.0, np.inf], ["1", "2", "1e999"], [-np.inf]])
def test_infinite_values_are_refused_with_column_and_row(values):
    with pytest.raises(DataError, match=f"column 'c' is infinite in row {len(values)}"):
        one(values)


@pytest.mark.parametrize(
    ("values", "row", "offender"),
    [
        (["1", "2", "x"], 3, "x"),
        (["x", "1"], 1, "x"),
        (["1", None, "unknown", "2", "-"], 3, "unknown"),
        ([1, 2, "three"], 3, "three"),
    ],
)
def test_mixed_columns_are_refused_with_the_first_offender_and_the_ways_out(values, row, offender):
    with pytest.raises(DataError, match=f"column 'c' is mixed: .* row {row} has '{offender}'") as e:
        one(values, dtype=object)
    assert "Declare it categorical, or clean it" in str(e.value)
    assert texts(one(values, ["c"], dtype=object))[row - 1] == offender


def test_text_with_few_numbers_in_it_is_text():
    assert texts(one(["1", "x", "y", None])) == ["1", "x", "y", None]


@pytest.mark.parametrize(
    "values",
    [
        pd.to_datetime(["2024-01-01", None]),
        pd.to_datetime(["2024-01-01"]).tz_localize("UTC"),
    ],
)
def test_dates_are_left_as_they_are(values):
    assert one(values).dtype == values.dtype


@pytest.mark.parametrize(
    "values",
    [[1j], pd.to_timedelta(["1s"]), [[1, 2]], [datetime.date(2024, 1, 1)], [b"bytes"]],
)
def test_other_things_are_refused_by_column(values):
    with pytest.raises(DataError, match="column 'c' holds"):
        one(values)


def test_unknown_categorical_columns_are_refused():
    with pytest.raises(DataError, match="has no columns d.*it has c"):
        one([1], ["d"])


def test_a_name_given_twice_is_refused():
    with pytest.raises(DataError, match="the column names c appear twice"):
        typed(pd.DataFrame(np.eye(2), columns=["c", "c"]))


def test_the_index_and_the_order_of_columns_stay():
    frame = pd.DataFrame({"b": [1, 2], "a": ["x", "y"]}, index=[7, 3])
    result = typed(frame)
    assert result.index.tolist() == [7, 3] and result.columns.tolist() == ["b", "a"]
    assert result.loc[3, "b"] == 2 and result.loc[3, "a"] == "y"


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.none(), st.text(max_size=4), st.integers(-9, 9), st.floats(-9, 9))))
def test_typing_twice_is_typing_once(values):
    try:
        first = typed(pd.DataFrame({"c": pd.Series(values, dtype=object)}))
    except DataError:
        return
    assert str(first["c"].dtype) in ("float64", "category")
    pd.testing.assert_frame_equal(typed(first), first)
    assert first["c"].isna().tolist() == [value is None for value in values]
