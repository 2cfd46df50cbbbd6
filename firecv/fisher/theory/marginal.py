"""The marginal lemma: how far apart two laws are whose density ratio stays near one.

Symbols: r = p / q is the density ratio of a fragment's law to the validation law, gamma the
largest |r - 1|. The paper bounds KL(p || q) by C1 gamma^2 + C1' gamma^3 with
C1 = 1 / (2 (1 - gamma)) and C1' = 1 / (3 (1 - gamma)^2), for gamma < 1.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from firecv.errors import DataError

Law = NDArray[np.float64]


class Printed(NamedTuple):
    """The two terms of the paper's bound."""

    square: float
    cube: float


def kl(p: Law, q: Law) -> float:
    """Return KL(p || q) of two discrete laws; infinite where q excludes what p has.

    Examples
    --------
    >>> round(kl(np.array([0.75, 0.25]), np.array([0.5, 0.5])), 4)
    0.1308
    """
    _check_laws(p, q)
    return float(rel_entr(p, q).sum())


def deviation(p: Law, q: Law) -> float:
    """Return gamma, the largest distance of p / q from one over the points that q has.

    Infinite if p has a point that q lacks.

    Examples
    --------
    >>> deviation(np.array([0.75, 0.25]), np.array([0.5, 0.5]))
    0.5
    """
    _check_laws(p, q)
    if np.any(p[q == 0] > 0):
        return math.inf
    held = q > 0
    return float(np.abs(p[held] / q[held] - 1).max())


def printed_marginal(gamma: float) -> Printed:
    """Return C1 gamma^2 and C1' gamma^3 as printed; infinite from gamma = 1 on.

    Examples
    --------
    >>> printed_marginal(0.5)
    Printed(square=0.25, cube=0.16666666666666666)
    """
    check_not_negative("gamma", gamma)
    if gamma >= 1:
        return Printed(math.inf, math.inf)
    return Printed(gamma**2 / (2 * (1 - gamma)), gamma**3 / (3 * (1 - gamma) ** 2))


def sharp_marginal(gamma: float) -> float:
    """Return the largest KL(p || q) that any two laws with this gamma can have.

    r log r is convex, so the worst r has mean one on the two ends of its range: 1 - gamma and
    1 + gamma with odds even, or 0 and 1 + gamma once gamma is 1 or more. At most log(2) gamma^2
    for gamma up to 1, and log(1 + gamma) beyond.

    Examples
    --------
    >>> round(sharp_marginal(0.5), 4), round(sharp_marginal(3.0), 4)
    (0.1308, 1.3863)
    """
    check_not_negative("gamma", gamma)
    if gamma >= 1:
        return math.log1p(gamma)
    return gamma * math.atanh(gamma) + math.log1p(-(gamma**2)) / 2


def check_not_negative(name: str, value: float) -> None:
    """Raise unless a number is zero or more."""
    if not value >= 0:
        raise DataError(f"{name} is {value}; expected a number that is not negative")


def _check_laws(p: Law, q: Law) -> None:
    if p.ndim != 1 or p.shape != q.shape or not len(p):
        raise DataError(
            f"two laws over the same points are needed, as vectors of one length; got shapes "
            f"{p.shape} and {q.shape}"
        )
    for name, law in (("first", p), ("second", q)):
        if not (law >= 0).all() or abs(float(law.sum()) - 1) > 1e-9:
            raise DataError(
                f"the {name} law has entries from {law.min()} to {law.max()} and sum {law.sum()}; "
                f"expected no negative entry and sum 1"
            )
