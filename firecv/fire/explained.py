"""Where fragments differ in classes, weights move only if two rules agree and a mixture explains V.

The rule `information` relies on how sure models are, and fragments that differ in classes and sizes
can be sure and wrong. The rule `mixture` relies on what sketches of V have in common with those of
fragments, and what V shares with the wrong fragments alone can mislead it. So information decides
only where the nearest mixture points the same way and leaves little of V unexplained; else weights
stay at n/N.
"""

import math
from collections.abc import Sequence
from typing import Final

from firecv.fire.mixture import mixture
from firecv.fire.shares import proportions
from firecv.fire.shift_test import shift_test
from firecv.fire.summaries import Matrix, SketchSummary, Vector

MOST_LEFT: Final = 0.01
"""Up to which squared distance, by `left`, a mixture is taken to explain V."""
LEAST_COSINE: Final = 0.5
"""Of the angle between two moves from n/N from which on they point the same way."""


def explained(found: Vector, validation: Matrix, summaries: Sequence[SketchSummary]) -> Vector:
    """Return weights as they were found, or n/N unless the nearest mixture speaks for them.

    Parameters
    ----------
    found
        Weights by another rule.
    validation, summaries
        As for `mixture`.

    Examples
    --------
    >>> import numpy as np
    >>> from firecv.seeding import derive
    >>> rng = derive(0, "example")
    >>> summaries = [SketchSummary.of_rows(rng.normal(c, 1, (200, 4))) for c in (0, 1, 2)]
    >>> inside, outside = rng.normal(2, 1, (50, 4)), rng.normal([2, 2, 2, 9], 1, (50, 4))
    >>> right, wrong = np.array([0.1, 0.1, 0.8]), np.array([0.8, 0.1, 0.1])
    >>> for v in (inside, outside):
    ...     print(explained(right, v, summaries).round(1), explained(wrong, v, summaries).round(1))
    [0.1 0.1 0.8] [0.3 0.3 0.3]
    [0.3 0.3 0.3] [0.3 0.3 0.3]
    """
    shares, nearest = proportions([s.n for s in summaries]), mixture(validation, summaries)
    one, two = found - shares, nearest - shares
    agree = float(one @ two) >= LEAST_COSINE * math.sqrt(float(one @ one) * float(two @ two)) > 0
    return found if agree and left(validation, summaries, nearest) <= MOST_LEFT else shares


def left(validation: Matrix, summaries: Sequence[SketchSummary], weights: Vector) -> float:
    """Return how far V is from a mixture of fragments, squared, in units of their common spread.

    The statistic of the shift test over its expectation, less one, per sample of V: what V's own
    sampling makes of it is left out, and it does not grow with V.

    Parameters
    ----------
    validation, summaries
        As for `mixture`.
    weights
        Of the fragments.

    Examples
    --------
    >>> import numpy as np
    >>> from firecv.seeding import derive
    >>> rng = derive(0, "example")
    >>> summaries = [SketchSummary.of_rows(rng.normal(c, 1, (900, 4))) for c in (0, 2)]
    >>> rows = rng.normal(2, 1, (400, 4))
    >>> [round(left(rows, summaries, np.array([1 - w, w])), 2) for w in (0.5, 0.9, 1.0)]
    [0.17, 0.01, -0.0]
    """
    test = shift_test(validation, summaries, shares=weights)
    return (test.statistic / test.degrees - 1) / len(validation) if test.degrees else 0.0
