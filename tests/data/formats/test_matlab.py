import zlib

import numpy as np
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from firecv.data.formats.matlab import read_matlab
from firecv.errors import FileFormatError
from tests.data.formats.damage import damaged, peak_memory, reads_or_complains

TYPES = "uint8 int8 uint16 int16 uint32 int32 uint64 int64 float32 float64".split()


def write(path, *, compress=True, **contents):
    scipy.io.savemat(path, contents, do_compression=compress)
    return path


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), dtype=st.sampled_from(TYPES), compress=st.booleans())
def test_what_scipy_writes_comes_back(tmp_path, data, dtype, compress):
    shape = data.draw(hnp.array_shapes(min_dims=2, max_dims=4, min_side=0, max_side=4))
    array = data.draw(hnp.arrays(dtype, shape))
    path = write(tmp_path / "a.mat", compress=compress, first=np.zeros((2, 3)), values=array)
    found = read_matlab(path, ["values"])
    assert list(found) == ["values"] and found["values"].dtype == np.dtype(dtype)
    np.testing.assert_array_equal(found["values"], array)


@pytest.mark.parametrize("compress", [False, True])
def test_variables_of_other_kinds_are_passed_over(tmp_path, compress):
    others = {
        "cell": np.array([[1, "a"]], object),
        "structure": {"field": 1},
        "text": "hello",
        "sparse": scipy.sparse.eye(3).tocsc(),
        "complex": np.array([[1j]]),
        "a_name_of_more_than_four_letters": 1,
    }
    path = write(tmp_path / "a.mat", compress=compress, **others, y=np.array([[1], [2]]), z=3)
    found = read_matlab(path, ["y", "z"])
    assert found["y"].tolist() == [[1], [2]] and found["z"].tolist() == [[3]]
    for name in ("cell", "structure", "text", "sparse", "complex"):
        with pytest.raises(FileFormatError, match=f"variable '{name}', is no array of real"):
            read_matlab(path, [name])


def test_doubles_stored_as_small_integers_are_doubles(tmp_path):
    path = write(tmp_path / "a.mat", compress=False, y=np.array([[1.0], [10.0]]))
    content = bytearray(path.read_bytes())
    at = content.index(np.array([1.0, 10.0]).tobytes()) - 8
    element = np.array([2, 16], "<u4").tobytes() + bytes([1, 10] + [3] * 14)
    content[at : at + 24] = element  # sixteen bytes instead of two doubles
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="16 bytes of type 2 for the shape"):
        read_matlab(path, ["y"])
    content[at : at + 24] = np.array([2 | 2 << 16], "<u4").tobytes() + bytes([1, 10]) + bytes(18)
    path.write_bytes(content)
    found = read_matlab(path, ["y"])["y"]
    assert found.dtype == np.float64 and found.tolist() == [[1.0], [10.0]]


def test_files_of_the_other_byte_order_are_read(tmp_path):
    def element(kind, dtype, values):
        body = np.array(values, dtype).tobytes()
        return np.array([kind, len(body)], ">u4").tobytes() + body + bytes(-len(body) % 8)

    matrix = (
        element(6, ">u4", [10, 0])
        + element(5, ">i4", [2, 1])
        + element(1, "u1", [ord("y")])
        + element(3, ">i2", [258, -1])
    )
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI"
    content = head + np.array([14, len(matrix)], ">u4").tobytes() + matrix
    (tmp_path / "a.mat").write_bytes(content)
    assert read_matlab(tmp_path / "a.mat", ["y"])["y"].tolist() == [[258], [-1]]
    assert scipy.io.loadmat(tmp_path / "a.mat")["y"].tolist() == [[258], [-1]]


def test_a_newer_matlab_file_is_refused_with_the_way_out(tmp_path):
    head = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    (tmp_path / "a.mat").write_bytes(head + b"\x89HDF\r\n\x1a\n" + bytes(500))
    with pytest.raises(FileFormatError, match="a.mat' starts with .*save with -v7"):
        read_matlab(tmp_path / "a.mat", ["y"])


@pytest.mark.parametrize("content", [b"", b"\0" * 200, b"<html>" * 100])
def test_something_else_is_refused(tmp_path, content):
    (tmp_path / "a.mat").write_bytes(content)
    with pytest.raises(FileFormatError, match="a.mat' starts with .*expected a MATLAB 5 file"):
        read_matlab(tmp_path / "a.mat", ["y"])


def test_a_name_given_twice_is_refused(tmp_path):
    content = write(tmp_path / "a.mat", y=1).read_bytes()
    (tmp_path / "a.mat").write_bytes(content + content[128:])
    with pytest.raises(FileFormatError, match="has 'y' twice"):
        read_matlab(tmp_path / "a.mat", ["y"])


def test_a_wrong_checksum_is_refused(tmp_path):
    path = write(tmp_path / "a.mat", y=np.arange(100.0))
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="incorrect data check"):
        read_matlab(path, ["y"])


@pytest.mark.parametrize("compress", [False, True])
def test_sizes_that_lie_cost_no_memory(tmp_path, compress):
    path = write(tmp_path / "a.mat", compress=False, y=np.zeros((4, 4)))
    content = path.read_bytes()
    lies = np.array([60_000, 60_000], "<i4").tobytes()  # 60,000 squared doubles
    content = content.replace(np.array([4, 4], "<i4").tobytes(), lies)
    if compress:
        packed = zlib.compress(content[128:])
        content = content[:128] + np.array([15, len(packed)], "<u4").tobytes() + packed
    path.write_bytes(content)

    def read():
        with pytest.raises(FileFormatError, match="expected 28,800,000,000, it is damaged"):
            read_matlab(path, ["y"])

    assert peak_memory(read) < 5_000_000


@pytest.mark.parametrize("compress", [True, False])
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damaged_files_read_or_complain(tmp_path, compress, data):
    contents = {"X": np.zeros((2, 3, 4), np.uint8), "y": np.array([[10], [1]])}
    content = write(tmp_path / "a.mat", compress=compress, **contents).read_bytes()
    spoilt = data.draw(damaged(content))
    reads_or_complains(lambda path: read_matlab(path, ["X", "y"]), tmp_path / "a.mat", spoilt)
