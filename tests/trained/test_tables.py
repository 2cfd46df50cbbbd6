"""Tables to predict for: what fits is taken as it was in training, what does not is named."""

import warnings

import numpy as np
import pandas as pd
import pytest

from firecv.errors import DataError, FirecvNotice
from firecv.trained.encoding import Categorical, Encoding, Numeric, Scaling
from firecv.trained.tables import admitted

WANTED = Encoding(
    (
        Numeric("age", 40.0, Scaling(41.0, 9.0, True), None),
        Categorical("sex", ("f", "m"), (True,)),
        Categorical("code", ("1", "2", "3"), (True, True, True)),
    )
)
FRAME = pd.DataFrame({"age": [41, 27], "sex": ["f", "m"], "code": [1, 3]})


def test_columns_are_taken_by_name_and_get_their_kinds():
    found = admitted(FRAME[["code", "sex", "age"]], WANTED)
    assert list(found) == ["age", "sex", "code"] and found["age"].dtype == np.float64
    assert found["sex"].tolist() == ["f", "m"] and found["code"].tolist() == ["1", "3"]


@pytest.mark.parametrize(
    "values", [[41, 27.5], ["41", "27.5"], [" 41", "27.5"], [41, "27.5"], np.array([41, 27.5], "f")]
)
def test_numbers_are_numbers_however_they_are_stored(values):
    assert admitted(FRAME.assign(age=values), WANTED)["age"].tolist() == [41.0, 27.5]


@pytest.mark.parametrize("value", [None, np.nan, pd.NA, pd.NaT])
def test_a_column_may_be_missing_in_all_rows(value):
    found = admitted(FRAME.assign(age=value, sex=value, code=value), WANTED)
    assert found.isna().to_numpy().all() and found["age"].dtype == np.float64


@pytest.mark.parametrize("values", [[1, 3], [1.0, 3.0], ["1", "3"], ["1.0", "3"]])
def test_categories_are_named_as_in_training(values):
    assert admitted(FRAME.assign(code=values), WANTED)["code"].tolist() == ["1", "3"]


def test_arrays_by_name_and_matrices_are_tables_too():
    found = admitted({name: FRAME[name].to_numpy() for name in FRAME}, WANTED)
    assert found["sex"].tolist() == ["f", "m"]
    numbered = Encoding(tuple(Numeric(str(i), 0.0, Scaling(0, 1, True), None) for i in range(2)))
    for given in (np.arange(4).reshape(2, 2), {"x": np.arange(4.0).reshape(2, 2)}):
        assert admitted(given, numbered)["1"].tolist() == [1.0, 3.0]


def test_columns_that_are_not_known_are_ignored_with_a_notice():
    with pytest.warns(FirecvNotice, match=r"new.csv has the columns 'height', 'weight', which the"):
        found = admitted(FRAME.assign(height=1, weight=2), WANTED, what="new.csv")
    assert list(found) == ["age", "sex", "code"]


def test_target_and_fragment_may_be_there_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        admitted(FRAME.assign(ill=1, site="A"), WANTED, {"ill", "site"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="age"), "lacks the column 'age', which the model needs; there"),
        (lambda f: f.rename(columns={"code": "coed"}), "lacks the column 'code'.*mean 'coed'"),
        (lambda f: f[["age"]].rename(columns={"age": "x"}), "lacks the columns 'age', 'sex', 'c"),
        (
            lambda f: f.assign(age=["41", "old"]),
            "'age' of the table holds 'old' in row 2, but numb",
        ),
        (lambda f: f.assign(age=["a", "b"]), "'age' of the table holds 'a' in row 1, but numbers"),
        (lambda f: f.assign(age=pd.Timestamp("2024-01-31")), "'age' .*2024-01-31.*but numbers"),
        (lambda f: f.assign(age=np.inf), "'age' is infinite in row 1"),
        (lambda f: f.assign(age=["inf", "1"]), "'age' of the table holds"),
        (lambda f: f.assign(age=1j), "'age' holds complex128"),
        (lambda f: f.assign(sex=[1.5, 2.0]), "'sex' of the table holds float64, but text such as"),
        (lambda f: f.assign(sex=pd.Timestamp("2024-01-31")), "'sex' of the table holds datetime"),
        (lambda f: f.assign(sex=[["f"], ["m"]]), "'sex' holds values that cannot be told apart"),
        (lambda f: f.iloc[:0], "has no rows"),
        (lambda f: f.to_numpy(), "is an array of object"),
        (lambda f: np.zeros((2, 3, 3)), r"shape \(2, 3, 3\)"),
        (lambda f: [1, 2], "is a list"),
        (lambda f: f.set_axis(["age", "age", "code"], axis=1), "more than one column 'age'"),
    ],
    ids=range(17),
)
def test_tables_that_do_not_fit_are_refused_by_name(change, message):
    with pytest.raises(DataError, match=message):
        admitted(change(FRAME), WANTED)
