import gzip

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firecv.data.formats.arff import read_arff
from firecv.errors import FileFormatError
from tests.data.formats.damage import damaged, reads_or_complains

FILE = r"""% A remark
@RELATION 'toy table'

@ATTRIBUTE size NUMERIC
@attribute 'a kind' {plain, 'with space', "with, comma", 'it\'s', '?'}   % five of them
@attribute count integer [0, 9]
@attribute note string
@attribute class {yes,no}
@DATA
% another
1.5,plain,3,'some words',yes
?,'with space',?,?,no
-2e3,"with, comma", 7 ,x,yes

0,'it\'s',0,'10%',?
1,'?',1,'?',no
2,?,1,7.0,no
"""


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file and returns its path."""

    def write_file(text):
        (tmp_path / "toy.arff").write_text(text, encoding="utf-8")
        return tmp_path / "toy.arff"

    return write_file


def texts(column):
    return [
        None if missing else value for value, missing in zip(column, column.isna(), strict=True)
    ]


def test_types_quotes_and_missing_values_are_read(write):
    frame = read_arff(write(FILE))
    assert frame.columns.tolist() == ["size", "a kind", "count", "note", "class"]
    np.testing.assert_array_equal(frame["size"], [1.5, np.nan, -2000, 0, 1, 2])
    np.testing.assert_array_equal(frame["count"], [3, np.nan, 7, 0, 1, 1])
    assert texts(frame["a kind"]) == ["plain", "with space", "with, comma", "it's", "?", None]
    assert texts(frame["note"]) == ["some words", None, "x", "10%", "?", "7"]
    assert texts(frame["class"]) == ["yes", "no", "yes", None, "no", "no"]
    assert [str(frame[name].dtype) for name in ("a kind", "note", "class")] == ["category"] * 3


def test_gzip_is_read(write, tmp_path):
    (tmp_path / "toy.arff.gz").write_bytes(gzip.compress(FILE.encode()))
    assert read_arff(tmp_path / "toy.arff.gz").equals(read_arff(write(FILE)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1.5,", "wide,", "line 11: 'size' is 'wide' there; expected a finite number"),
        ("plain,3", "odd,3", "line 11: 'a kind' is 'odd'; declared are plain, with space"),
        ("?,'with space',?,?,no", "?,'with space',?,?", "line 12: there are 4 values; expected 5"),
        ("?,'with space',?,?,no", "{0 1.5, 4 no}", "line 12: the row is sparse"),
        ("note string", "note date 'yyyy'", "line 7: 'note' has the type \"date 'yyyy'\""),
        ("note string", "note relational", "line 7: 'note' has the type 'relational'"),
        ("@DATA\n", "", "1.5,plain.* is no line of an ARFF header"),
        ("'some words'", "'some words", "line 11: a quote"),
        ("@RELATION", "@relates", "line 2"),
    ],
)
def test_broken_files_are_refused_by_line(write, old, new, message):
    assert old in FILE
    with pytest.raises(FileFormatError, match=message) as caught:
        read_arff(write(FILE.replace(old, new, 1)))
    assert "toy.arff" in str(caught.value)


@pytest.mark.parametrize("text", ["", "@relation x\n", "@data\n1\n", "@attribute a real\n@data\n"])
def test_files_without_a_table_are_refused(write, text):
    with pytest.raises(FileFormatError, match="toy.arff"):
        read_arff(write(text))


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damaged_files_read_or_complain(tmp_path, data):
    spoilt = data.draw(damaged(FILE.encode()))
    reads_or_complains(read_arff, tmp_path / "toy.arff", spoilt)
