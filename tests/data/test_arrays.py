import numpy as np
import pandas as pd
import pytest

from firecv.data import Arrays, Split, checksum
from firecv.data.arrays import UNKNOWN, duplicates
from firecv.errors import DataError

X = np.arange(12).reshape(4, 3)
Y = np.array([0, 1, 1, 0])


def table(**columns):
    return pd.DataFrame({"age": [1.0, 2.0, np.nan, 4.0]} | columns)


def test_labels_must_be_as_many_as_samples():
    with pytest.raises(DataError, match="4 samples and 3 labels"):
        Arrays(X, Y[:3], ("a", "b"))


def test_tags_must_be_as_many_as_samples():
    with pytest.raises(DataError, match="4 samples and 1 site"):
        Arrays(X, Y, ("a", "b"), {"site": np.array([1])})


@pytest.mark.parametrize("y", [[0, 1, 2, 0], [0, -1, 1, 0]])
def test_labels_must_have_a_class(y):
    with pytest.raises(DataError, match="must be 0 to 1"):
        Arrays(X, np.array(y), ("a", "b"))


@pytest.mark.parametrize("x", [X, table()], ids=["array", "table"])
def test_taking_rows_keeps_labels_and_tags_with_them(x):
    taken = Arrays(x, Y, ("a", "b"), {"site": np.array(list("stuv"))}).take([3, 1])
    assert taken.y.tolist() == [0, 1]
    assert taken.tags["site"].tolist() == ["v", "t"]
    assert np.array_equal(np.asarray(taken.x), np.asarray(x)[[3, 1]])


@pytest.mark.parametrize(
    "other",
    [
        Arrays(X + (X == 11), Y, ("a", "b")),
        Arrays(X, 1 - Y, ("a", "b")),
        Arrays(X, Y, ("a", "c")),
        Arrays(X, Y, ("a", "b"), {"site": Y}),
        Arrays(X.reshape(4, 3, 1), Y, ("a", "b")),
        Arrays(X.astype(float), Y, ("a", "b")),
        Arrays(X[::-1], Y, ("a", "b")),
    ],
)
def test_checksum_feels_every_change(other):
    assert checksum(Split(other)) != checksum(Split(Arrays(X, Y, ("a", "b"))))


def test_checksum_feels_a_missing_test_part():
    arrays = Arrays(X, Y, ("a", "b"))
    assert checksum(Split(arrays)) != checksum(Split(arrays, arrays))


def test_checksum_does_not_feel_byte_order_or_memory_layout():
    plain = checksum(Split(Arrays(X, Y, ("a", "b"))))
    assert checksum(Split(Arrays(X.astype(">i8"), Y.astype(">i8"), ("a", "b")))) == plain
    assert checksum(Split(Arrays(np.asfortranarray(X), Y, ("a", "b")))) == plain


def test_checksum_of_a_table_depends_on_text_not_on_how_it_is_stored():
    words = ["x", None, "y", "x"]
    a = table(word=pd.Categorical(words))
    b = table(word=pd.Categorical(words, categories=["unused", "y", "x"]))
    c = table(word=pd.Categorical(["x", None, "y", "z"]))
    first, second, third = (checksum(Split(Arrays(x, Y, ("a", "b")))) for x in (a, b, c))
    assert first == second != third


def test_duplicates_point_to_the_first_of_their_kind():
    frame = pd.DataFrame(
        {"n": [1.0, np.nan, 1.0, np.nan], "c": pd.Categorical(["u", "v", "u", "v"])}
    )
    assert duplicates(frame).tolist() == [0, 1, 0, 1]
    assert duplicates(np.array([[[1, 2]], [[1, 3]], [[1, 2]]])).tolist() == [0, 1, 0]
    assert duplicates(np.zeros((0, 3))).tolist() == []


def test_duplicates_take_minus_zero_for_zero():
    assert duplicates(np.array([[0.0], [-0.0]])).tolist() == [0, 0]


def test_labels_are_known_or_unknown_all_together():
    unknown = Arrays(X, np.full(4, UNKNOWN), ("a", "b"))
    assert not unknown.is_labelled and not unknown.take([0, 2]).is_labelled
    assert unknown.counts() == {"a": 0, "b": 0}
    assert Arrays(X, Y, ("a", "b")).is_labelled and Arrays(X[:0], Y[:0], ("a",)).is_labelled
    for y in ([UNKNOWN, 0, 1, 0], [-2, -2, UNKNOWN, -2]):
        with pytest.raises(DataError, match="must be 0 to 1"):
            Arrays(X, np.array(y), ("a", "b"))
