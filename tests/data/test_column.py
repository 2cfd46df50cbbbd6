"""A piece per value of a tag."""

import math

import numpy as np
import pytest

from firecv.data.column import Column, column
from firecv.data.labels import named_codes, suggestion
from firecv.data.windows import Windows, windows
from firecv.errors import DataError
from firecv.seeding import derive
from tests.fragment_cases import check_contract, lists, tagged


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([10, 9, 10], ["9", "10"]),
        ([10.0, 9.0, 9.5], ["9", "9.5", "10"]),
        (["10", "9", "x"], ["10", "9", "x"]),
        (["10", "9", "9"], ["9", "10"]),
        ([True, False, True], ["False", "True"]),
        (np.array(["b", "a", 3], object), ["3", "a", "b"]),
    ],
)
def test_a_fragment_per_value_in_natural_order(values, names):
    cut = column(tagged(values), derive(0), Column("tag"))
    assert list(cut) == names
    for name, rows in cut.items():
        assert {named_codes(np.asarray(values)[rows])[0]} == {(name,)}


@pytest.mark.parametrize("values", [[1.0, math.nan, 2.0], np.array(["a", None, "b"], object)])
def test_missing_values_are_counted(values):
    with pytest.raises(DataError, match="'tag' is missing for 1 of 3"):
        column(tagged(values), derive(0), Column("tag"))


def test_an_unknown_tag_names_the_nearest():
    for cut in (
        lambda a: column(a, derive(0), Column("tak")),
        lambda a: windows(a, derive(0), Windows("tak", 1)),
    ):
        with pytest.raises(DataError, match="no tag 'tak'; did you mean 'tag'"):
            cut(tagged([1, 2]))
    assert suggestion("zzz", ["a", "b"]) == "there is 'a', 'b'"
    assert suggestion("zzz", []) == "there is none"


def test_small_values_are_refused_or_merged():
    arrays = tagged(list("aaaabbbccde"))
    with pytest.raises(DataError, match="3 values of 'tag' have fewer than 3 .* 'c' for one has 2"):
        column(arrays, derive(0), Column("tag", min_size=3))
    cut = column(arrays, derive(0), Column("tag", min_size=3, small="merge"))
    assert {name: len(rows) for name, rows in cut.items()} == {"a": 4, "b": 3, "rest": 4}
    check_contract(arrays, cut)


def test_the_rest_takes_the_next_smallest_if_it_is_too_small_itself():
    arrays = tagged(list("aaaabbbc"))
    cut = column(arrays, derive(0), Column("tag", min_size=3, small="merge"))
    assert {name: len(rows) for name, rows in cut.items()} == {"a": 4, "rest": 4}
    with pytest.raises(DataError, match="8 samples cannot make 1 fragments of at least 9"):
        column(arrays, derive(0), Column("tag", min_size=9, small="merge"))


def test_the_rest_never_hides_a_value_of_that_name():
    arrays = tagged(["rest"] * 3 + ["a", "b", "c"])
    cut = column(arrays, derive(0), Column("tag", min_size=3, small="merge"))
    assert lists(cut) == {"rest": [0, 1, 2], "(rest)": [3, 4, 5]}


def test_bad_column_settings_are_refused():
    with pytest.raises(DataError, match="small is 'join'"):
        Column("tag", small="join")
    with pytest.raises(DataError, match="min_size is 0"):
        Column("tag", min_size=0)
