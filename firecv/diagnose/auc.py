"""The area under the ROC curve of scores that several classifiers gave, each on rows of its own.

Scores of different classifiers are not on one scale, so rows are compared within a fold only. The
interval is DeLong's: an AUC is the mean over fragment rows of the share of validation rows below
them, their *placement*, and over validation rows of the share above, and its variance is that of
the two means.

DeLong, DeLong and Clarke-Pearson, Biometrics 44 (1988).

Departures: classifiers of different folds have learned from each other's rows. Where there is
nothing to learn but chance, this doubles the variance of their common AUC (for a classifier that
compares means, exactly so), and far from 0.5 it matters little. The variance is therefore
multiplied by 2 - (2 AUC - 1)^2. A standard error is at least half a row of the smaller sample,
since samples that are told apart without an error do not make the AUC certain.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from firecv.statistics import Interval

Vector = NDArray[np.float64]
Rows = NDArray[np.intp]


def auc_interval(
    scores: Vector, is_fragment: NDArray[np.bool_], folds: Sequence[Rows], level: float = 0.95
) -> Interval:
    """Return the AUC with which scores tell fragment rows from validation rows, by fold.

    Parameters
    ----------
    scores
        Larger for rows that look like the fragment's.
    is_fragment
        Which rows are the fragment's.
    folds
        Rows that one classifier scored; each has rows of both samples.
    level
        How often such intervals hold the AUC that classifiers like these have on new rows.

    Examples
    --------
    >>> scores = np.array([0.1, 0.4, 0.3, 0.9, 0.2, 0.5, 0.6, 0.8])
    >>> found = auc_interval(scores, np.arange(8) % 2 == 1, [np.arange(4), np.arange(4, 8)])
    >>> found.mean  # 4 of 4 pairs in the first fold, 3 of 4 in the second
    0.875
    """
    above = placements(scores, is_fragment, folds)
    of_fragment, of_validation = above[is_fragment], above[~is_fragment]
    auc = float(of_fragment.mean())
    variance = sum(float(part.var(ddof=1)) / len(part) for part in (of_fragment, of_validation))
    error = math.sqrt((2 - (2 * auc - 1) ** 2) * variance)
    error = max(error, 0.5 / min(len(of_fragment), len(of_validation)))
    half = float(ndtri((1 + level) / 2)) * error
    return Interval(auc, max(auc - half, 0.0), min(auc + half, 1.0))


def mean_auc(scores: Vector, is_fragment: NDArray[np.bool_], folds: Sequence[Rows]) -> float:
    """Return the AUC alone.

    Examples
    --------
    >>> scores = np.array([0.0, 0.5, 0.5, 1.0])
    >>> mean_auc(scores, np.array([False, False, True, True]), [np.arange(4)])
    0.875
    """
    return float(placements(scores, is_fragment, folds)[is_fragment].mean())


def placements(scores: Vector, is_fragment: NDArray[np.bool_], folds: Sequence[Rows]) -> Vector:
    """Return for each row the share of the other sample's rows in its fold on the right side of it.

    That is below a fragment row and above a validation row; equal scores count a half. Rows outside
    all folds get NaN.
    """
    found = np.full(len(scores), np.nan)
    for held in folds:
        mine = is_fragment[held]
        for side, sign in ((mine, 1.0), (~mine, -1.0)):
            other = np.sort(sign * scores[held[~side]])
            own = sign * scores[held[side]]
            below = np.searchsorted(other, own) + np.searchsorted(other, own, side="right")
            found[held[side]] = below / (2 * len(other))
    return found
