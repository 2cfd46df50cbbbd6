"""Data sets that came in fragments: hospitals, users, cameras, batches and days.

Facts are in ``natural.toml``. Nothing is induced here; the tag of each sample says where or when it
was recorded. What is done to published values is done in this file and nowhere else.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from firecv.data.arrays import Array, Arrays, Split
from firecv.data.dataset import Copy
from firecv.data.formats.arff import read_arff
from firecv.data.formats.columns import typed
from firecv.data.formats.delimited import read_delimited
from firecv.data.formats.headerless import read_pairs, read_values
from firecv.data.formats.matlab import read_matlab
from firecv.data.formats.npz import read_npz
from firecv.data.formats.opening import reading
from firecv.errors import FileFormatError

Classes = tuple[str, ...]
Reader = Callable[[Classes, Sequence[Path]], Split]

HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
HEART_CODES = ("cp", "restecg", "slope", "thal")
"""Columns whose numbers stand for names."""
HEART_COLUMNS = (
    *("age", "sex", "cp", "trestbps", "chol", "fbs", "restecg"),
    *("thalach", "exang", "oldpeak", "slope", "ca", "thal"),
)
FILLED = {"ca": (166, 192, 287, 302), "thal": (87, 266)}
"""Rows of Cleveland that lack a value in UCI's file and have a 0 in the CSV file."""

ACCELERATION = tuple(
    [f"{axis}{place}" for axis in "XYZ" for place in range(10)]
    + [f"{axis}{what}" for what in ("AVG", "PEAK", "ABSOLDEV", "STANDDEV") for axis in "XYZ"]
    + ["RESULTANT"]
)
DOMAINS = ("amazon", "caltech10", "dslr", "webcam")
SURF_FILES = tuple(
    f"office_caltech_surf/ToRelease_GFK/data/{name}_SURF_L10.mat"
    for name in ("amazon", "Caltech10", "dslr", "webcam")
)
N_WORDS = 800
BATCHES = (1, 2, 3, 4, 5, 6, 8, 9)
"""The batches of `gas_drift_8`, of ten that were published."""
N_RESPONSES = 128
MARKET = ("period", "nswprice", "nswdemand", "vicprice", "vicdemand", "transfer")
HALF_HOURS = 48
"""Rows of a day."""


def natural_copies(name: str, classes: Classes) -> tuple[Copy, ...]:
    """Return the forms in which a data set may lie in a data folder."""
    return tuple(
        Copy(files, partial(_as_published, name, read, classes)) for files, read in READERS[name]
    )


def _as_published(name: str, read: Reader, classes: Classes, paths: Sequence[Path]) -> Split:
    """Return what a reader finds; a file with other contents than it counts on is damaged."""
    with reading(paths[0], f"a file of {name!r} as published"):
        return read(classes, paths)


def _heart_from_csv(classes: Classes, paths: Sequence[Path]) -> Split:
    frame = _with_columns(read_delimited(paths[0]), (*HEART_COLUMNS, "num", "hospital"), paths[0])
    hospital = frame.pop("hospital").to_numpy(str)
    frame = frame.replace(-9, np.nan)
    for column, rows in FILLED.items():
        frame.loc[list(rows), column] = np.nan
    return _heart(classes, frame, hospital)


def _heart_from_uci(classes: Classes, paths: Sequence[Path]) -> Split:
    parts = [read_values(path, (*HEART_COLUMNS, "num")) for path in paths]
    hospital = np.repeat(HOSPITALS, [len(part) for part in parts])
    return _heart(classes, pd.concat(parts, ignore_index=True), hospital)


def _heart(classes: Classes, frame: pd.DataFrame, hospital: Array) -> Split:
    """Return the patients; nobody has a blood pressure or cholesterol of 0, so 0 is missing."""
    y = (frame.pop("num") > 0).to_numpy(np.int64)
    measured = frame[["trestbps", "chol"]]
    frame[["trestbps", "chol"]] = measured.where(measured != 0)
    return Split(Arrays(typed(frame, HEART_CODES), y, classes, {"hospital": hospital}))


def _activity(
    read: Callable[[Path], pd.DataFrame], classes: Classes, paths: Sequence[Path]
) -> Split:
    """Return the windows of ten seconds; their running number within a file is left out."""
    frame = _with_columns(read(paths[0]), (*ACCELERATION, "user", "class"), paths[0])
    y = _codes(frame.pop("class"), classes, paths[0])
    user = frame.pop("user").to_numpy(str).astype(np.float64).astype(np.int64)
    return Split(Arrays(typed(frame), y, classes, {"user": user}))


def _surf_from_npz(classes: Classes, paths: Sequence[Path]) -> Split:
    found = read_npz(paths[0], ("x", "y", "domain"))
    return _surf(classes, found["x"], found["y"], np.array(DOMAINS)[found["domain"]])


