import numpy as np
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firecv.data.formats.svhn import read_svhn
from firecv.errors import FileFormatError
from tests.data.formats.damage import damaged, reads_or_complains

X = np.random.default_rng(0).integers(0, 256, (32, 32, 3, 4), dtype=np.uint8)
Y = np.array([[10], [1], [9], [10]], np.uint8)


def write(path, *, compress=True, **contents):
    scipy.io.savemat(path, contents, do_compression=compress)
    return path


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_images_come_first_and_ten_means_zero(tmp_path, compress, dtype):
    x, y = read_svhn(write(tmp_path / "a.mat", compress=compress, X=X, y=Y.astype(dtype)))
    assert x.shape == (4, 32, 32, 3) and x.flags.c_contiguous and x.dtype == np.uint8
    for n in range(4):
        np.testing.assert_array_equal(x[n], X[:, :, :, n])
    assert y.tolist() == [0, 1, 9, 0] and y.dtype == np.int64


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ({"X": X}, "y missing"),
        ({"x": X, "y": Y}, "X missing"),
        ({"X": X.astype(float), "y": Y}, "X double"),
        ({"X": X[:31], "y": Y}, r"\(31, 32, 3, 4\)"),
        ({"X": X, "y": Y[:3]}, r"y uint8 \(3, 1\)"),
        ({"X": X, "y": Y - 1}, "labels from 0 to 9"),
        ({"X": X, "y": Y + 1}, "labels from 2 to 11"),
        ({"X": X, "y": Y / 4}, "labels from 0.25 to 2.5"),
        ({"X": np.array([[1, "a"]], object), "y": Y}, "X cell"),
        ({"X": X, "y": np.array([[1], ["a"], [2], [3]], object)}, "y cell"),
    ],
)
def test_other_contents_are_refused(tmp_path, contents, message):
    with pytest.raises(FileFormatError, match=message):
        read_svhn(write(tmp_path / "a.mat", **contents))


def test_other_variables_are_not_read(tmp_path):
    extra = np.array([[{"code": 1}]], object)
    x, _ = read_svhn(write(tmp_path / "a.mat", extra=extra, X=X, y=Y))
    assert len(x) == 4


def test_a_newer_matlab_file_is_refused(tmp_path):
    head = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    (tmp_path / "a.mat").write_bytes(head + b"\x89HDF\r\n\x1a\n" + bytes(500))
    with pytest.raises(FileFormatError, match="a.mat.* is damaged or not a MATLAB 5 file"):
        read_svhn(tmp_path / "a.mat")


@pytest.mark.parametrize("content", [b"", b"\0" * 200, b"<html>" * 100])
def test_something_else_is_refused(tmp_path, content):
    (tmp_path / "a.mat").write_bytes(content)
    with pytest.raises(FileFormatError, match="a.mat"):
        read_svhn(tmp_path / "a.mat")


@pytest.mark.parametrize("compress", [True, False])
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damaged_files_read_or_complain(tmp_path, compress, data):
    tiny = {"X": np.zeros_like(X), "y": Y}
    content = write(tmp_path / "a.mat", compress=compress, **tiny).read_bytes()
    reads_or_complains(read_svhn, tmp_path / "a.mat", data.draw(damaged(content)))
