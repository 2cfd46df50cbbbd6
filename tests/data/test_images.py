"""Every published form of an image data set, on tiny files of that form."""

import gzip
import io
import json
import struct
import tarfile
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import scipy.io

from firecv.data import datasets
from firecv.data.catalogue import DATASETS
from firecv.data.images import KANNADA_FILES, MNIST_FILES, QMNIST_FILES
from firecv.data.published_corruptions import CIFAR_C, MNIST_C
from firecv.errors import FileFormatError

RNG = np.random.default_rng(0)
TYPES = {"uint8": 8, "int32": 12}


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("FIRECV_CACHE", str(tmp_path))
    monkeypatch.delenv("FIRECV_DATA", raising=False)
    return tmp_path


@pytest.fixture
def load(monkeypatch):
    """Return a function that loads a data set said to be as small as its files are."""

    def load_small(name, n_train, n_test=0):
        small = replace(DATASETS[name], n_train=n_train, n_test=n_test, checksum=None)
        monkeypatch.setitem(DATASETS, name, small)
        return datasets.load(name)

    return load_small


def idx(array):
    header = struct.pack(f">HBB{array.ndim}I", 0, TYPES[array.dtype.name], array.ndim, *array.shape)
    return gzip.compress(header + array.astype(array.dtype.newbyteorder(">")).tobytes())


def images(n, *shape):
    return RNG.integers(0, 256, (n, *shape), dtype=np.uint8)


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def write_four(folder, names, n_train, n_test, n_columns=None):
    """Write four idx files; return what they hold."""
    found = []
    for name, n in zip(names, (n_train, n_train, n_test, n_test), strict=True):
        array = images(n, 28, 28)
        if "labels" in name or name.startswith("y_"):
            array = RNG.integers(0, 10, n).astype(np.uint8)
            if n_columns:
                array = RNG.integers(0, 10, (n, n_columns)).astype(np.int32)
        write(folder / name, idx(array))
        found.append(array)
    return found


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("mnist", MNIST_FILES),
        ("fashion_mnist", MNIST_FILES),
        ("kmnist", MNIST_FILES),
        ("kannada_mnist", KANNADA_FILES),
    ],
)
def test_four_idx_files(root, load, name, files):
    x_train, y_train, x_test, y_test = write_four(root / name, files, 4, 3)
    split = load(name, 4, 3)
    assert np.array_equal(split.train.x, x_train) and np.array_equal(split.test.x, x_test)
    assert np.array_equal(split.train.y, y_train) and np.array_equal(split.test.y, y_test)


def test_the_kannada_test_part_stands_alone(root, load):
    _, _, x, y = write_four(root / "kannada_mnist", KANNADA_FILES, 2, 3)
    split = load("kannada_mnist_test", 3)
    assert np.array_equal(split.train.x, x) and np.array_equal(split.train.y, y)
    assert split.test is None


def test_the_partial_kmnist_is_the_beginning_of_the_whole(root, load):
    x, y, _, _ = write_four(root / "kmnist", MNIST_FILES, 6290, 3)
    split = load("kmnist_partial", 6284, 3)
    assert np.array_equal(split.train.x, x[:6284]) and np.array_equal(split.train.y, y[:6284])


def test_qmnist_has_writers(root, load):
    _, train, _, test = write_four(root / "qmnist", QMNIST_FILES, 4, 3, n_columns=8)
    split = load("qmnist", 4, 3)
    assert np.array_equal(split.train.y, train[:, 0])
    assert np.array_equal(split.test.tags["writer"], test[:, 2])


def test_mnist_by_writer_joins_images_and_extended_labels(root, load):
    _, y_train, _, y_test = write_four(root / "mnist", MNIST_FILES, 4, 3)
    train, test = RNG.integers(0, 9, (4, 8)), RNG.integers(0, 9, (5, 8))
    train[:, 0], test[:3, 0] = y_train, y_test  # QMNIST has more test digits than MNIST
    for name, labels in zip(QMNIST_FILES[1::2], (train, test), strict=True):
        write(root / "qmnist" / name, idx(labels.astype(np.int32)))
    split = load("mnist_by_writer", 4, 3)
    assert np.array_equal(split.train.tags["writer"], train[:, 2])
    assert np.array_equal(split.test.tags["writer"], test[:3, 2])
    write(root / "qmnist" / QMNIST_FILES[1], idx(((train + 1) % 10).astype(np.int32)))
    with pytest.raises(FileFormatError, match="do not belong to the MNIST images"):
        load("mnist_by_writer", 4, 3)


@pytest.mark.parametrize("variant", ["balanced", "letters", "digits"])
def test_emnist(root, load, variant):
    first = int(variant == "letters")  # letters are numbered from 1 on disk
    x, y = images(5, 28, 28), np.arange(first, first + 5, dtype=np.uint8)
    path = root / "emnist" / "gzip.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as pack:
        for part in ("train", "test"):
            stem = f"gzip/emnist-{variant}-{part}"
            pack.writestr(f"{stem}-images-idx3-ubyte.gz", idx(x))
            pack.writestr(f"{stem}-labels-idx1-ubyte.gz", idx(y))
    split = load(f"emnist_{variant}", 5, 5)
    assert np.array_equal(split.train.x, x.transpose(0, 2, 1))
    assert split.train.y.tolist() == [0, 1, 2, 3, 4]


def write_cifar(path, sizes, n_labels):
    """Write a binary CIFAR archive; return images by member."""
    path.parent.mkdir(parents=True)
    found = {}
    with tarfile.open(path, "w:gz", compresslevel=0) as pack:
        for member, n in sizes.items():
            x, y = images(n, 3, 32, 32), (np.arange(n) % 10).astype(np.uint8)
            labels = [y] if n_labels == 1 else [y * 0, y]
            rows = np.concatenate([*(part[:, None] for part in labels), x.reshape(n, -1)], axis=1)
            info = tarfile.TarInfo(member)
            info.size = rows.nbytes
            pack.addfile(info, io.BytesIO(rows.tobytes()))
            found[member] = x.transpose(0, 2, 3, 1)
    return found


