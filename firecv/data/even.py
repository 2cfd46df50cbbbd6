"""Fragments of equal size, in order or shuffled; and what every fragmenter has in common."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from firecv.data.arrays import Arrays, Rows
from firecv.errors import DataError

Fragments = dict[str, Rows]


@dataclass(frozen=True)
class Batches:
    """Cut into `n` consecutive fragments."""

    n: int = 10

    def __post_init__(self) -> None:
        """Check the count."""
        check_whole("n", self.n)


@dataclass(frozen=True)
class Iid:
    """Shuffle and cut into `n` fragments."""

    n: int = 10

    def __post_init__(self) -> None:
        """Check the count."""
        check_whole("n", self.n)


def batches(arrays: Arrays, rng: np.random.Generator, settings: Batches) -> Fragments:
    """Return consecutive fragments whose sizes differ by at most one; `rng` is not used.

    Examples
    --------
    >>> five = Arrays(np.zeros((5, 1)), np.zeros(5, np.int64), ("a",))
    >>> cut = batches(five, np.random.default_rng(), Batches(n=2))
    >>> {name: rows.tolist() for name, rows in cut.items()}
    {'batch 1': [0, 1, 2], 'batch 2': [3, 4]}
    """
    check_enough(arrays, settings.n)
    return numbered("batch", np.array_split(np.arange(len(arrays)), settings.n))


def iid(arrays: Arrays, rng: np.random.Generator, settings: Iid) -> Fragments:
    """Return fragments drawn at random whose sizes differ by at most one.

    Examples
    --------
    >>> five = Arrays(np.zeros((5, 1)), np.zeros(5, np.int64), ("a",))
    >>> [len(rows) for rows in iid(five, np.random.default_rng(0), Iid(n=2)).values()]
    [3, 2]
    """
    check_enough(arrays, settings.n)
    return numbered("client", np.array_split(rng.permutation(len(arrays)), settings.n))


def numbered(word: str, pieces: Iterable[Rows]) -> Fragments:
    """Return pieces as fragments named by a word and a number from 1, their rows ascending."""
    return {f"{word} {i}": np.sort(rows).astype(np.intp) for i, rows in enumerate(pieces, start=1)}


def check_whole(name: str, value: object) -> None:
    """Raise a `DataError` unless a setting is a whole number of at least 1."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise DataError(f"{name} is {value!r}; it must be a whole number of at least 1")


def check_enough(arrays: Arrays, n: int, min_size: int = 1) -> None:
    """Raise a `DataError` unless `n` fragments of `min_size` samples can be had."""
    if n * min_size > len(arrays):
        raise DataError(
            f"{len(arrays)} samples cannot make {n} fragments of at least {min_size}, "
            f"which takes {n * min_size}; ask for fewer or smaller fragments"
        )
