import altair as alt
import numpy as np
import pandas as pd
import pytest

from firecv.charts.rows import in_order, rows, tooltips
from firecv.charts.theme import compose
from firecv.errors import DataError

FRAME = pd.DataFrame({"a": ["y", "x", "y"], "b": [1.5, np.nan, np.inf], "c": [1, 2, 3]})


def test_only_the_named_columns_become_values_and_gaps_become_null():
    data = rows(FRAME, ["a", None, "b", "a"])
    assert data["values"] == [{"a": "y", "b": 1.5}, {"a": "x", "b": None}, {"a": "y", "b": None}]


def test_more_than_five_thousand_lines_are_drawn():
    data = rows(pd.DataFrame({"a": range(6000)}), ["a"])
    layer = alt.Chart().mark_point().encode(x="a:Q")
    (values,) = compose([layer], data, title="", size=(9, 9)).to_dict()["datasets"].values()
    assert len(values) == 6000


def test_order_is_that_of_the_first_occurrence():
    assert in_order(FRAME, "a") == ["y", "x"] and in_order(FRAME, None) == []


def test_tooltips_keep_the_names_of_columns():
    first, second = tooltips(["a.b"], ["c"])
    assert first.to_dict()["title"] == "a.b" and second.to_dict()["format"] == ".4g"


def test_a_missing_column_and_an_empty_frame_are_errors():
    with pytest.raises(DataError, match="no column 'd', only a, b, c"):
        rows(FRAME, ["a", "d"])
    with pytest.raises(DataError, match="nothing to draw"):
        rows(FRAME[:0], ["a"])
