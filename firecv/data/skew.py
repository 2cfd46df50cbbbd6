"""Fragments skewed in their labels or their sizes by Dirichlet draws.

Label skew follows Hsu, Qi and Brown (arXiv 1909.06335) and Li, Diao, Chen and He (ICDE 2022,
arXiv 2102.02079): the samples of each class are shared out in proportions drawn anew per class.
*Departures*: the draw is repeated until every fragment is large enough, without first capping
fragments that are already full.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from firecv.data.arrays import Arrays, Rows
from firecv.data.even import Fragments, check_enough, check_whole, numbered
from firecv.errors import DataError

MOST_DRAWS = 1000


@dataclass(frozen=True)
class Dirichlet:
    """Share each class out among `n` fragments in proportions drawn from Dirichlet(alpha).

    Attributes
    ----------
    n
        Number of fragments.
    alpha
        Evenness: near 0 a class lies almost wholly in one fragment, at infinity every fragment
        has the same share of every class.
    min_size
        Proportions are drawn again until every fragment has as many samples.
    """

    n: int = 10
    alpha: float = 0.5
    min_size: int = 10

    def __post_init__(self) -> None:
        """Check the settings."""
        _check(self.n, self.alpha, self.min_size)


@dataclass(frozen=True)
class Quantity:
    """Share all samples out among `n` fragments in proportions drawn from Dirichlet(alpha).

    Attributes
    ----------
    n
        Number of fragments.
    alpha
        Evenness: near 0 one fragment has almost everything, at infinity sizes are equal.
    min_size
        Proportions are drawn again until every fragment has as many samples.
    """

    n: int = 10
    alpha: float = 0.5
    min_size: int = 10

    def __post_init__(self) -> None:
        """Check the settings."""
        _check(self.n, self.alpha, self.min_size)


def dirichlet(arrays: Arrays, rng: np.random.Generator, settings: Dirichlet) -> Fragments:
    """Return fragments whose class shares differ; a fragment may lack a class.

    Examples
    --------
    >>> pair = Arrays(np.zeros((40, 1)), np.repeat([0, 1], 20), ("a", "b"))
    >>> cut = dirichlet(pair, np.random.default_rng(0), Dirichlet(n=2, alpha=0.1))
    >>> [pair.take(rows).counts() for rows in cut.values()]
    [{'a': 3, 'b': 20}, {'a': 17, 'b': 0}]
    """
    groups = [np.flatnonzero(arrays.y == label) for label in np.unique(arrays.y)]
    return _share_out(arrays, groups, rng, settings)


def quantity(arrays: Arrays, rng: np.random.Generator, settings: Quantity) -> Fragments:
    """Return fragments of different sizes, drawn at random.

    Examples
    --------
    >>> pair = Arrays(np.zeros((40, 1)), np.repeat([0, 1], 20), ("a", "b"))
    >>> cut = quantity(pair, np.random.default_rng(0), Quantity(n=2, alpha=0.5))
    >>> [len(rows) for rows in cut.values()]
    [30, 10]
    """
    return _share_out(arrays, [np.arange(len(arrays))], rng, settings)


def _share_out(
    arrays: Arrays, groups: list[Rows], rng: np.random.Generator, settings: Dirichlet | Quantity
) -> Fragments:
    """Return fragments that get a part of every group of rows."""
    check_enough(arrays, settings.n, settings.min_size)
    edges = _edges([len(rows) for rows in groups], rng, settings)
    shares = [
        np.split(rng.permutation(rows), cuts[:-1]) for rows, cuts in zip(groups, edges, strict=True)
    ]
    return numbered("client", map(np.concatenate, zip(*shares, strict=True)))


def _edges(
    sizes: list[int], rng: np.random.Generator, settings: Dirichlet | Quantity
) -> NDArray[np.intp]:
    """Return where each group is cut, of shape (n_groups, n), all fragments large enough."""
    # Above this the sum of gamma draws overflows; the shares are equal long before.
    alpha = np.full(settings.n, min(settings.alpha, 1e300))
    totals = np.array(sizes)[:, None]
    for _ in range(MOST_DRAWS):
        ends = np.cumsum(rng.dirichlet(alpha, size=len(sizes)), axis=1) * totals
        # Rounding running totals keeps their sum; the random threshold, one per group, keeps
        # classes of few samples from all falling to the same fragments.
        edges = np.floor(ends + rng.random((len(sizes), 1))).astype(np.intp)
        edges = np.minimum(edges, totals)
        edges[:, -1:] = totals
        if np.diff(edges, axis=1, prepend=0).sum(axis=0).min() >= settings.min_size:
            return edges
    raise DataError(
        f"none of {MOST_DRAWS} draws with alpha={settings.alpha} gave each of {settings.n} "
        f"fragments {settings.min_size} of the {sum(sizes)} samples; raise alpha, or lower n or "
        f"min_size"
    )


def _check(n: int, alpha: float, min_size: int) -> None:
    """Raise a `DataError` unless the settings make sense."""
    check_whole("n", n)
    check_whole("min_size", min_size)
    if not alpha > 0:
        raise DataError(f"alpha is {alpha}; it must be above 0 (infinity means equal shares)")
