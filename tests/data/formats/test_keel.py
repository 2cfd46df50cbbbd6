import gzip
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firecv.data.formats.keel import read_keel
from firecv.errors import FileFormatError
from tests.data.formats.damage import damaged, reads_or_complains

FILE = """@relation  toy
@attribute Sex {M, F}
@Attribute Age integer[7,78]
@attribute Class{1.0,2}
@attribute Ratio real [0.0, 1.0]
@inputs Sex, Age, Ratio
@outputs Class
@data
M, 48, 1.0, 0.25
F,<null>,2,?
<null>, 99, 3 ,1.5e1
"""


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file and returns its path."""

    def write_file(text):
        (tmp_path / "toy.dat").write_text(text, encoding="utf-8")
        return tmp_path / "toy.dat"

    return write_file


def check(frame):
    assert frame.columns.tolist() == ["Sex", "Age", "Ratio", "Class"]
    assert [str(dtype) for dtype in frame.dtypes] == ["category", "float64", "float64", "category"]
    assert frame["Sex"].tolist()[:2] == ["M", "F"] and frame["Sex"].isna().tolist()[2]
    np.testing.assert_array_equal(frame["Age"], [48, np.nan, 99])
    np.testing.assert_array_equal(frame["Ratio"], [0.25, np.nan, 15])
    assert frame["Class"].tolist() == ["1", "2", "3"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_types_missing_values_and_the_output_are_read(write, end):
    path = write("")
    path.write_bytes(FILE.replace("\n", end).encode())
    check(read_keel(path))


def test_gzip_is_read(tmp_path):
    (tmp_path / "toy.dat.gz").write_bytes(gzip.compress(FILE.encode()))
    check(read_keel(tmp_path / "toy.dat.gz"))


def zipped(path, names):
    with zipfile.ZipFile(path, "w") as pack:
        for name in names:
            pack.writestr(name, FILE)
    return path


@pytest.mark.parametrize(
    "names",
    [
        ["toy.dat"],
        ["toy/toy.dat", "toy-names.txt", "toy-5-1tra.dat", "toy-5-1tst.dat", "toy-tra.dat"],
        ["extra.dat"],
    ],
)
def test_the_one_whole_table_in_a_zip_is_read(tmp_path, names):
    check(read_keel(zipped(tmp_path / "toy.zip", names)))


@pytest.mark.parametrize(
    ("names", "n"), [(["a.dat", "b.dat"], 2), (["toy-10-1tra.dat"], 0), (["readme"], 0)]
)
def test_a_zip_without_one_whole_table_is_refused(tmp_path, names, n):
    with pytest.raises(FileFormatError, match=f"has {n} .dat files that are not folds"):
        read_keel(zipped(tmp_path / "toy.zip", names))


def test_without_outputs_the_last_attribute_is_the_output(write):
    text = FILE.replace("@inputs Sex, Age, Ratio\n@outputs Class\n", "")
    assert read_keel(write(text)).columns.tolist() == ["Sex", "Age", "Class", "Ratio"]


def test_names_of_outputs_are_found_in_any_case(write):
    frame = read_keel(write(FILE.replace("@outputs Class", "@OUTPUT class")))
    assert frame.columns[-1] == "Class"


@pytest.mark.parametrize("line", ["% a remark\n", "#@inputs Sex\n", "\n", "  \n"])
def test_remarks_and_empty_lines_are_passed_over(write, line):
    check(read_keel(write(line + FILE.replace("@inputs", f"{line}@inputs") + line)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("48", "old", "line 9: 'Age' is 'old' there; expected a finite number"),
        ("48", "", "line 9: there is nothing where a value should be"),
        ("F,<null>,2,?", "F,<null>,2", "line 10: there are 3 values; expected 4"),
        ("F,<null>,2,?", "F,<null>,2,?,?", "line 10: there are 5 values; expected 4"),
        ("@data\n", "", "line 8: 'M, 48.* is no line of a KEEL header"),
        ("@outputs Class", "@outputs Klass", "names the outputs Klass"),
        ("integer[7,78]", "text", "line 3: 'Age' has the type 'text'"),
        ("Age integer", "Sex integer", "declares no attributes, or one twice: Sex, Sex"),
        ("@relation", "@relations", "line 1: '@relations  toy' is no line"),
        ("M, 48", "'M, 48", "line 9: a quote after character 0 is not closed"),
    ],
)
def test_broken_files_are_refused_by_line(write, old, new, message):
    assert old in FILE
    with pytest.raises(FileFormatError, match=message) as caught:
        read_keel(write(FILE.replace(old, new, 1)))
    assert "toy.dat" in str(caught.value)


@pytest.mark.parametrize("text", ["", "@relation x\n", "@data\n", "@attribute a real\n@data\n"])
def test_files_without_a_table_are_refused(write, text):
    with pytest.raises(FileFormatError, match="toy.dat"):
        read_keel(write(text))


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damaged_files_read_or_complain(tmp_path, data):
    spoilt = data.draw(damaged(FILE.encode()))
    reads_or_complains(read_keel, tmp_path / "toy.dat", spoilt)


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damaged_zips_read_or_complain(tmp_path, data):
    content = zipped(tmp_path / "toy.zip", ["toy.dat"]).read_bytes()
    reads_or_complains(read_keel, tmp_path / "toy.zip", data.draw(damaged(content)))
