"""Data that came in fragments: the sets at hand, and every published form on small files."""

import gzip
import hashlib
import os
import tomllib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.io

from firecv.data import datasets
from firecv.data.catalogue import DATASETS
from firecv.data.natural import ACCELERATION, BATCHES, DOMAINS, FILLED, HEART_COLUMNS, HOSPITALS
from firecv.data.overview import contents, facts, repeated_rows
from firecv.data.target import natural_fragments
from firecv.errors import FileFormatError

NATURAL = tomllib.loads((files("firecv.data") / "natural.toml").read_text(encoding="utf-8"))
SIZES = {  # rows, inputs, fragments
    "heart_hospitals": (920, 13, 4),
    "wisdm_har": (5418, 43, 36),
    "office_caltech_surf": (2533, 800, 4),
    "gas_drift_8": (6697, 128, 8),
    "electricity": (45312, 6, 34),
}
UCI_FILES = {
    "cleveland": "a74b7efa387bc9d108d7d0115d831fe9b414b29ae7124f331b622b4efa0427c8",
    "hungarian": "d1ad108f785768cd3d7e82dc522e6f5a61eea93cccfb3a46ee8076f73fc3d796",
    "switzerland": "834a405ccf5b66ab4056bb77794adc8df0b7125186454c0a1d002d33c6c3b314",
    "va": "e7c93d8d0d2acdadfa4c5e8de768e2191e7f618b952e29623f1f0d5949ff6b8f",
}
"""SHA-256 of processed.*.data as UCI publishes them."""
RNG = np.random.default_rng(0)


def at_hand(name):
    if not datasets.is_here(name):
        pytest.skip(f"{name} is not at hand; set FIRECV_DATA or run firecv data fetch {name}")
    return datasets.verify(name).train


def one_file(name):
    path = Path(os.environ.get("FIRECV_DATA", ""), "natural", name)
    if not path.is_file():
        pytest.skip(f"there is no {path}; set FIRECV_DATA")
    return path


def test_every_natural_set_is_listed():
    assert SIZES.keys() == NATURAL.keys() <= DATASETS.keys()
    assert [name for name in NATURAL if DATASETS[name].ordered] == ["gas_drift_8", "electricity"]
    shown = facts(DATASETS["gas_drift_8"])
    assert shown["fragments"] == "column:name=batch"
    assert "before the target only" in shown["order of fragments"]
    assert facts(DATASETS["wine"])["order of fragments"] is None


@pytest.mark.parametrize("name", NATURAL)
def test_sets_at_hand_are_as_their_facts_say(name):
    arrays, known = at_hand(name), NATURAL[name]
    cut = natural_fragments(DATASETS[name], arrays)
    assert (*arrays.x.shape, len(cut)) == SIZES[name]
    assert {fragment: len(rows) for fragment, rows in cut.items()} == known.get(
        "sizes", {fragment: len(rows) for fragment, rows in cut.items()}
    )
    held = contents(datasets.load(name))["train"]
    assert list(held["class counts"].values()) == known["counts"]
    assert held["categorical columns"] == known["categorical"]
    assert held["rows with missing values"] == known["missing"]
    assert repeated_rows(arrays) == known["duplicates"]


@pytest.mark.parametrize("name", ["gas_drift_8", "electricity"])
def test_fragments_in_time_are_in_the_order_of_time(name):
    arrays = at_hand(name)
    rows = np.concatenate(list(natural_fragments(DATASETS[name], arrays).values()))
    assert np.array_equal(rows, np.arange(len(arrays)))


def test_the_csv_of_hearts_is_what_uci_published():
    """Written in UCI's four ways, its numbers are UCI's files to the last byte."""
    frame = pd.read_csv(one_file("heart_hospitals.csv"))
    for column, rows in FILLED.items():
        frame.loc[list(rows), column] = -9
    for hospital, part in frame.groupby("hospital"):
        lines = [
            ",".join([uci_number(value, hospital) for value in row[:13]] + [f"{row[13]:.0f}"])
            for row in part.drop(columns="hospital").itertuples(index=False)
        ]
        text = "\n".join(lines) + "\n"
        assert hashlib.sha256(text.encode()).hexdigest() == UCI_FILES[str(hospital)]


def uci_number(value, hospital):
    if value == -9:
        return "?"
    if hospital == "cleveland":
        return f"{value:.1f}"
    text = f"{value:g}"
    return text.replace("0.", ".") if hospital == "switzerland" and abs(value) < 1 else text


