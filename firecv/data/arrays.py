"""Plain containers: samples with labels, an official split, training data in fragments.

Images are ``uint8`` of shape (n_samples, height, width) or (n_samples, height, width, channels).
Tables are data frames whose columns are either float64 (missing: NaN) or categories (missing: NaN);
they are encoded later, by a transformer fitted on the training part only (`firecv.data.encode`).
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from firecv.errors import DataError

Array = NDArray[Any]
Rows = NDArray[np.intp]
UNKNOWN = -1
"""Label of every sample of a set whose labels are not known."""


@dataclass(frozen=True)
class Arrays:
    """Samples with their labels.

    Attributes
    ----------
    x
        Inputs, the first axis (or the rows of a data frame) running over samples.
    y
        Labels as numbers from 0, of shape (n_samples,); all `UNKNOWN` if no label is known.
    classes
        The name of each label; ``classes[y[i]]`` is the label of sample i in words.
    tags
        What is known of each sample beside its inputs: its writer, its site, its time.

    Examples
    --------
    >>> pair = Arrays(np.eye(3), np.array([0, 1, 0]), ("no", "yes"), {"site": np.array([7, 7, 8])})
    >>> len(pair), pair.take([2, 0]).tags["site"].tolist(), pair.counts()
    (3, [8, 7], {'no': 2, 'yes': 1})
    """

    x: Array | pd.DataFrame
    y: NDArray[np.int64]
    classes: tuple[str, ...]
    tags: Mapping[str, Array] = field(default_factory=dict[str, Array])

    def __post_init__(self) -> None:
        """Check that labels and tags are as many as the samples, and within the classes."""
        for name, values in {"labels": self.y, **self.tags}.items():
            if len(values) != len(self.x):
                raise DataError(
                    f"got {len(self.x)} samples and {len(values)} {name}; they must be as many"
                )
        known = len(self.y) and self.is_labelled
        if known and not 0 <= self.y.min() <= self.y.max() < len(self.classes):
            raise DataError(
                f"labels run from {self.y.min()} to {self.y.max()}, but with "
                f"{len(self.classes)} classes they must be 0 to {len(self.classes) - 1}"
            )

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.y)

    @property
    def is_labelled(self) -> bool:
        """Whether labels are known."""
        return not len(self.y) or bool((self.y != UNKNOWN).any())

    def take(self, rows: Rows | Sequence[int]) -> "Arrays":
        """Return the samples at `rows`, in that order."""
        rows = np.asarray(rows, np.intp)
        x = self.x.iloc[rows] if isinstance(self.x, pd.DataFrame) else self.x[rows]
        tags = {name: values[rows] for name, values in self.tags.items()}
        return Arrays(x, self.y[rows], self.classes, tags)

    def counts(self) -> dict[str, int]:
        """Return how many samples each class is known to have."""
        found = np.bincount(self.y[self.y != UNKNOWN], minlength=len(self.classes))
        return dict(zip(self.classes, map(int, found), strict=True))


@dataclass(frozen=True)
class Split:
    """A data set as published: its training part and its test part.

    A data set published in one piece has it all in `train`, and no `test`.
    """

    train: Arrays
    test: Arrays | None = None

    def parts(self) -> dict[str, Arrays]:
        """Return the parts there are, by name."""
        return {"train": self.train} | ({} if self.test is None else {"test": self.test})


@dataclass(frozen=True)
class Fragmented:
    """Training data in named fragments, and the one set the model is validated on."""

    fragments: Mapping[str, Arrays]
    validation: Arrays | None = None


def checksum(split: Split) -> str:
    """Return a SHA-256 of everything in a data set that a method could see.

    It depends on values, shapes, names and order, not on the file format, the byte order or how a
    data frame stores its text, so every published form of one data set has the same.

    Examples
    --------
    >>> one = Arrays(np.zeros((2, 3), np.uint8), np.array([0, 1]), ("a", "b"))
    >>> checksum(Split(one)) == checksum(Split(one, one))
    False
    """
    digest = hashlib.sha256()
    for piece in _pieces(split):
        digest.update(piece)
    return digest.hexdigest()


def duplicates(x: Array | pd.DataFrame) -> Rows:
    """Return for each sample the row of the first sample with exactly the same inputs.

    Examples
    --------
    >>> duplicates(np.array([[1, 2], [3, 4], [1, 2]])).tolist()
    [0, 1, 0]
    """
    if isinstance(x, pd.DataFrame):
        if x.shape[1] == 0:
            return np.zeros(len(x), np.intp)
        x = np.stack([pd.factorize(x[name])[0] for name in x.columns], axis=1)
    if len(x) == 0:
        return np.zeros(0, np.intp)
    flat = np.ascontiguousarray(np.reshape(x, (len(x), -1)))
    if flat.dtype.kind == "f":
        flat = flat + 0.0  # rows are compared as bytes, and -0.0 has others than 0.0
    keys = flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return first[inverse].astype(np.intp)


def _pieces(split: Split) -> Iterator[bytes | memoryview]:
    """Yield all that `checksum` depends on."""
    for part, arrays in split.parts().items():
        yield f"{part} {len(arrays)} {list(arrays.classes)}\n".encode()
        named = {"y": arrays.y} | {f"tag {name}": arrays.tags[name] for name in sorted(arrays.tags)}
        if isinstance(arrays.x, pd.DataFrame):
            named |= {f"column {name}": _plain(column) for name, column in arrays.x.items()}
        else:
            named["x"] = arrays.x
        for name, values in named.items():
            yield f"{name} {values.dtype.kind}{values.shape}\n".encode()
            if values.dtype.kind in "OU":
                yield repr(values.tolist()).encode()
            else:
                little = values.astype(values.dtype.newbyteorder("<"), copy=False)
                yield np.ascontiguousarray(little).reshape(-1).view(np.uint8).data


def _plain(column: pd.Series) -> Array:
    """Return a column as floats or as text, in which a missing value is None."""
    if column.dtype == np.float64:
        return column.to_numpy()
    return np.array([None if pd.isna(value) else str(value) for value in column], dtype=object)
