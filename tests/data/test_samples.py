"""Columns get their meaning, and errors name the column and what to do."""

import numpy as np
import pandas as pd
import pytest

from firecv.data.arrays import UNKNOWN
from firecv.data.encode import encode
from firecv.data.own import own, read_own, shared_rows
from firecv.errors import DataError
from tests.own_data import FRAME, OPTIONS, written


@pytest.mark.parametrize(
    ("target", "classes"),
    [
        ([10, 9, 10, 9, 9, 9], ("9", "10")),
        ([10.0, 9.0, 9.5, 9.0, 9.0, 9.0], ("9", "9.5", "10")),
        ([True, False, True, True, True, True], ("False", "True")),
        (["10", "9", "b", "9", "9", "9"], ("10", "9", "b")),
        (pd.Categorical(["z", "a", "z", "a", "a", "a"]), ("a", "z")),
        (pd.array([2, 1, 2, 1, 1, 1], dtype="Int64"), ("1", "2")),
        (["é", "z", "é", "a", "a", "a"], ("a", "z", "é")),
    ],
)
def test_classes_are_in_natural_order(target, classes):
    frame = pd.DataFrame({"v": np.arange(6.0), "y": target})
    part = own(frame, target="y").fragments["all"]
    assert part.classes == classes
    named = [part.classes[label] for label in part.y]
    assert named == [
        str(int(v)) if isinstance(v, float) and v.is_integer() else str(v) for v in frame["y"]
    ]


# Images and other arrays


@pytest.fixture
def images():
    rng = np.random.default_rng(0)
    return {
        "x": rng.integers(256, size=(8, 5, 4), dtype=np.uint8),
        "y": np.array([3, 7] * 4),
        "writer": np.array(["u", "u", "v", "v"] * 2),
        "pen": np.arange(8),
    }


def test_images_stay_images_and_other_arrays_become_tags(tmp_path, images):
    np.savez(tmp_path / "digits.npz", **images)
    data = read_own(tmp_path / "digits.npz", target="y", fragment="writer")
    part = data.fragments["v"]
    assert part.x.dtype == np.uint8
    np.testing.assert_array_equal(part.x, images["x"][[2, 3, 6, 7]])
    assert part.classes == ("3", "7")
    np.testing.assert_array_equal(part.tags["pen"], [2, 3, 6, 7])
    dropped = own(images, target="y", fragment="writer", drop=["pen"])
    assert set(dropped.fragments["v"].tags) == {"writer"}


