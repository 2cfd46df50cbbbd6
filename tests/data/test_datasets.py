"""Finding, reading, fetching and checking data sets, on small files that the tests write."""

import gzip
import hashlib
import struct
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from firecv.data import datasets
from firecv.data.catalogue import DATASETS
from firecv.data.dataset import Published
from firecv.errors import DataError, FileFormatError, FirecvError

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (7, 28, 28), dtype=np.uint8)
LABELS = RNG.integers(0, 10, 7, dtype=np.uint8)


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Return an empty data folder and an empty cache."""
    data, cache = tmp_path / "data", tmp_path / "cache"
    data.mkdir()
    monkeypatch.setenv("FIRECV_DATA", str(data))
    monkeypatch.setenv("FIRECV_CACHE", str(cache))
    return data, cache


@pytest.fixture
def small_mnist(monkeypatch):
    """Say that MNIST has four training and three test images."""
    monkeypatch.setitem(DATASETS, "mnist", replace(DATASETS["mnist"], n_train=4, n_test=3))
    monkeypatch.setitem(DATASETS, "mnist", replace(DATASETS["mnist"], checksum=None))


def idx(array):
    return (
        bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + bytes(array)
    )


def write_mnist(folder):
    for copy in DATASETS["mnist"].copies[1:]:
        parts = (IMAGES[:4], LABELS[:4], IMAGES[4:], LABELS[4:])
        for file, array in zip(copy.files, parts, strict=True):
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(gzip.compress(idx(np.ascontiguousarray(array))))


def write_npz(folder):
    path = folder / "images" / "mnist.npz"
    path.parent.mkdir(parents=True)
    np.savez_compressed(
        path, x_train=IMAGES[:4], y_train=LABELS[:4], x_test=IMAGES[4:], y_test=LABELS[4:]
    )


@pytest.mark.parametrize("name", ["fashion-mnist", "Heart", "cifar", "xyzzy"])
def test_an_unknown_name_is_an_error_that_suggests(name):
    with pytest.raises(DataError, match="no data set .* `firecv data list`"):
        datasets.load(name)


def test_the_nearest_name_is_suggested():
    with pytest.raises(DataError, match="did you mean 'fashion_mnist'"):
        datasets.load("fashon_mnist")


@pytest.mark.parametrize("name", ["mnist", "heart", "femnist", "mnist_by_writer", "cifar10_c"])
def test_absent_files_are_named_with_where_they_go(folders, name):
    with pytest.raises(DataError) as caught:
        datasets.load(name)
    message = str(caught.value)
    assert str(folders[0]) in message and DATASETS[name].copies[0].files[0] in message
    assert (f"firecv data fetch {name}" in message) == bool(DATASETS[name].published)


def test_every_copy_gives_the_same_arrays(folders, small_mnist):
    data, cache = folders
    write_mnist(cache)
    published = datasets.load("mnist")
    write_npz(data)
    one_file = datasets.load("mnist")
    for split in (published, one_file):
        assert np.array_equal(split.train.x, IMAGES[:4]) and np.array_equal(
            split.test.x, IMAGES[4:]
        )
        assert np.array_equal(split.train.y, LABELS[:4]) and np.array_equal(
            split.test.y, LABELS[4:]
        )
    assert datasets.checksum(published) == datasets.checksum(one_file)


def test_files_of_one_copy_may_lie_in_different_folders(folders, small_mnist):
    data, cache = folders
    write_mnist(cache)
    file = DATASETS["mnist"].copies[1].files[2]
    (data / file).parent.mkdir(parents=True)
    (cache / file).rename(data / file)
    assert len(datasets.load("mnist").test) == 3


def test_a_part_is_not_passed_off_as_the_whole(folders):
    write_npz(folders[0])
    with pytest.raises(FileFormatError, match=r"other training samples .* 4, expected 60000"):
        datasets.load("mnist")


def test_changed_values_are_found(folders, small_mnist, monkeypatch):
    write_npz(folders[0])
    right = datasets.checksum(datasets.load("mnist"))
    monkeypatch.setitem(DATASETS, "mnist", replace(DATASETS["mnist"], checksum=right))
    datasets.verify("mnist")
    monkeypatch.setitem(DATASETS, "mnist", replace(DATASETS["mnist"], checksum="0" * 64))
    with pytest.raises(FileFormatError, match="values of 'mnist' are not the published ones"):
        datasets.verify("mnist")


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Let downloads come from a folder; return it and the list of what was asked for."""
    folder, asked = tmp_path / "server", []

    def download(url: str, path: Path, *, checksum: str | None) -> Path:
        asked.append(url)
        content = (folder / url.rsplit("/", 1)[-1]).read_bytes()
        if checksum is not None and checksum != f"md5:{hashlib.md5(content).hexdigest()}":
            raise FileFormatError("wrong checksum")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    monkeypatch.setattr(datasets, "download_file", download)
    folder.mkdir()
    return folder, asked


