import numpy as np
import pandas as pd
import pytest

from firecv.diagnose.inputs import checked, drawn
from firecv.errors import DataError
from firecv.seeding import derive

V = np.zeros((10, 2))
A = np.ones((4, 2))


def test_labels_are_numbered_over_all_parts():
    given = checked({"A": A, "B": A}, V, {"A": list("bbcc"), "B": list("cccc")}, ["a"] * 10, None)
    assert given.y_fragments["A"].tolist() == [1, 1, 2, 2]
    assert given.y_validation.tolist() == [0] * 10
    assert given.n_classes == 3


def test_names_of_features_come_from_the_call_the_data_frames_or_their_numbers():
    frame = pd.DataFrame(V, columns=["age", "dose"])
    for held, names, expected in (
        (frame, None, ["age", "dose"]),
        (frame, ["p", "q"], ["p", "q"]),
        (V, None, ["x0", "x1"]),
    ):
        found = checked({"A": A}, held, None, None, names).features
        assert [feature.name for feature in found] == expected
        assert [feature.columns for feature in found] == [(0,), (1,)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"fragments": {}}, "there is no fragment"),
        ({"validation": V[:9]}, "the validation set has 9 rows"),
        ({"fragments": {"A": np.ones((4, 3))}}, "fragment 'A' has 3 columns"),
        ({"fragments": {"A": np.ones(4)}}, r"fragment 'A': X has shape \(4,\)"),
        ({"fragments": {"A": [[np.nan, 0.0]]}}, "fragment 'A': X holds NaN"),
        ({"validation": np.full((10, 2), np.inf)}, "the validation set: X holds NaN, inf"),
        ({"fragments": {"A": [["x", "y"]]}}, "fragment 'A': .* encode"),
        ({"fragments": {1: A, "1": A}}, "the same name"),
        ({"feature_names": ["a"]}, "1 different names for 2 features"),
        ({"feature_names": ["a", "a"]}, "1 different names for 2 features"),
        ({"y_fragments": {"B": [0]}}, r"labels of \['B'\]"),
        ({"y_fragments": {"A": [0, 1]}}, r"shape \(2,\).* 4 rows"),
        ({"y_fragments": {"A": [0.0, 1.0, np.nan, 1.0]}}, "fragment 'A' hold NaN"),
        ({"y_validation": np.zeros((10, 1))}, r"the validation set have shape \(10, 1\)"),
        (
            {
                "fragments": {"A": pd.DataFrame(A, columns=["a", "b"])},
                "validation": pd.DataFrame(V, columns=["b", "a"]),
            },
            "same columns in the same order",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_fit_is_refused_by_name(change, words):
    usual = {
        "fragments": {"A": A},
        "validation": V,
        "y_fragments": None,
        "y_validation": None,
        "feature_names": None,
    }
    with pytest.raises(DataError, match=words):
        checked(**(usual | change))


def test_rows_are_drawn_once_each_and_only_if_there_are_too_many():
    x = np.arange(100.0)[:, None]
    assert drawn(x, 100, derive(0, "rows")) is x
    found = drawn(x, 30, derive(0, "rows"))
    assert len(np.unique(found)) == len(found) == 30