def test_images_can_be_held_out_and_given_for_validation(images):
    data = own(images, target="y", validation=images)
    np.testing.assert_array_equal(data.validation.x, images["x"])
    assert shared_rows(data) == 8
    held = own(images, target="y", fragment="writer", validation=0.5)
    assert held.validation.counts() == {"3": 2, "7": 2}
    assert shared_rows(held) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.zeros((7, 5, 4))}, "differ in length"),
        ({"extra": np.zeros((8, 2))}, "array 'extra' .* must be named 'x'"),
        ({"x": np.full((8, 2), np.inf)}, "'x' of the data holds infinite"),
        ({"x": np.full((8, 2), "a")}, "must hold numbers"),
        ({"x": np.zeros((8, 0))}, "must hold numbers"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(images, change, message):
    with pytest.raises(DataError, match=message):
        own(images | change, target="y")


def test_array_inputs_have_no_categories_and_a_shape_to_keep(images):
    with pytest.raises(DataError, match="which has no categories"):
        own(images, target="y", categorical=["pen"])
    with pytest.raises(DataError, match=r"shape \(5, 5\), one of the training data \(5, 4\)"):
        own(images, target="y", validation=images | {"x": np.zeros((8, 5, 5), np.uint8)})
    with pytest.raises(DataError, match="the validation data has the columns"):
        own(images, target="y", drop="pen", validation=pd.DataFrame({"y": [3, 7], "v": [1, 2]}))


# Validation


def test_validation_may_be_another_file_without_the_fragment_column(tmp_path):
    train = written(FRAME, tmp_path / "own.csv")
    other = FRAME.iloc[[5, 1, 2]].assign(age=[1.0, 2, 3]).drop(columns=["site", "id"])
    held = written(other[other.columns[::-1]].reset_index(drop=True), tmp_path / "own.parquet")
    options = OPTIONS | {"drop": ["id", "seen"], "fragment": "site"}
    data = read_own(train, validation=held, **options)
    assert data.validation.x["age"].tolist() == [1, 2, 3]
    assert list(data.validation.x.columns) == list(data.fragments["A"].x.columns)
    assert data.validation.tags == {}
    assert data.validation.classes == ("no", "yes")
    assert data.validation.counts() == {"no": 3, "yes": 0}
    assert len(data.fragments["A"]) + len(data.fragments["B"]) == 12
    encode(data)


def test_a_frame_may_be_validated_on_a_file(tmp_path):
    path = written(FRAME, tmp_path / "own.csv")
    assert shared_rows(own(FRAME, validation=path, **OPTIONS)) == 12


def test_an_all_missing_validation_column_takes_the_training_kind():
    held = FRAME.assign(sex=np.nan)
    data = own(FRAME, validation=held, **OPTIONS)
    assert str(data.validation.x["sex"].dtype) == "category"
    encode(data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="age"), r"validation data lacks the columns \['age'\]"),
        (lambda f: f.assign(new=1), r"validation data has the columns \['new'\]"),
        (lambda f: f.assign(age="old"), "'age' of the validation data holds text, but numbers"),
        (lambda f: f.assign(sex=1.5), "'sex' of the validation data holds numbers, but text"),
        (lambda f: f.assign(ill="maybe"), "validation data has the class 'maybe', which the train"),
        (lambda f: f.drop(columns="ill"), "validation data has no column 'ill' to be the target"),
        (lambda f: f.iloc[:0], "validation data is empty"),
        (lambda f: f.assign(ill=None), "validation data is missing in 12 of 12"),
    ],
)
def test_validation_data_that_does_not_fit_is_refused(change, message):
    with pytest.raises(DataError, match=message):
        own(FRAME, validation=change(FRAME), **OPTIONS)


def test_a_column_only_in_the_validation_data_can_be_dropped():
    options = OPTIONS | {"drop": ["id", "new"]}
    assert "new" not in own(FRAME, validation=FRAME.assign(new=1), **options).validation.x


# Errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "il"}, "has no column 'il' to be the target; did you mean 'ill'"),
        ({"fragment": "sight"}, "no column 'sight' to be the fragment; did you mean 'site'"),
        ({"time": "sen", "window": "day"}, "'sen' to be the time; did you mean 'seen'"),
        ({"drop": ["idd"]}, "no column 'idd'; did you mean 'id'"),
        ({"categorical": ["codes"]}, "no column 'codes'; did you mean 'code'"),
        ({"fragment": "site", "time": "seen", "window": "day"}, "both fragment='site' and time="),
        ({"time": "seen"}, "time is 'seen' and window is None; give both"),
        ({"window": "day"}, "time is None and window is 'day'"),
        ({"fragment": "ill"}, "'ill' is given more than one use"),
        ({"drop": ["ill"]}, "'ill' is given more than one use"),
        ({"categorical": ["ill"]}, "'ill' is given more than one use"),
        ({"target": "age"}, "target 'age' of .* is missing in 1 of 12 rows, first in row 4"),
        ({"target": "id", "drop": []}, "12 different numbers in 12 rows and looks like a quantity"),
        ({"drop": ["id", "age", "sex", "code", "site", "seen"], "categorical": []}, "no input col"),
        ({"fragment": "sex"}, "'sex' is missing for 1 of 12"),
        ({"time": "sex", "window": "day"}, "'sex of .*' is missing or no time for 12 of 12"),
        ({"time": "seen", "window": 3}, "width is 3, but 'seen' holds dates"),
        ({"time": "seen", "window": "fortnight"}, "'fortnight' is not understood"),
    ],
)
def test_options_that_do_not_fit_the_file_are_refused(tmp_path, options, message):
    path = written(FRAME, tmp_path / "own.csv")
    with pytest.raises(DataError, match=message):
        read_own(path, **(OPTIONS | options))


