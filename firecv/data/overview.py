"""What is known of data sets and whether they are here, as plain values."""

from typing import Any

import numpy as np
import pandas as pd

from firecv.data.arrays import Arrays, Split, duplicates
from firecv.data.catalogue import DATASETS
from firecv.data.dataset import Dataset
from firecv.data.datasets import can_be_fetched, is_here


def overview() -> list[dict[str, Any]]:
    """Return one record per data set: its name, kind, sizes, and whether it is at hand.

    Examples
    --------
    >>> next(record for record in overview() if record["name"] == "wine")["state"]
    'embedded'
    """
    return [
        {
            "name": name,
            "kind": dataset.kind,
            "train": dataset.n_train,
            "test": dataset.n_test,
            "shape": list(dataset.shape),
            "classes": len(dataset.classes),
            "duplicates": dataset.duplicates,
            "state": state(dataset),
        }
        for name, dataset in DATASETS.items()
    ]


def state(dataset: Dataset) -> str:
    """Return where a data set stands.

    ``embedded`` (no file needed), ``here``, ``to fetch`` (published for download) or ``by hand``
    (somebody has to put its files into a data folder).
    """
    if dataset.make is not None and not dataset.bases:
        return "embedded"
    if is_here(dataset.name):
        return "here"
    return "to fetch" if can_be_fetched(dataset.name) else "by hand"


def facts(dataset: Dataset) -> dict[str, Any]:
    """Return all that is known of a data set without reading it."""
    return {
        "name": dataset.name,
        "title": dataset.title,
        "state": state(dataset),
        "kind": dataset.kind,
        "train": dataset.n_train,
        "test": dataset.n_test,
        "shape": list(dataset.shape),
        "classes": list(dataset.classes),
        "made from": list(dataset.bases),
        "fragments": dataset.fragments,
        "order of fragments": _order(dataset),
        "in the paper's table of folds": list(dataset.folds),
        "in the paper's table of shifts": list(dataset.shifts),
        "source": dataset.source,
        "files": [file.url for file in dataset.published],
        "licence": dataset.licence,
        "citation": dataset.citation,
        "traps": list(dataset.traps),
        "checksum": dataset.checksum,
    }


def _order(dataset: Dataset) -> str | None:
    """Return whether fragments follow each other in time; None where there are none."""
    if dataset.fragments is None:
        return None
    return "in time: train on those before the target only" if dataset.ordered else "none"


def contents(split: Split) -> dict[str, Any]:
    """Return what a data set turns out to hold: class counts, duplicates, missing values, tags.

    Examples
    --------
    >>> from firecv.data import load
    >>> contents(load("wine"))["train"]["class counts"]
    {'class_0': 59, 'class_1': 71, 'class_2': 48}
    """
    return {part: _contents(arrays) for part, arrays in split.parts().items()}


def _contents(arrays: Arrays) -> dict[str, Any]:
    first = duplicates(arrays.x)
    found: dict[str, Any] = {
        "class counts": arrays.counts(),
        "distinct inputs": len(np.unique(first)),
        "duplicates (rows that repeat an earlier row, label included)": repeated_rows(arrays),
        "tags": {name: len(np.unique(values)) for name, values in arrays.tags.items()},
    }
    if isinstance(arrays.x, pd.DataFrame):
        found["categorical columns"] = int((arrays.x.dtypes == "category").sum())
        found["rows with missing values"] = int(arrays.x.isna().any(axis=1).sum())
    return found


def repeated_rows(arrays: Arrays) -> int:
    """Return how many samples repeat an earlier one, label included."""
    pairs = np.stack([duplicates(arrays.x), arrays.y.astype(np.intp)], axis=1)
    return len(arrays) - len(np.unique(pairs, axis=0))
