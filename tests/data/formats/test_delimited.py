import csv
import gzip
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from firecv.data.formats.delimited import DELIMITERS, MISSING, read_delimited, typed
from firecv.errors import FileFormatError
from tests.data.formats.damage import damaged, reads_or_complains

FIXTURE = [HealthCheck.function_scoped_fixture]


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file and returns its path."""

    def write_file(content):
        content = content.encode() if isinstance(content, str) else content
        (tmp_path / "own.csv").write_bytes(content)
        return tmp_path / "own.csv"

    return write_file


@pytest.mark.parametrize("delimiter", DELIMITERS)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_every_delimiter_line_end_and_packing_is_read(write, delimiter, end, start, pack):
    text = f"age{delimiter}Größe{delimiter}site{end}41{delimiter}1.5{delimiter}A{end}"
    text += f"27{delimiter}-2e3{delimiter}Zürich{end}"
    frame = read_delimited(write(pack(start + text.encode())))
    expected = {"age": [41, 27], "Größe": [1.5, -2000.0], "site": ["A", "Zürich"]}
    assert frame.to_dict("list") == expected


@pytest.mark.parametrize("marker", MISSING)
def test_missing_markers_are_missing(write, marker):
    frame = read_delimited(write(f"n,t\n1,a\n{marker}, {marker}\n3,c\n"))
    assert frame.isna().to_numpy().tolist() == [[False] * 2, [True] * 2, [False] * 2]
    assert frame["n"].dtype == np.float64


@pytest.mark.parametrize("value", ["na", "#N/A", "-", "NULL", "NONE", "<NA>", "missing"])
def test_other_words_are_not_missing(write, value):
    assert read_delimited(write(f"t,u\n{value},1\n"))["t"].tolist() == [value]


def test_blanks_after_a_delimiter_do_not_count_outside_quotes(write):
    frame = read_delimited(write('a, b, c\n1, x, " y"\n2, ?, "z, z"\n'))
    assert frame.columns.tolist() == ["a", "b", "c"]
    assert frame["b"].isna().tolist() == [False, True]
    assert frame["c"].tolist() == [" y", "z, z"]


def test_delimiters_in_quoted_names_do_not_count(write):
    frame = read_delimited(write('"a;b;c;d",e\n1,2\n'))
    assert frame.columns.tolist() == ["a;b;c;d", "e"]


@pytest.mark.parametrize("tail", ["", "\n", "\n\n\n", "\n  \n", "\r\n\r\n"])
def test_empty_lines_at_the_end_are_fine(write, tail):
    assert read_delimited(write(f"a,b\n1,2{tail}"))["b"].tolist() == [2]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty or starts with an empty line"),
        ("\n1,2\n", "is empty or starts with an empty line"),
        ("\ufeff", "is empty or starts with an empty line"),
        ("a,b\n", "has a header and no rows"),
        ("a,b\n\n\n", "has a header and no rows"),
        ("a,b\n1\n", "line 2: there is 1 field; expected 2"),
        ("a,b\n1,2\n1,2,3\n", "line 3: there are 3 fields; expected 2"),
        ("a,b\n1,2,\n", "line 2: there are 3 fields; expected 2"),
        ('a,b\n"x\ny",2\n1\n', "line 4: there is 1 field"),
        ("a,b\n1,2\n\n3,4\n", "line 3: the line is empty"),
        ("a,b\n1,2\n  \n\n3,4\n", "line 3: the line is empty"),
        ("a,a\n1,2\n", "the header has 'a' more than once"),
        ("a,,b,\n1,2,3,4\n", "column 2, 4 has no name"),
        ('a,b\n1,"x\n2,y\n', "the record that starts on line 2.*a quote that is not closed"),
        ('a,b\n1,2\n1,"x"y\n', "the record that starts on line 3"),
        ("a,b\n1,2\0\n", "line 2: there is a NUL"),
        ("a,b\n1,2\n".encode("utf-16"), "not valid UTF-8"),
        ("a,b\n1,2\n".encode("utf-16-le"), "line 1: there is a NUL"),
        ("a,b\n1,é\n".encode("latin-1"), "0xe9 is not valid UTF-8"),
        ("a;b,c\n1;2,3\n", "line 1: comma and semicolon are equally frequent"),
        ("a,b\n1," + "x" * 200_000 + "\n", "field larger than field limit"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-4], "damaged"),
    ],
)
def test_broken_files_are_refused_with_their_line(write, content, message):
    with pytest.raises(FileFormatError, match=f"own.csv.*{message}"):
        read_delimited(write(content))


def test_a_table_of_one_column_may_have_missing_values_in_quotes(write):
    frame = read_delimited(write('a\n1\n""\n3\n'))
    np.testing.assert_array_equal(frame["a"], [1, np.nan, 3])


def test_numbers_are_read_to_the_last_digit(write):
    values = np.random.default_rng(0).normal(size=2000) * 10.0 ** np.arange(-100, 100, 0.1)
    text = "x,y\n" + "".join(f"{value!r},1\n" for value in values.tolist())
    assert read_delimited(write(text))["x"].tolist() == values.tolist()


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=120, deadline=None, suppress_health_check=FIXTURE)
@given(data=st.data(), delimiter=st.sampled_from(list(DELIMITERS)), n=st.integers(1, 6))
def test_tables_come_back_as_written(write, data, delimiter, n):
    names = data.draw(st.lists(TEXT.filter(str.strip), min_size=1, max_size=4, unique=True))
    columns = {
        name: data.draw(
            st.lists(data.draw(st.sampled_from([TEXT, NUMBERS])), min_size=n, max_size=n)
        )
        for name in names
    }
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([names, *zip(*columns.values(), strict=True)])
    # A name that starts with a byte order mark cannot be told from the mark of the file.
    frame = read_delimited(write("\ufeff" + stream.getvalue()))
    assert frame.columns.tolist() == names
    for name, values in columns.items():
        if isinstance(values[0], float):
            assert frame[name].tolist() == values
        elif pd.api.types.is_string_dtype(frame[name].dtype):
            found = frame[name].astype(object).where(frame[name].notna(), None).tolist()
            assert found == [None if value in MISSING else value for value in values]
        else:  # text that happens to be numbers, truth values or missing throughout
            assume(False)


@settings(max_examples=150, deadline=None, suppress_health_check=FIXTURE)
@given(data=st.data())
def test_damaged_files_read_or_complain(tmp_path, data):
    content = 'age;"the; site"\n41;"A ""quoted"" one"\n?;"two\nlines"\n1e3;Zürich\n'.encode()
    spoilt = data.draw(damaged(content))
    reads_or_complains(lambda path: typed(read_delimited(path)), tmp_path / "own.csv", spoilt)


@settings(max_examples=150, deadline=None, suppress_health_check=FIXTURE)
@given(content=st.one_of(st.binary(max_size=60), st.text('ab1,;\t|"\r\n ', max_size=40)))
def test_any_bytes_read_or_complain(tmp_path, content):
    content = content.encode() if isinstance(content, str) else content
    reads_or_complains(lambda path: typed(read_delimited(path)), tmp_path / "own.csv", content)
