import numpy as np
import pytest
import scipy.io

from firecv.data.formats.svhn import read_svhn
from firecv.errors import FileFormatError

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
        ({"X": X}, "lacks y; it has X"),
        ({"x": X, "y": Y}, "lacks X; it has x, y"),
        ({"X": X.astype(float), "y": Y}, "X float64"),
        ({"X": X[:31], "y": Y}, r"\(31, 32, 3, 4\)"),
        ({"X": X, "y": Y[:3]}, r"y uint8 \(3, 1\)"),
        ({"X": X, "y": Y - 1}, "labels from 0 to 9"),
        ({"X": X, "y": Y + 1}, "labels from 2 to 11"),
        ({"X": X, "y": Y / 4}, "labels from 0.25 to 2.5"),
        ({"X": np.array([[1, "a"]], object), "y": Y}, "no array of real numbers but of class 1"),
        ({"X": X, "y": "text"}, "no array of real numbers but of class 4"),
    ],
)
def test_other_contents_are_refused(tmp_path, contents, message):
    with pytest.raises(FileFormatError, match=message) as caught:
        read_svhn(write(tmp_path / "a.mat", **contents))
    assert "a.mat" in str(caught.value)
