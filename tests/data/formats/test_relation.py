import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.data.formats.relation import Attribute, Row, parse_attribute, parse_values, table
from firecv.errors import FileFormatError


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("@attribute A1 real [0.0, 1.0]", Attribute("A1", "real [0.0, 1.0]")),
        ("@ATTRIBUTE A1 REAL[0,1]", Attribute("A1", "real[0,1]")),
        ("@attribute\tA1\tnumeric % in mm", Attribute("A1", "numeric")),
        ("@attribute X{a,b}", Attribute("X", "nominal", ("a", "b"))),
        ("@attribute X  { a , b c }", Attribute("X", "nominal", ("a", "b c"))),
        ("@attribute X {a} % of {a, b}", Attribute("X", "nominal", ("a",))),
        ("@attribute X {'a}', \"b,c\"}", Attribute("X", "nominal", ("a}", "b,c"))),
        ("@attribute 'the name' string", Attribute("the name", "string")),
        (r"@attribute 'it\'s' string", Attribute("it's", "string")),
        ("@attribute a(b)/c-d=e% real", Attribute("a(b)/c-d=e%", "real")),
        ("@attribute X {}", Attribute("X", "nominal")),
    ],
)
def test_declarations_are_read(declaration, expected):
    assert parse_attribute(declaration, "line 1") == expected


@pytest.mark.parametrize(
    "declaration",
    [
        *(
            "@attribute",
            "@attribute X",
            "@attribute X {a",
            "@attribute 'X real",
            "@attribute X {a}b",
        ),
        *("@attribute X {a,,b}", "@attribute X {'a}", "@attribute {a}", "@attribute X {'a'b}"),
    ],
)
def test_broken_declarations_are_refused_with_their_line(declaration):
    with pytest.raises(FileFormatError, match="^line 7: "):
        parse_attribute(declaration, "line 7")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1,2", ["1", "2"]),
        (" 1 ,\t?,<null> ", ["1", None, "<null>"]),
        ("'?',?", ["?", None]),
        ("'a, b',\"c'd\"", ["a, b", "c'd"]),
        (r"'a\'b\\c\td'", ["a'b\\c\td"]),
        ("o'brien,x", ["o'brien", "x"]),
        ("'',x", ["", "x"]),
        ("x", ["x"]),
    ],
)
def test_lines_are_split(line, expected):
    assert parse_values(line, "line 1", missing=["?"]) == expected


@pytest.mark.parametrize("line", ["1,,2", "1,2,", ",", "'a', ", "'a", "'a'b", "'a' b,c", "x,'a"])
def test_broken_lines_are_refused_with_their_number(line):
    with pytest.raises(FileFormatError, match="^line 7: "):
        parse_values(line, "line 7")


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1), st.sampled_from("'\"")
)
def test_quoted_values_come_back(values, quote):
    escaped = [v.replace("\\", "\\\\").replace(quote, f"\\{quote}") for v in values]
    line = " , ".join(f"{quote}{value}{quote}" for value in escaped)
    if "\n" not in line:
        assert parse_values(line, "line 1", missing=["?"]) == values


def test_a_hostile_line_takes_no_time():
    with pytest.raises(FileFormatError):
        parse_values("'" + "\\'" * 500_000, "line 1")
    parse_values("x" + " " * 1_000_000 + "y,'z'", "line 1")
    with pytest.raises(FileFormatError):
        parse_attribute("@attribute X {" + "'\\'" * 300_000, "line 1")


NUMBER, WORD = Attribute("n", "real"), Attribute("w", "nominal", ("a", "b"))


def test_columns_get_the_types_declared():
    frame = table([NUMBER, WORD], [Row(3, ["1", "b"]), Row(4, [None, None])], "'x'")
    assert [str(dtype) for dtype in frame.dtypes] == ["float64", "category"]
    assert frame["w"].cat.categories.tolist() == ["b"]
    assert frame.isna().to_numpy().tolist() == [[False, False], [True, True]]


@pytest.mark.parametrize("value", ["x", "nan", "inf", "1e999", "1_000", "0x10", "1 2", "--1"])
def test_what_is_no_number_is_refused_with_its_line(value):
    with pytest.raises(FileFormatError, match=f"'x', line 9: 'n' is {value!r} there"):
        table([NUMBER], [Row(8, ["1"]), Row(9, [value])], "'x'")


@pytest.mark.parametrize("values", [["1"], ["1", "a", "b"]])
def test_a_ragged_row_is_refused_with_its_line(values):
    with pytest.raises(
        FileFormatError, match=f"line 9: there are {len(values)} values; expected 2"
    ):
        table([NUMBER, WORD], [Row(9, values)], "'x'")


@pytest.mark.parametrize("attributes", [[], [NUMBER, NUMBER]])
def test_no_attributes_or_one_twice_are_refused(attributes):
    with pytest.raises(FileFormatError, match="declares no attributes, or one twice"):
        table(attributes, [], "'x'")


def test_a_table_without_rows_is_refused():
    with pytest.raises(FileFormatError, match="has no rows"):
        table([NUMBER], [], "'x'")
