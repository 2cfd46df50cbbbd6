"""Stratified folds in which groups stay together, as scikit-learn cuts them, only sooner.

Groups are taken from the most to the least uneven in classes, each into the fold that leaves the
classes most evenly spread over folds; of folds equally good, into the smallest.
`sklearn.model_selection.StratifiedGroupKFold` looks at one fold after the other, which for tables
of some thousand rows takes longer than training on them.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from firecv.data.arrays import Rows

RELATIVE, ABSOLUTE = 1e-5, 1e-8
"""Within these two folds are equally good, as `np.isclose` has them."""


def grouped_folds(y: ArrayLike, groups: ArrayLike, n: int) -> Rows:
    """Return the fold of every row, from 0.

    Parameters
    ----------
    y
        Classes.
    groups
        The group of every row.
    n
        Number of folds.

    Examples
    --------
    >>> grouped_folds([0, 0, 0, 0, 1, 1, 1, 1], [1, 1, 2, 2, 3, 3, 4, 4], 2)
    array([0, 0, 1, 1, 0, 0, 1, 1])
    """
    _, classes, sizes = np.unique(y, return_inverse=True, return_counts=True)
    names, group_of = np.unique(groups, return_inverse=True)
    counts = np.zeros((len(names), len(sizes)))
    np.add.at(counts, (group_of, classes), 1)
    held, alone = np.zeros((n, len(sizes))), np.eye(n)[:, :, None]
    chosen = np.empty(len(names), np.intp)
    for group in np.argsort(-np.std(counts, axis=1), kind="stable"):
        shares = (held + alone * counts[group]) / sizes  # with the group in each of the folds
        away = shares - shares.sum(1, keepdims=True) / n
        spread = np.sqrt((away * away).sum(1) / n).mean(1)
        fold = _best(spread, held.sum(1))
        held[fold] += counts[group]
        chosen[group] = fold
    return chosen[group_of]


def _best(spread: NDArray[np.float64], sizes: NDArray[np.float64]) -> int:
    """Return the fold of the least spread, or a smaller one that is about as good."""
    best, least, size = 0, np.inf, np.inf
    for fold, (found, own) in enumerate(zip(spread.tolist(), sizes.tolist(), strict=True)):
        is_close = abs(found - least) <= ABSOLUTE + RELATIVE * abs(least) if fold else False
        if found < least or (is_close and own < size):
            best, least, size = fold, found, own
    return best