def test_the_traps_of_the_hearts_are_handled():
    arrays = at_hand("heart_hospitals")
    x, hospital = arrays.x, arrays.tags["hospital"]
    assert x["chol"].min() > 0 and x["trestbps"].min() > 0
    assert x["chol"][hospital == "switzerland"].isna().all()
    cleveland = x[hospital == "cleveland"].isna().sum()
    assert cleveland["ca"] == 4 and cleveland["thal"] == 2 and cleveland.sum() == 6
    assert list(x["thal"].cat.categories) == ["3", "6", "7"]


def test_no_set_has_its_tags_or_what_else_was_published_as_inputs():
    named = {name: {str(column) for column in at_hand(name).x} for name in NATURAL}
    assert named["heart_hospitals"] == set(HEART_COLUMNS)
    assert named["wisdm_har"] == set(ACCELERATION)
    assert not {"date", "day"} & named["electricity"]


def test_words_are_square_roots_of_shares():
    x = at_hand("office_caltech_surf").x.to_numpy()
    np.testing.assert_allclose((x**2).sum(axis=1), 1, rtol=1e-12)
    counts = np.load(one_file("office_caltech_surf.npz"))["x"]
    np.testing.assert_allclose(x[7] ** 2 * counts[7].sum(), counts[7], atol=1e-12)


# The published forms, on small files.


@pytest.fixture
def both(tmp_path, monkeypatch):
    """Return a function that has a set loaded from both of its copies as two writers wrote them."""
    monkeypatch.setenv("FIRECV_CACHE", str(tmp_path / "cache"))

    def load(name, n_rows, write_one_file, write_published):
        known = replace(DATASETS[name], n_train=n_rows, checksum=None)
        monkeypatch.setitem(DATASETS, name, known)
        found = []
        for copy, write in zip(known.copies, (write_one_file, write_published), strict=True):
            folder = tmp_path / f"{name}-{len(found)}"
            paths = [folder / file for file in copy.files]
            for path in paths:
                path.parent.mkdir(parents=True, exist_ok=True)
            write(paths)
            monkeypatch.setenv("FIRECV_DATA", str(folder))
            found.append(datasets.load(name))
        assert datasets.checksum(found[0]) == datasets.checksum(found[1])
        return found[0].train

    return load


def test_hearts_from_csv_and_from_uci(both):
    n = 306  # all of Cleveland, then one of each
    hospital = np.array([HOSPITALS[0]] * 303 + list(HOSPITALS[1:]))
    table = RNG.integers(1, 5, (n, 13)).astype(float)
    table[:, 9] += 0.5
    num = RNG.integers(0, 5, n)
    table[303, 4], table[304, 11] = 0, np.nan
    for column, rows in FILLED.items():
        table[list(rows), HEART_COLUMNS.index(column)] = np.nan

    def csv(paths):
        local = np.where(np.isnan(table), -9, table)
        for column, rows in FILLED.items():
            local[list(rows), HEART_COLUMNS.index(column)] = 0
        frame = pd.DataFrame(local, columns=list(HEART_COLUMNS))
        frame.assign(num=num, hospital=hospital).to_csv(paths[0], index=False)

    def uci(paths):
        for path, name in zip(paths, HOSPITALS, strict=True):
            rows = np.flatnonzero(hospital == name)
            lines = [[*("?" if np.isnan(v) else f"{v:g}" for v in table[r]), num[r]] for r in rows]
            path.write_text("".join(",".join(map(str, line)) + "\n" for line in lines))

    arrays = both("heart_hospitals", n, csv, uci)
    assert arrays.y.tolist() == (num > 0).tolist()
    assert np.isnan(arrays.x["chol"][303]) and np.isnan(arrays.x["ca"][304])
    assert arrays.tags["hospital"].tolist() == hospital.tolist()


def test_activity_from_csv_and_from_arff(both):
    table = np.round(RNG.random((4, 43)), 2)
    table[1, 34] = np.nan
    users, classes = [33, 17, 33, 5], ["Jogging", "Walking", "Sitting", "Walking"]

    def csv(paths):
        frame = pd.DataFrame(table, columns=list(ACCELERATION))
        frame.insert(0, "user", users)
        frame.insert(0, "UNIQUE_ID", range(1, 5))
        paths[0].write_bytes(
            gzip.compress(frame.assign(**{"class": classes}).to_csv(index=False).encode())
        )

    def arff(paths):
        names = "".join(f'@attribute "{name}" numeric\n' for name in ACCELERATION)
        kinds = "Walking,Jogging,Upstairs,Downstairs,Sitting,Standing"
        head = (
            "@relation activity_recognition_labeled\n\n"
            '@attribute "UNIQUE_ID" numeric\n@attribute "user" {5,17,33}\n'
            f"{names}@attribute class {{{kinds}}}\n\n@data\n"
        )
        rows = [
            [i + 1, users[i], *("?" if np.isnan(v) else f"{v:g}" for v in table[i]), classes[i]]
            for i in range(4)
        ]
        paths[0].write_text(head + "".join(",".join(map(str, row)) + "\n" for row in rows))

    arrays = both("wisdm_har", 4, csv, arff)
    assert arrays.tags["user"].tolist() == users
    assert [arrays.classes[label] for label in arrays.y] == classes


