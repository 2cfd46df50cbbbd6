import numpy as np
import pytest
from hypothesis import given

from firecv.data.formats.headerless import read_pairs, read_values
from firecv.errors import FileFormatError
from tests.data.formats.damage import damaged, reads_or_complains

VALUES = "63.0,1,.7,0\n41,?,-2.5,1\n"
PAIRS = "1;10.000000 1:15596.162100 2:1.868245\n6 1:-2.5 2:1e3 \n"


def test_values_are_numbers_or_missing(tmp_path):
    (tmp_path / "a.data").write_text(VALUES)
    found = read_values(tmp_path / "a.data", ["a", "b", "c", "label"])
    assert list(found.columns) == ["a", "b", "c", "label"]
    np.testing.assert_array_equal(found, [[63, 1, 0.7, 0], [41, np.nan, -2.5, 1]])


def test_pairs_are_inputs_and_labels(tmp_path):
    (tmp_path / "a.dat").write_text(PAIRS)
    x, y = read_pairs(tmp_path / "a.dat", 2)
    np.testing.assert_array_equal(x, [[15596.1621, 1.868245], [-2.5, 1000]])
    assert y.tolist() == [1, 6] and y.dtype == np.int64


@pytest.mark.parametrize(
    "content", ["1,2\n1\n", "1,x\n", "1,\n", "1,nan\n", "1,2,3\n", "", "\n\n", "1,inf\n"]
)
def test_other_values_are_refused(tmp_path, content):
    (tmp_path / "a.data").write_text(content)
    with pytest.raises(FileFormatError, match=r"a\.data.* expected .*2 numbers"):
        read_values(tmp_path / "a.data", ["a", "b"])


@pytest.mark.parametrize(
    "content",
    ["1 1:2\n", "1 1:2 3:4\n", "1 2:2 1:4\n", "1.5 1:2 2:4\n", "x 1:2 2:4\n", "1 1:2 2:y\n", "1\n"],
)
def test_other_pairs_are_refused(tmp_path, content):
    (tmp_path / "a.dat").write_text(content)
    with pytest.raises(FileFormatError, match=r"a\.dat.* expected .*1:\.\.\. to 2:"):
        read_pairs(tmp_path / "a.dat", 2)


@given(content=damaged(VALUES.encode()))
def test_damaged_values_are_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "damaged.data"
    reads_or_complains(lambda path: read_values(path, list("abcd")), path, content)


@given(content=damaged(PAIRS.encode()))
def test_damaged_pairs_are_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "damaged.dat"
    reads_or_complains(lambda path: read_pairs(path, 2), path, content)