def _surf_from_matlab(classes: Classes, paths: Sequence[Path]) -> Split:
    found = [read_matlab(path, ("fts", "labels")) for path in paths]
    for path, part in zip(paths, found, strict=True):
        if part["fts"].shape != (part["labels"].size, N_WORDS):
            raise FileFormatError(
                f"{str(path)!r} has {part['labels'].size} labels and fts of shape "
                f"{part['fts'].shape}; expected a row of {N_WORDS} counts for each label"
            )
    y = np.concatenate([part["labels"].ravel() for part in found]) - 1
    domain = np.repeat(DOMAINS, [part["labels"].size for part in found])
    return _surf(classes, np.concatenate([part["fts"] for part in found]), y, domain)


def _surf(classes: Classes, counts: Array, y: Array, domain: Array) -> Split:
    """Return each image as the square roots of the shares of its visual words.

    Euclidean distance between such rows is Hellinger's between the histograms; an image with many
    words counts no more than one with few.
    """
    counts = counts.astype(np.float64)
    shares = np.sqrt(counts / counts.sum(axis=1, keepdims=True))
    words = pd.DataFrame(shares, columns=[f"word{place}" for place in range(1, N_WORDS + 1)])
    return Split(Arrays(words, y.astype(np.int64), classes, {"domain": domain}))


def _gas_from_npz(classes: Classes, paths: Sequence[Path]) -> Split:
    found = read_npz(paths[0], ("x", "y", "batch"))
    return _gas(classes, found["x"], found["y"], found["batch"])


def _gas_from_uci(classes: Classes, paths: Sequence[Path]) -> Split:
    parts = [read_pairs(path, N_RESPONSES) for path in paths]
    batch = np.repeat(BATCHES, [len(y) for _, y in parts])
    x, y = (np.concatenate(both) for both in zip(*parts, strict=True))
    return _gas(classes, x, y - 1, batch)


def _gas(classes: Classes, x: Array, y: Array, batch: Array) -> Split:
    """Return the responses in single precision, in which the npz file has them."""
    single = x.astype(np.float32).astype(np.float64)
    columns = [f"x{place}" for place in range(1, N_RESPONSES + 1)]
    frame = pd.DataFrame(single, columns=columns)
    return Split(Arrays(frame, y.astype(np.int64), classes, {"batch": batch.astype(np.int64)}))


def _market(
    read: Callable[[Path], pd.DataFrame],
    labels: Sequence[str],
    classes: Classes,
    paths: Sequence[Path],
) -> Split:
    """Return the half hours in the order of time, which alone says the day."""
    frame = _with_columns(read(paths[0]), (*MARKET, "class"), paths[0])
    y = _codes(frame.pop("class"), labels, paths[0])
    return Split(Arrays(typed(frame), y, classes, {"day": np.arange(len(frame)) // HALF_HOURS}))


def _with_columns(frame: pd.DataFrame, names: Sequence[str], path: Path) -> pd.DataFrame:
    """Return the named columns, or raise `FileFormatError` with those that are not there."""
    if missing := [name for name in names if name not in frame]:
        raise FileFormatError(
            f"{str(path)!r} lacks the columns {', '.join(missing)}; it has "
            f"{', '.join(map(str, frame.columns))}"
        )
    return pd.DataFrame(frame, columns=list(names))


def _codes(values: pd.Series, labels: Sequence[str], path: Path) -> NDArray[np.int64]:
    """Return the place of each value among the labels."""
    place = {label: code for code, label in enumerate(labels)}
    found = values.astype(str)
    if unknown := sorted(set(found) - place.keys()):
        raise FileFormatError(
            f"{str(path)!r} has the classes {', '.join(unknown)}; expected {', '.join(labels)}"
        )
    return found.map(place).to_numpy(np.int64)


READERS: dict[str, tuple[tuple[tuple[str, ...], Reader], ...]] = {
    "heart_hospitals": (
        (("natural/heart_hospitals.csv",), _heart_from_csv),
        (
            tuple(f"heart_hospitals/processed.{name}.data" for name in HOSPITALS),
            _heart_from_uci,
        ),
    ),
    "wisdm_har": (
        (("natural/wisdm_har.csv.gz",), partial(_activity, read_delimited)),
        (
            ("wisdm_har/WISDM_ar_v1.1/WISDM_ar_v1.1_transformed.arff",),
            partial(_activity, read_arff),
        ),
    ),
    "office_caltech_surf": (
        (("natural/office_caltech_surf.npz",), _surf_from_npz),
        (SURF_FILES, _surf_from_matlab),
    ),
    "gas_drift_8": (
        (("natural/gas_drift_8.npz",), _gas_from_npz),
        (tuple(f"gas_drift_8/batch{number}.dat" for number in BATCHES), _gas_from_uci),
    ),
    "electricity": (
        (("natural/electricity.csv.gz",), partial(_market, read_delimited, ("0", "1"))),
        (("electricity/elecNormNew.arff",), partial(_market, read_arff, ("DOWN", "UP"))),
    ),
}
"""For each data set the files that hold it, named from a data folder, and what reads them."""
