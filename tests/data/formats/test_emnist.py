import gzip
import zipfile

import numpy as np
import pytest

from firecv.data.formats.emnist import read_emnist
from firecv.errors import DataError, FileFormatError
from tests.data.formats.test_idx import idx_bytes


def write(path, variant, x, y, *, test_labels=None):
    """Write one variant as published, with the same samples in both parts."""
    with zipfile.ZipFile(path, "w") as pack:
        for part, labels in (("train", y), ("test", y if test_labels is None else test_labels)):
            stem = f"gzip/emnist-{variant}-{part}"
            pack.writestr(f"{stem}-images-idx3-ubyte.gz", gzip.compress(idx_bytes(x)))
            pack.writestr(f"{stem}-labels-idx1-ubyte.gz", gzip.compress(idx_bytes(labels)))
    return path


@pytest.fixture
def x():
    return np.random.default_rng(0).integers(0, 256, (3, 28, 28), dtype=np.uint8)


def test_images_are_turned_upright(tmp_path, x):
    y = np.array([0, 46, 3], np.uint8)
    x_train, y_train, x_test, y_test = read_emnist(
        write(tmp_path / "gzip.zip", "balanced", x, y), "balanced"
    )
    for found in (x_train, x_test):
        assert found.dtype == np.uint8 and found.flags.c_contiguous
        for image, stored in zip(found, x, strict=True):
            assert all(image[i, j] == stored[j, i] for i in range(28) for j in range(28))
    assert y_train.tolist() == y_test.tolist() == [0, 46, 3]
    assert y_train.dtype == np.int64


def test_letters_count_from_zero(tmp_path, x):
    path = write(tmp_path / "gzip.zip", "letters", x, np.array([1, 26, 2], np.uint8))
    assert read_emnist(path, "letters")[1].tolist() == [0, 25, 1]


@pytest.mark.parametrize(
    ("variant", "labels"),
    [("letters", [0, 1, 2]), ("letters", [27, 1, 2]), ("digits", [10, 1, 2]), ("digits", [1, 2])],
)
def test_labels_that_do_not_fit_are_refused(tmp_path, x, variant, labels):
    good = np.array([1, 2, 3], np.uint8)
    path = write(tmp_path / "g.zip", variant, x, good, test_labels=np.array(labels, np.uint8))
    with pytest.raises(FileFormatError, match=f"emnist-{variant}-test in .*g.zip"):
        read_emnist(path, variant)


def test_images_of_another_shape_are_refused(tmp_path, x):
    path = write(tmp_path / "g.zip", "mnist", x[:, :27], np.array([1, 2, 3], np.uint8))
    with pytest.raises(FileFormatError, match=r"uint8 \(3, 27, 28\)"):
        read_emnist(path, "mnist")


def test_a_variant_that_is_not_in_the_file_is_named(tmp_path, x):
    path = write(tmp_path / "g.zip", "digits", x, np.array([1, 2, 3], np.uint8))
    with pytest.raises(FileFormatError, match="lacks gzip/emnist-letters-train-images"):
        read_emnist(path, "letters")


def test_an_unknown_variant_is_refused():
    with pytest.raises(DataError, match="there is no EMNIST variant 'byname'"):
        read_emnist("gzip.zip", "byname")  # pyright: ignore[reportArgumentType]
