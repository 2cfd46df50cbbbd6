"""Every form of a table, on small files written here."""

import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from firecv.data import datasets
from firecv.data.catalogue import DATASETS
from firecv.data.tabular import table_copies
from firecv.errors import FileFormatError

CSV = "a,b,c,label\n1,x,5.5,2.0\n0,y,,1.0\n1,x,7,2.0\n"
KEEL = """@relation small
@attribute First {0,1}
@attribute Second {x,y}
@attribute Third real [5.0,7.0]
@attribute Class {1,2}
@inputs First, Second, Third
@outputs Class
@data
1, x, 5.5, 2
0, y, <null>, 1
1, x, 7.0, 2
"""
ARFF = """@relation small
@attribute 'the first' {0,1}
@attribute second {x,y}
@attribute third numeric
@attribute class {'1','2'}
@data
1,x,5.5,2
0,y,?,1
1,x,7,2
"""


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("FIRECV_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def load(root, monkeypatch):
    """Return a function that writes one file and loads a table of three rows from it."""
    copies = table_copies(
        {"t/t.csv": "csv", "t/t.zip": "keel", "t/t.arff": "arff"}, ["one", "two", "three"]
    )
    known = replace(
        DATASETS["heart"], name="t", n_train=3, shape=(3,), classes=("1", "2"), copies=copies
    )
    monkeypatch.setitem(DATASETS, "t", replace(known, checksum=None))
    (root / "t").mkdir()

    def write_and_load(name, content):
        for old in (root / "t").iterdir():
            old.unlink()
        path = root / "t" / name
        if name.endswith(".zip"):
            with zipfile.ZipFile(path, "w") as pack:
                pack.writestr("small.dat", content)
        else:
            path.write_text(content)
        return datasets.load("t")

    return write_and_load


def test_csv_keel_and_arff_give_identical_tables(load):
    found = [load("t.csv", CSV), load("t.zip", KEEL), load("t.arff", ARFF)]
    assert len({datasets.checksum(split) for split in found}) == 1
    x = found[1].train.x
    assert list(x.columns) == ["one", "two", "three"]
    assert [str(dtype) for dtype in x.dtypes] == ["float64", "category", "float64"]
    assert np.isnan(x["three"][1]) and found[1].train.y.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", CSV.replace(",label", ",d,label").replace("\n", ",1\n")),
        ("t.csv", CSV[:-9]),
        ("t.zip", KEEL.replace("1, x, 5.5, 2\n", "1, x, 5.5\n")),
        ("t.arff", ARFF + "1,x\n"),
        ("t.csv", CSV + "1,x,7,3\n"),
        ("t.csv", CSV + "1,x,7,2\n"),
    ],
    ids=["a column more", "cut", "ragged keel", "ragged arff", "a class more", "a row more"],
)
def test_a_damaged_or_different_file_is_refused(load, name, content):
    with pytest.raises(FileFormatError, match=r"t\."):
        load(name, content)


def test_hepatitis_of_uci_has_its_label_first_and_no_header(root, monkeypatch):
    known = DATASETS["hepatitis-uci"]
    monkeypatch.setitem(DATASETS, known.name, replace(known, n_train=2, checksum=None))
    rows = ["2,30,2," + "?," * 16 + "1", "1,50,1," + "2," * 16 + "2"]
    (root / "hepatitis-uci").mkdir()
    with zipfile.ZipFile(root / "hepatitis-uci" / "hepatitis.zip", "w") as pack:
        pack.writestr("hepatitis.data", "\n".join(rows) + "\n")
        pack.writestr("hepatitis.names", "about")
    arrays = datasets.load(known.name).train
    assert isinstance(arrays.x, pd.DataFrame) and list(arrays.x.columns[:2]) == ["AGE", "SEX"]
    assert arrays.x["AGE"].tolist() == [30, 50] and arrays.x.isna().sum().sum() == 16
    assert [arrays.classes[label] for label in arrays.y] == ["2", "1"]
