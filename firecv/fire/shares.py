"""Weights without any rule, and how strong a rule may be."""

import math
from collections.abc import Sequence

import numpy as np

from firecv.errors import DataError
from firecv.fire.summaries import Vector

ROUNDING = 1e-9
"""By which share of itself a weight may miss its cap: rounding of sums over fragments."""


NOTHING = 1e-15
"""A weight below the rounding of one, in proportion to which nothing can be shared out."""


def proportions(sizes: Sequence[int]) -> Vector:
    """Return the shares n_i / N, which are the weights without any rule.

    Examples
    --------
    >>> proportions([100, 300])
    array([0.25, 0.75])
    """
    counts = np.asarray(sizes, np.float64)
    if counts.ndim != 1 or not counts.size or not (np.isfinite(counts) & (counts > 0)).all():
        raise DataError(
            f"sizes are the numbers of samples of one or more fragments, each above 0; got "
            f"{list(sizes)}"
        )
    return counts / counts.sum()


def check_strength(strength: float) -> None:
    """Raise `DataError` unless a rule may have this strength."""
    if not 0 <= strength < math.inf:
        raise DataError(f"the strength of a rule is a number from 0 upwards, got {strength}")


def capped(weights: Vector, shares: Vector, multiple: float) -> Vector:
    """Return weights of which none is above a multiple of its share n/N.

    What is above goes to the others in proportion to their weights.

    Parameters
    ----------
    weights
        Weights of the fragments; they sum to one.
    shares
        The shares n/N; they sum to one.
    multiple
        The largest ratio of a weight to its share, at least 1.

    Examples
    --------
    >>> capped(np.array([0.8, 0.1, 0.1, 0.0]), proportions([1, 1, 1, 1]), 2.0)
    array([0.5 , 0.25, 0.25, 0.  ])
    """
    if not multiple >= 1:
        raise DataError(f"weights are capped at a multiple of n/N of at least 1, got {multiple}")
    limits, is_full = multiple * shares, np.zeros(len(shares), bool)
    if (weights > limits * (1 + ROUNDING)).any():  # proportions of next to nothing are rounding
        weights = np.where(weights < NOTHING, 0.0, weights)
    while (weights > limits * (1 + ROUNDING)).any():
        is_full |= weights >= limits
        rest = np.where(is_full, 0.0, weights if weights[~is_full].any() else shares)
        weights = np.where(is_full, limits, rest * (1 - limits[is_full].sum()) / rest.sum())
    return weights