def serve_mnist(folder, monkeypatch):
    write_mnist(folder)
    files = []
    for path in DATASETS["mnist"].copies[1].files:
        content = (folder / path).read_bytes()
        (folder / Path(path).name).write_bytes(content)
        url = f"https://example.org/{Path(path).name}"
        files.append(Published(path, url, f"md5:{hashlib.md5(content).hexdigest()}"))
    monkeypatch.setitem(DATASETS, "mnist", replace(DATASETS["mnist"], published=tuple(files)))


def test_fetching_fills_the_cache_once(folders, small_mnist, server, monkeypatch):
    serve_mnist(server[0], monkeypatch)
    datasets.fetch("mnist")
    assert len(server[1]) == 4 and datasets.is_here("mnist")
    datasets.fetch("mnist")
    assert len(server[1]) == 4
    assert len(datasets.load("mnist", download=True).train) == 4


def test_an_archive_that_a_killed_process_has_unpacked_is_removed(
    folders, small_mnist, monkeypatch
):
    write_npz(folders[1])
    published = Published("mnist/all.zip", "http://127.0.0.1:9/all.zip", unpack_to="images")
    monkeypatch.setitem(DATASETS, "mnist", replace(DATASETS["mnist"], published=(published,)))
    archive = folders[1] / "mnist" / "all.zip"
    archive.parent.mkdir()
    archive.touch()
    datasets.fetch("mnist")  # which asks nobody
    assert not archive.exists() and datasets.is_here("mnist")


def test_a_set_made_from_others_fetches_those(folders, small_mnist, server, monkeypatch):
    serve_mnist(server[0], monkeypatch)
    small = replace(DATASETS["permuted_mnist"], n_train=4, n_test=3, checksum=None)
    monkeypatch.setitem(DATASETS, "permuted_mnist", small)
    datasets.fetch("permuted_mnist")
    permuted = datasets.load("permuted_mnist").train
    assert not np.array_equal(permuted.x, IMAGES[:4])
    assert np.array_equal(np.sort(permuted.x.reshape(4, -1)), np.sort(IMAGES[:4].reshape(4, -1)))


def test_a_download_with_wrong_values_is_removed(folders, small_mnist, server, monkeypatch):
    serve_mnist(server[0], monkeypatch)
    monkeypatch.setitem(DATASETS, "mnist", replace(DATASETS["mnist"], checksum="0" * 64))
    with pytest.raises(FileFormatError, match="not the published ones"):
        datasets.fetch("mnist")
    assert not [path for path in folders[1].rglob("*") if path.is_file()]


@pytest.mark.parametrize("member", ["elecNormNew.arff", "another.arff"])
def test_an_unpacked_archive_with_wrong_contents_is_removed(folders, server, member):
    header = "@relation elec\n" + "".join(
        f"@attribute {name} numeric\n"
        for name in ("period", "nswprice", "nswdemand", "vicprice", "vicdemand", "transfer")
    )
    with zipfile.ZipFile(server[0] / "elecNormNew.arff.zip", "w") as pack:
        pack.writestr(member, f"{header}@attribute class {{UP,DOWN}}\n@data\n1,1,1,1,1,1,UP\n")
    for _ in range(2):  # what is left of the first attempt does not hinder the second
        with pytest.raises(FirecvError, match="electricity"):
            datasets.fetch("electricity")
        assert not [path for path in folders[1].rglob("*") if path.is_file()]


def test_what_nobody_publishes_cannot_be_fetched(folders):
    with pytest.raises(DataError, match="cannot be downloaded automatically"):
        datasets.fetch("femnist")


def test_a_data_folder_that_does_not_exist_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("FIRECV_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FirecvError, match="FIRECV_DATA"):
        datasets.load("heart")
