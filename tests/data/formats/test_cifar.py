import io
import tarfile

import numpy as np
import pytest

from firecv.data.formats.cifar import read_cifar10, read_cifar100
from firecv.errors import FileFormatError

BATCHES = [f"cifar-10-batches-bin/data_batch_{n}.bin" for n in range(1, 6)]


def write(path, contents):
    with tarfile.open(path, "w:gz") as pack:
        for name, content in contents.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            pack.addfile(info, io.BytesIO(content))
    return path


def records(rng, n, *label_ranges):
    labels = np.stack([rng.integers(0, most, n) for most in label_ranges], 1).astype(np.uint8)
    images = rng.integers(0, 256, (n, 3, 32, 32), dtype=np.uint8)
    content = b"".join(
        bytes(row) + image.tobytes() for row, image in zip(labels, images, strict=True)
    )
    return labels, images, content


def test_cifar10_comes_with_channels_last_and_batches_in_order(tmp_path):
    rng = np.random.default_rng(0)
    parts = {
        name: records(rng, 3, 10) for name in [*BATCHES, "cifar-10-batches-bin/test_batch.bin"]
    }
    # Archives need not be in order.
    contents = {name: parts[name][2] for name in reversed(parts)}
    contents = {"cifar-10-batches-bin/readme.html": b"<html>", **contents}
    x_train, y_train, x_test, y_test = read_cifar10(write(tmp_path / "c.tar.gz", contents))
    stored = np.concatenate([parts[name][1] for name in BATCHES])
    np.testing.assert_array_equal(x_train, np.moveaxis(stored, 1, -1))
    assert y_train.tolist() == [int(label) for name in BATCHES for label in parts[name][0][:, 0]]
    labels, images, _ = parts["cifar-10-batches-bin/test_batch.bin"]
    np.testing.assert_array_equal(x_test, np.moveaxis(images, 1, -1))
    assert y_test.tolist() == labels[:, 0].tolist()
    assert x_train.flags.c_contiguous and x_train.dtype == np.uint8 and y_train.dtype == np.int64


@pytest.mark.parametrize("coarse", [False, True])
def test_cifar100_has_fine_and_coarse_labels(tmp_path, coarse):
    rng = np.random.default_rng(1)
    labels, images, train = records(rng, 4, 20, 100)
    _, _, test = records(rng, 2, 20, 100)
    contents = {"cifar-100-binary/train.bin": train, "cifar-100-binary/test.bin": test}
    path = write(tmp_path / "c.tar.gz", contents)
    x_train, y_train, x_test, _ = read_cifar100(path, coarse=coarse)
    np.testing.assert_array_equal(x_train, np.moveaxis(images, 1, -1))
    assert y_train.tolist() == labels[:, 0 if coarse else 1].tolist()
    assert len(x_test) == 2


@pytest.mark.parametrize(
    ("read", "folder", "published"),
    [
        (read_cifar10, "cifar-10-batches-py", "cifar-10-binary.tar.gz"),
        (read_cifar100, "cifar-100-python", "cifar-100-binary.tar.gz"),
    ],
)
def test_the_pickled_version_is_refused_and_the_right_file_named(tmp_path, read, folder, published):
    path = write(tmp_path / "c.tar.gz", {f"{folder}/data_batch_1": b"\x80\x02}q\x01."})
    with pytest.raises(FileFormatError, match=f"pickled.*never loaded. Get {published}"):
        read(path)


@pytest.mark.parametrize("change", [lambda c: c[:-1], lambda c: c + b"\0", lambda c: b""])
def test_broken_records_are_refused(tmp_path, change):
    _, _, content = records(np.random.default_rng(2), 2, 20, 100)
    contents = {"cifar-100-binary/train.bin": content, "cifar-100-binary/test.bin": change(content)}
    with pytest.raises(FileFormatError, match="test.bin' in .*expected records of 3,074 bytes"):
        read_cifar100(write(tmp_path / "c.tar.gz", contents))


def test_a_label_out_of_range_is_refused(tmp_path):
    _, _, content = records(np.random.default_rng(3), 1, 10)
    contents = dict.fromkeys([*BATCHES, "cifar-10-batches-bin/test_batch.bin"], content)
    contents[BATCHES[3]] = b"\x0a" + content[1:]
    with pytest.raises(FileFormatError, match="data_batch_4.bin.*has the label 10"):
        read_cifar10(write(tmp_path / "c.tar.gz", contents))


def test_an_archive_of_something_else_says_what_it_has(tmp_path):
    with pytest.raises(FileFormatError, match="lacks cifar-100-binary/train.bin.*it has notes.txt"):
        read_cifar100(write(tmp_path / "c.tar.gz", {"notes.txt": b"hello"}))
