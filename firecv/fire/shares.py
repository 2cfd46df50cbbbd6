"""Weights without any rule, and how strong a rule may be."""

import math
from collections.abc import Sequence

import numpy as np

from firecv.errors import DataError
from firecv.fire.summaries import Vector


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
