"""Stratified cross-validation folds in which equal inputs stay together."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from sklearn.model_selection import StratifiedKFold

from firecv.data.arrays import Arrays, Rows, duplicates
from firecv.data.even import Fragments, check_enough, check_whole, numbered
from firecv.data.grouped import grouped_folds
from firecv.errors import DataError
from firecv.seeding import derive

DISTINCT_PER_FOLD = 10


@dataclass(frozen=True)
class Folds:
    """Cut into `n` folds with nearly the same class shares.

    Attributes
    ----------
    n
        Number of folds.
    keep_duplicates_together
        Keep samples with exactly the same inputs in one fold, so that none is learnt in one fold
        and scored in another. Not kept where `folds_rule` says so.
    """

    n: int = 5
    keep_duplicates_together: bool = True

    def __post_init__(self) -> None:
        """Check the count."""
        check_whole("n", self.n)


def folds(arrays: Arrays, rng: np.random.Generator, settings: Folds) -> Fragments:
    """Return stratified folds; one fold is the whole.

    Examples
    --------
    >>> twice = Arrays(np.repeat(np.arange(40.0), 2)[:, None], np.repeat([0, 1], 40), ("a", "b"))
    >>> cut = folds(twice, np.random.default_rng(0), Folds(n=4))
    >>> [twice.take(rows).counts() for rows in cut.values()] == [{"a": 10, "b": 10}] * 4
    True
    >>> all(set(rows) == set(rows ^ 1) for rows in cut.values())  # pairs stay together
    True
    """
    check_enough(arrays, settings.n)
    if settings.n == 1:
        return numbered("fold", [np.arange(len(arrays))])
    _check_classes(arrays, settings.n)
    first = duplicates(arrays.x)
    # Without duplicates there is nothing to keep together, and the plain splitter is faster.
    if _rule(first, settings) == "plain" or len(np.unique(first)) == len(first):
        return numbered("fold", _plain(arrays, rng, settings.n))
    cut = _grouped(arrays, first, rng, settings.n)
    if empty := [name for name, rows in cut.items() if not len(rows)]:
        raise DataError(
            f"{', '.join(empty)} of {settings.n} would be empty when equal inputs stay together; "
            f"ask for fewer folds or set keep_duplicates_together=False"
        )
    return cut


def folds_rule(arrays: Arrays, settings: Folds) -> Literal["grouped", "plain"]:
    """Return whether `folds` keeps equal inputs together ("grouped") or not ("plain").

    A table with fewer than 10 distinct inputs per fold keeps plain folds even if asked to group:
    its few inputs could not be spread evenly.

    Examples
    --------
    >>> few = Arrays(np.zeros((60, 1)), np.repeat([0, 1], 30), ("a", "b"))
    >>> folds_rule(few, Folds(n=2))
    'plain'
    """
    return _rule(duplicates(arrays.x), settings)


def repeated_folds(
    arrays: Arrays, seed: int, settings: Folds, n_repeats: int
) -> Iterator[tuple[int, Fragments]]:
    """Yield the number of each repeat, from 0, and its folds.

    A repeat depends on the seed and its own number only.

    Examples
    --------
    >>> ten = Arrays(np.arange(10.0)[:, None], np.tile([0, 1], 5), ("a", "b"))
    >>> [repeat for repeat, _ in repeated_folds(ten, 0, Folds(n=2), n_repeats=3)]
    [0, 1, 2]
    """
    for repeat in range(n_repeats):
        yield repeat, folds(arrays, derive(seed, "folds", repeat), settings)


def _rule(first: Rows, settings: Folds) -> Literal["grouped", "plain"]:
    """Return the rule given for each row the first with the same inputs."""
    many = len(np.unique(first)) >= DISTINCT_PER_FOLD * settings.n
    return "grouped" if settings.keep_duplicates_together and many else "plain"


def _plain(arrays: Arrays, rng: np.random.Generator, n: int) -> list[Rows]:
    """Return stratified folds, whatever the inputs."""
    splitter = StratifiedKFold(n, shuffle=True, random_state=int(rng.integers(2**32)))
    return [rows for _, rows in splitter.split(arrays.y, arrays.y)]


def _grouped(arrays: Arrays, first: Rows, rng: np.random.Generator, n: int) -> Fragments:
    """Return stratified folds with equal inputs in one fold."""
    # Renaming the groups at random shuffles them.
    groups = rng.permutation(len(first))[first]
    found = grouped_folds(arrays.y, groups, n)
    return numbered("fold", (np.flatnonzero(found == fold) for fold in range(n)))


def _check_classes(arrays: Arrays, n: int) -> None:
    """Raise a `DataError` unless every class present can be in every fold."""
    present = {name: count for name, count in arrays.counts().items() if count}
    if len(present) < 2:
        raise DataError(
            f"all {len(arrays)} samples are of class {next(iter(present))!r}; stratified folds "
            f"need two classes or more"
        )
    for name, count in present.items():
        if count < n:
            raise DataError(
                f"class {name!r} has {count} samples, fewer than the {n} folds; ask for at most "
                f"{count} folds, or drop or merge the class"
            )