def test_messages_name_the_file(tmp_path):
    path = written(FRAME, tmp_path / "own.parquet")
    with pytest.raises(DataError, match=r"own\.parquet has no column 'il'"):
        read_own(path, target="il")
    path = written(FRAME.assign(age=np.inf), tmp_path / "own.arrow")
    with pytest.raises(DataError, match=r"own\.arrow: .*'age' is infinite"):
        read_own(path, **OPTIONS)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME.assign(ill="no"), "has only the class 'no'"),
        (FRAME.iloc[:0], "is empty"),
        (FRAME.assign(age=[np.inf] + [1.0] * 11), "'age' is infinite"),
        (FRAME.assign(seen=pd.to_datetime(FRAME.seen)), "'seen' of the data holds dates"),
        (pd.concat([FRAME, FRAME[["age"]]], axis=1), "more than one column 'age'"),
        (pd.DataFrame([[1, 2, "a"]] * 2, columns=[1, "1", "ill"]), "more than one column '1'"),
    ],
)
def test_frames_that_cannot_be_learnt_from_are_refused(frame, message):
    with pytest.raises(DataError, match=message):
        own(frame, **(OPTIONS | {"categorical": ()}))


@pytest.mark.parametrize("column", ["v", "y"])
def test_lists_are_refused_unless_dropped(column):
    lists = pd.Series([[1], [2, 3], [4]], dtype=object)
    frame = pd.DataFrame({"v": [1.0, 2, 3], "y": [0, 1, 1]}).assign(**{column: lists})
    with pytest.raises(DataError, match=f"column '{column}' of the data holds a list in row 1"):
        own(frame, target="y")
    kept = frame.assign(y=[0, 1, 1], u=[1, 2, 3])
    assert list(own(kept, target="y", drop=["v"]).fragments["all"].x) == ["u"]


def test_only_frames_and_named_arrays_are_data():
    with pytest.raises(DataError, match="the data is a ndarray; it must be a data frame"):
        own(np.zeros((3, 2)), target="0")
    with pytest.raises(DataError, match="no column 'y' to be the target; there is none"):
        own({"x": np.zeros((3, 2))}, target="y")


def test_two_numbers_in_three_rows_are_still_classes():
    frame = pd.DataFrame({"v": [1.0, 2, 3], "y": [0, 1, 1]})
    assert own(frame, target="y").fragments["all"].classes == ("0", "1")


def test_one_name_may_stand_without_a_list():
    assert list(own(FRAME, target="ill", drop="id").fragments["all"].x)[0] == "age"


def test_column_names_that_are_numbers_become_text():
    frame = pd.DataFrame(np.arange(12).reshape(6, 2)).assign(y=[0, 1] * 3)
    assert list(own(frame, target="y").fragments["all"].x.columns) == ["0", "1"]


@pytest.mark.parametrize("how", ["absent", "empty"])
def test_validation_data_may_come_without_labels_if_none_are_needed(how):
    held = FRAME.drop(columns="ill") if how == "absent" else FRAME.assign(ill=None)
    data = own(FRAME, **OPTIONS, validation=held, needs_labels=False)
    assert not data.validation.is_labelled and data.fragments["all"].is_labelled
    assert set(data.validation.y) == {UNKNOWN} and data.validation.classes == ("no", "yes")
    assert data.validation.counts() == {"no": 0, "yes": 0}
    assert list(data.validation.x.columns) == list(data.fragments["all"].x.columns)
    with pytest.raises(DataError, match="'ill'"):
        own(FRAME, **OPTIONS, validation=held)


def test_labels_that_are_there_in_part_are_refused_even_if_none_are_needed():
    held = FRAME.assign(ill=FRAME["ill"].where(FRAME["id"] > 3))
    with pytest.raises(DataError, match="missing in 3 of 12 rows"):
        own(FRAME, **OPTIONS, validation=held, needs_labels=False)


def test_the_training_data_need_labels_whatever_is_said():
    with pytest.raises(DataError, match="has no column 'ill'"):
        own(FRAME.drop(columns="ill"), **OPTIONS, needs_labels=False)
