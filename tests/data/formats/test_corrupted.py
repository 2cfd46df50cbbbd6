import numpy as np
import pytest

from firecv.data.formats.corrupted import read_cifar_c, read_mnist_c
from firecv.errors import DataError, FileFormatError
from tests.data.formats.damage import peak_memory


def write_cifar(folder, n=2, **changes):
    rng = np.random.default_rng(0)
    arrays = {
        "fog": rng.integers(0, 256, (5 * n, 32, 32, 3), dtype=np.uint8),
        "labels": np.tile(rng.integers(0, 10, n, dtype=np.uint8), 5),
        **changes,
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return arrays


@pytest.mark.parametrize("severity", [1, 2, 5])
def test_a_severity_is_one_fifth_of_the_file(tmp_path, severity):
    arrays = write_cifar(tmp_path, n=3)
    x, y = read_cifar_c(tmp_path, "fog", severity)
    rows = range(3 * (severity - 1), 3 * severity)
    np.testing.assert_array_equal(x, [arrays["fog"][row] for row in rows])
    assert y.tolist() == [arrays["labels"][row] for row in rows]
    assert type(x) is type(y) is np.ndarray and y.dtype == np.int64


def test_one_severity_costs_the_memory_of_one(tmp_path):
    write_cifar(tmp_path, n=200)
    one = 200 * 3072
    assert one < peak_memory(lambda: read_cifar_c(tmp_path, "fog", 3)) < 1.5 * one


@pytest.mark.parametrize("severity", [0, 6, 2.5, "1"])
def test_other_severities_are_refused(tmp_path, severity):
    with pytest.raises(DataError, match="severities run from 1 to 5"):
        read_cifar_c(tmp_path, "fog", severity)


@pytest.mark.parametrize("name", ["rain", "labels", "../fog", "", "fog.npy"])
def test_an_unknown_corruption_is_refused_with_those_there(tmp_path, name):
    write_cifar(tmp_path)
    with pytest.raises(FileFormatError, match=f"has no corruption {name!r}; it has fog"):
        read_cifar_c(tmp_path, name, 1)


def test_a_missing_folder_has_no_corruptions(tmp_path):
    with pytest.raises(FileFormatError, match="gone' has no corruption 'fog'; it has nothing"):
        read_cifar_c(tmp_path / "gone", "fog", 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fog": np.zeros((10, 32, 32), np.uint8)}, r"uint8 \(10, 32, 32\)"),
        ({"fog": np.zeros((10, 32, 32, 3))}, "holds float64"),
        ({"fog": np.zeros((9, 32, 32, 3), np.uint8)}, "one whole number from 0 for each of 9"),
        (
            {"fog": np.zeros((9, 32, 32, 3), np.uint8), "labels": np.zeros(9, int)},
            "9 images; expected a multiple of 5",
        ),
        ({"labels": np.zeros(10)}, "holds float64"),
        ({"labels": np.full(10, -1)}, "whole number from 0"),
    ],
)
def test_arrays_that_were_not_published_so_are_refused(tmp_path, changes, message):
    write_cifar(tmp_path, **changes)
    with pytest.raises(FileFormatError, match=message):
        read_cifar_c(tmp_path, "fog", 1)


def test_missing_labels_are_named(tmp_path):
    write_cifar(tmp_path)
    (tmp_path / "labels.npy").unlink()
    with pytest.raises(FileFormatError, match=r"there is no file .*labels\.npy"):
        read_cifar_c(tmp_path, "fog", 1)


def test_mnist_c_is_read_part_by_part(tmp_path):
    (tmp_path / "stripe").mkdir()
    x = np.random.default_rng(0).integers(0, 256, (3, 28, 28, 1), dtype=np.uint8)
    for part, n in (("train", 3), ("test", 2)):
        np.save(tmp_path / "stripe" / f"{part}_images.npy", x[:n])
        np.save(tmp_path / "stripe" / f"{part}_labels.npy", np.arange(n))
    images, labels = read_mnist_c(tmp_path, "stripe", "test")
    np.testing.assert_array_equal(images, x[:2, :, :, 0])
    assert labels.tolist() == [0, 1] and type(images) is np.ndarray
    assert len(read_mnist_c(tmp_path, "stripe", "train")[0]) == 3
    with pytest.raises(DataError, match="parts train and test, got 'leftovers'"):
        read_mnist_c(tmp_path, "stripe", "leftovers")  # pyright: ignore[reportArgumentType]
    with pytest.raises(FileFormatError, match="has no corruption '..'; it has stripe"):
        read_mnist_c(tmp_path, "..", "test")
