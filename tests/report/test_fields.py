import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.errors import FileFormatError
from firecv.report.fields import Fields, shown_text

GIVEN = Fields(
    "part.json",
    {
        "name": "Kiel",
        "level": 0.05,
        "unknown": None,
        "wrong": math.nan,
        "endless": math.inf,
        "huge": 10**400,
        "yes": True,
        "names": ["a", "b"],
        "rows": [{"a": 1}, {"a": "x"}],
        "inner": {"b": 2},
        "mixed": ["a", 1],
    },
)


def test_values_are_given_as_they_are():
    assert (GIVEN.text("name"), GIVEN.number("level"), GIVEN.flag("yes")) == ("Kiel", 0.05, True)
    assert GIVEN.texts("names") == ["a", "b"] and GIVEN.inner("inner").number("b") == 2
    assert [row.values for row in GIVEN.rows("rows")] == [{"a": 1}, {"a": "x"}]


@pytest.mark.parametrize("name", ["unknown", "wrong", "endless", "huge", "elsewhere"])
def test_numbers_that_are_not_known_are_none(name):
    assert GIVEN.number(name) is None


def test_what_is_not_there_is_not_so_and_empty():
    assert GIVEN.flag("elsewhere") is False and GIVEN.numbers("elsewhere") == []
    assert GIVEN.inner("elsewhere").values == {} and not GIVEN.has("unknown")


@pytest.mark.parametrize(
    ("ask", "name"),
    [
        (Fields.text, "level"),
        (Fields.text, "elsewhere"),
        (Fields.number, "yes"),
        (Fields.number, "name"),
        (Fields.count, "level"),
        (Fields.count, "unknown"),
        (Fields.flag, "level"),
        (Fields.texts, "mixed"),
        (Fields.texts, "name"),
        (Fields.numbers, "mixed"),
        (Fields.inner, "names"),
        (Fields.rows, "names"),
        (Fields.rows, "inner"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_the_wrong_kind_is_an_error_that_says_where(ask, name):
    with pytest.raises(FileFormatError, match=r"^part\.json.*run the command that wrote it again$"):
        ask(GIVEN, name)


def test_an_error_in_a_row_names_the_row():
    with pytest.raises(FileFormatError, match="part.json, rows 2 holds 'x' as 'a'"):
        GIVEN.rows("rows")[1].number("a")


def test_a_long_value_is_cut_short_in_the_message():
    with pytest.raises(FileFormatError) as caught:
        Fields("f", {"a": "x" * 5000}).number("a")
    assert len(str(caught.value)) < 200


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(), max_size=30))
def test_shown_texts_can_be_written_and_hold_no_controls(text):
    shown = shown_text(text)
    shown.encode("utf-8")
    assert len(shown) == len(text) and not any(ord(char) < 32 for char in shown)


def test_half_of_a_pair_becomes_a_sign_that_can_be_written():
    assert shown_text("a\ud800b\nc\u2028d") == "a\ufffdb c d"