def write_cifar10(root, n_batch, n_test):
    batches = {f"cifar-10-batches-bin/data_batch_{i}.bin": n_batch for i in range(1, 6)}
    sizes = batches | {"cifar-10-batches-bin/test_batch.bin": n_test}
    return write_cifar(root / "cifar10" / "cifar-10-binary.tar.gz", sizes, 1)


def test_cifar10(root, load):
    held = write_cifar10(root, 2, 3)
    split = load("cifar10", 10, 3)
    assert np.array_equal(split.train.x, np.concatenate(list(held.values())[:5]))
    assert split.test.y.tolist() == [0, 1, 2]


def test_the_cifar10_subset_is_drawn_class_by_class(root, load):
    write_cifar10(root, 4100, 5050)
    split = load("cifar10_20k", 20000, 5000)
    assert set(split.train.counts().values()) == {2000}
    assert set(split.test.counts().values()) == {500}
    rng, of_class = np.random.default_rng(1), [np.arange(c, 5050, 10) for c in range(10)]
    rows = np.sort(np.concatenate([rng.permutation(rows)[:500] for rows in of_class]))
    whole = load("cifar10", 20500, 5050)
    assert np.array_equal(split.test.x, whole.test.x[rows])


def test_cifar100(root, load):
    sizes = {"cifar-100-binary/train.bin": 4, "cifar-100-binary/test.bin": 2}
    held = write_cifar(root / "cifar100" / "cifar-100-binary.tar.gz", sizes, 2)
    split = load("cifar100", 4, 2)
    assert np.array_equal(split.train.x, held["cifar-100-binary/train.bin"])
    assert split.train.y.tolist() == [0, 1, 2, 3]


def test_svhn(root, load):
    (root / "svhn").mkdir()
    x = images(3, 32, 32, 3)
    for part in ("train", "test"):
        content = {"X": np.moveaxis(x, 0, -1), "y": np.array([[10], [1], [9]], np.uint8)}
        scipy.io.savemat(root / "svhn" / f"{part}_32x32.mat", content, do_compression=True)
    split = load("svhn", 3, 3)
    assert np.array_equal(split.train.x, x) and split.test.y.tolist() == [0, 1, 9]


def test_femnist(root, load):
    pixels = RNG.random((3, 784)).round(3)
    users = {"f1": {"x": pixels[:2].tolist(), "y": [5, 61]}, "f2": {"x": [[1.0] * 784], "y": [0]}}
    content = {"users": ["f1", "f2"], "num_samples": [2, 1], "user_data": users}
    write(root / "femnist" / "data" / "all_data_0.json", json.dumps(content).encode())
    split = load("femnist", None)
    assert split.train.x.shape == (3, 28, 28) and split.train.x[2].min() == 255
    assert split.train.tags["writer"].tolist() == ["f1", "f1", "f2"]


@pytest.mark.parametrize("name", ["cifar10_c", "cifar100_c"])
def test_cifar_c(root, load, name):
    folder = root / name / {"cifar10_c": "CIFAR-10-C", "cifar100_c": "CIFAR-100-C"}[name]
    folder.mkdir(parents=True)
    np.save(folder / "labels.npy", np.tile(np.array([3, 5], np.uint8), 5))
    held = {kind: images(10, 32, 32, 3) for kind in CIFAR_C}
    for kind, x in held.items():
        np.save(folder / f"{kind}.npy", x)
    arrays = load(name, 150).train
    chosen = (arrays.tags["corruption"] == "fog") & (arrays.tags["severity"] == 4)
    assert np.array_equal(arrays.x[chosen], held["fog"][6:8])
    assert arrays.y[chosen].tolist() == [3, 5]


def test_mnist_c(root, load):
    held = {}
    for kind in MNIST_C:
        folder = root / "mnist_c" / "mnist_c" / kind
        folder.mkdir(parents=True)
        for part, n in (("train", 3), ("test", 2)):
            held[kind, part] = images(n, 28, 28, 1)
            np.save(folder / f"{part}_images.npy", held[kind, part])
            np.save(folder / f"{part}_labels.npy", np.arange(n))
    split = load("mnist_c", 45, 30)
    chosen = split.test.tags["corruption"] == "zigzag"
    assert np.array_equal(split.test.x[chosen], held["zigzag", "test"][..., 0])


def test_an_archive_is_unpacked_when_fetched(root, load, monkeypatch, tmp_path_factory):
    source = tmp_path_factory.mktemp("server") / "CIFAR-10-C.tar"
    with tarfile.open(source, "w") as pack:
        for name in ("labels", *CIFAR_C):
            array = np.zeros(5, np.uint8) if name == "labels" else images(5, 32, 32, 3)
            content = io.BytesIO()
            np.save(content, array)
            info = tarfile.TarInfo(f"CIFAR-10-C/{name}.npy")
            info.size = len(content.getvalue())
            pack.addfile(info, io.BytesIO(content.getvalue()))
    small = replace(DATASETS["cifar10_c"], n_train=75)
    monkeypatch.setitem(DATASETS, "cifar10_c", small)
    monkeypatch.setattr(
        datasets,
        "download_file",
        lambda url, path, *, checksum: write(path, source.read_bytes()),
    )
    datasets.fetch("cifar10_c")
    assert len(datasets.load("cifar10_c").train) == 75
    assert not list(root.rglob("*.tar"))
