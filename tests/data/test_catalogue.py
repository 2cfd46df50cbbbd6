"""The contract of every data set, and what is said of those at hand."""

import json
import os
import re
import tomllib
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from firecv.data import datasets
from firecv.data.catalogue import DATASETS, MAKERS
from firecv.data.overview import contents, repeated_rows

TABLES = tomllib.loads((files("firecv.data") / "tabular.toml").read_text(encoding="utf-8"))
DATA = os.environ.get("FIRECV_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="FIRECV_DATA is not set: no data sets at hand")
PAPER_IMAGES = [
    *("fashion_mnist", "kmnist", "mnist_c", "mnist", "emnist_balanced", "emnist_letters"),
    *("emnist_digits", "femnist", "qmnist", "kannada_mnist", "cifar10", "cifar100", "svhn"),
    *("permuted_mnist", "cifar10_c", "cifar100_c"),
]


@pytest.mark.parametrize("name", DATASETS)
def test_facts_are_complete(name):
    dataset = DATASETS[name]
    assert dataset.name == name
    assert all((dataset.title, dataset.source, dataset.licence, dataset.citation))
    assert len(set(dataset.classes)) == len(dataset.classes) >= 2
    assert dataset.shape and all(size > 0 for size in dataset.shape)
    assert bool(dataset.copies) != (dataset.make is not None)
    assert all(base in DATASETS for base in dataset.bases)
    assert all(trap.endswith(".") for trap in dataset.traps)


@pytest.mark.parametrize("name", DATASETS)
def test_published_files_can_be_fetched_and_are_what_a_copy_reads(name):
    dataset = DATASETS[name]
    read = {file for copy in dataset.copies for file in copy.files}
    for file in dataset.published:
        assert re.match(r"https?://[\w.-]+/", file.url)
        assert file.checksum is None or re.fullmatch(
            r"md5:[0-9a-f]{32}|sha256:[0-9a-f]{64}", file.checksum
        )
        if file.unpack_to is None:
            assert file.path in read
        else:
            assert any(path.startswith(file.unpack_to) for path in read)
        # Without any checksum nobody could tell a wrong file from a right one.
        assert file.checksum or dataset.checksum


def test_the_paper_is_covered():
    folds = sorted(name for dataset in DATASETS.values() for name in dataset.folds)
    assert len(folds) == len(set(folds)) == 27
    shifts = sorted(name for dataset in DATASETS.values() for name in dataset.shifts)
    assert shifts == ["Australian", "Breast Cancer", "Diabetes", "Heart", "Sonar"]
    assert set(PAPER_IMAGES) <= DATASETS.keys()


def test_every_set_that_is_made_has_a_maker():
    assert {name for name, dataset in DATASETS.items() if dataset.make} == MAKERS.keys()


@pytest.mark.parametrize("name", TABLES)
def test_tables_at_hand_are_as_their_facts_say(name):
    if not datasets.is_here(name):
        pytest.skip(f"{name} is not at hand; set FIRECV_DATA or run firecv data fetch {name}")
    facts, arrays = TABLES[name], datasets.verify(name).train
    assert isinstance(arrays.x, pd.DataFrame)
    held = contents(datasets.load(name))["train"]
    assert list(held["class counts"].values()) == facts["counts"]
    assert held["categorical columns"] == facts["categorical"]
    assert held["rows with missing values"] == facts["missing"]
    assert repeated_rows(arrays) == facts["duplicates"] == arrays_duplicated(arrays)


def arrays_duplicated(arrays):
    return int(arrays.x.assign(label=arrays.y).duplicated().sum())


@needs_data
def test_facts_agree_with_the_manifest_of_the_data_folder():
    manifest = Path(DATA or "", "tabular", "manifest.json")
    if not manifest.is_file():
        pytest.skip(f"there is no {manifest}")
    for record in json.loads(manifest.read_text(encoding="utf-8")):
        facts = TABLES[record["name"]]
        assert facts["rows"] == record["rows"] and facts["features"] == record["features"]
        assert sorted(facts["counts"]) == sorted(record["counts"].values())
        assert facts["categorical"] == record["categorical"]
        assert facts["missing"] == record["missing"]
        assert facts["duplicates"] == record["dups"]


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize(
    "name", [name for name, dataset in DATASETS.items() if dataset.kind == "images"]
)
def test_images_at_hand_are_as_published(name):
    if not datasets.is_here(name):
        pytest.skip(f"{name} is not at hand")
    split = datasets.verify(name)
    for arrays in split.parts().values():
        assert isinstance(arrays.x, np.ndarray) and arrays.x.dtype == np.uint8
        assert len(np.unique(arrays.y)) == len(arrays.classes)


@needs_data
def test_writers_of_train_and_test_are_disjoint():
    if not datasets.is_here("mnist_by_writer"):
        pytest.skip("mnist_by_writer is not at hand")
    split = datasets.load("mnist_by_writer")
    assert split.test is not None
    train, counts = np.unique(split.train.tags["writer"], return_counts=True)
    test = np.unique(split.test.tags["writer"])
    assert len(train) == 539 and len(test) == 297
    assert not set(train) & set(test)
    assert (counts.min(), np.median(counts), counts.max()) == (19, 116, 131)