def test_words_from_npz_and_from_matlab(both):
    counts = RNG.integers(0, 9, (8, 800))
    y, domain = np.array([0, 9, 1, 2, 3, 4, 5, 6]), np.repeat(np.arange(4), 2)

    def npz(paths):
        np.savez(paths[0], x=counts.astype(np.uint16), y=y.astype(np.uint8), domain=domain)

    def matlab(paths):
        for code, path in enumerate(paths):
            here = domain == code
            scipy.io.savemat(
                path, {"fts": counts[here].astype(float), "labels": y[here, None] + 1.0}
            )

    arrays = both("office_caltech_surf", 8, npz, matlab)
    assert arrays.tags["domain"].tolist() == np.repeat(DOMAINS, 2).tolist()
    np.testing.assert_allclose(arrays.x.iloc[0] ** 2, counts[0] / counts[0].sum())


def test_gas_from_npz_and_from_uci(both):
    x = np.round(RNG.normal(0, 1e4, (16, 128)), 4)
    y, batch = RNG.integers(0, 6, 16), np.repeat(BATCHES, 2)

    def npz(paths):
        np.savez(
            paths[0],
            x=x.astype(np.float32),
            y=y.astype(np.uint8),
            batch=batch.astype(np.uint8),
            concentration=np.full(16, 50.0),
        )

    def uci(paths):
        for path, number in zip(paths, BATCHES, strict=True):
            lines = [
                " ".join(
                    [f"{y[row] + 1};50.000000", *(f"{i}:{v:f}" for i, v in enumerate(x[row], 1))]
                )
                for row in np.flatnonzero(batch == number)
            ]
            path.write_text("\n".join(lines) + "\n")

    arrays = both("gas_drift_8", 16, npz, uci)
    assert arrays.tags["batch"].tolist() == batch.tolist() and arrays.y.tolist() == y.tolist()
    assert arrays.x.shape == (16, 128)


def test_electricity_from_csv_and_from_arff(both):
    table = np.round(RNG.random((50, 6)), 6)
    up = RNG.integers(0, 2, 50)
    names = ("period", "nswprice", "nswdemand", "vicprice", "vicdemand", "transfer")

    def csv(paths):
        frame = pd.DataFrame(table, columns=list(names)).assign(**{"class": up})
        paths[0].write_bytes(gzip.compress(frame.to_csv(index=False).encode()))

    def arff(paths):
        head = "".join(f"@attribute {name} numeric\n" for name in names)
        rows = [
            ",".join(["0.5", "2", *map(str, table[i]), ("DOWN", "UP")[up[i]]]) for i in range(50)
        ]
        paths[0].write_text(
            "@relation elec\n@attribute date numeric\n@attribute day {1,2,3,4,5,6,7}\n"
            f"{head}@attribute class {{UP,DOWN}}\n@data\n" + "\n".join(rows)
        )

    arrays = both("electricity", 50, csv, arff)
    assert arrays.tags["day"].tolist() == [0] * 48 + [1] * 2
    assert [arrays.classes[label] == "UP" for label in arrays.y] == up.tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("period,class\n0.5,1\n", r"lacks the columns nswprice, .* it has period, class"),
        (
            "period,nswprice,nswdemand,vicprice,vicdemand,transfer,class\n1,1,1,1,1,1,7\n",
            "has the classes 7; expected 0, 1",
        ),
    ],
)
def test_another_table_is_refused(tmp_path, monkeypatch, text, message):
    monkeypatch.setenv("FIRECV_DATA", str(tmp_path))
    (tmp_path / "natural").mkdir()
    (tmp_path / "natural" / "electricity.csv.gz").write_text(text)
    with pytest.raises(FileFormatError, match=message):
        datasets.load("electricity")


def test_text_where_numbers_belong_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("FIRECV_DATA", str(tmp_path))
    (tmp_path / "natural").mkdir()
    path = tmp_path / "natural" / "wisdm_har.csv.gz"
    header = ",".join(["user", *ACCELERATION, "class"])
    path.write_text(f"{header}\nsomebody,{'1,' * 43}Walking\n")
    with pytest.raises(FileFormatError, match="damaged or not a file of 'wisdm_har'"):
        datasets.load("wisdm_har")
