"""Moments of all fragments together from their summaries, and covariances that can be inverted."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from firecv.errors import DataError
from firecv.fire.shares import proportions
from firecv.fire.summaries import Matrix, SketchSummary, Vector

LEAST_SHRINKAGE = 1e-6
"""Keeps a covariance invertible where coordinates of a sketch depend on each other exactly."""
OUTLYING = 10.0
"""Times the median spread of fragments, to which a wider one is narrowed."""
ROUNDING = 1e-6
"""Of single precision, in which most sketches are taken."""


class Pooled(NamedTuple):
    """Moments of the mixture of fragments with shares n_i / N.

    Attributes
    ----------
    mean
        Of the mixture, sum_i (n_i / N) mean_i.
    covariance
        Of one draw from the mixture, within and between fragments.
    noise
        Covariance of `mean` as an estimate of the law that all fragments were cut from.
    n_effective
        Number of independent draws that would give a mean as exact, 1 / sum_i (n_i / N)^2 / used_i.
    """

    mean: Vector
    covariance: Matrix
    noise: Matrix
    n_effective: float


def pooled(summaries: Sequence[SketchSummary], shares: Vector | None = None) -> Pooled:
    """Return the moments of the mixture of fragments, unbiased unless one is far the widest.

    With W_i the covariance of fragment i and B that of the means (less their own sampling noise),
    a draw from the mixture has covariance sum_i (n_i / N) W_i + B. The mean has sampling noise
    sum_i (n_i / N)^2 W_i / used_i; against the law that fragments were cut from, however unevenly,
    also B / N. With every sample used that is (W + B) / N, as for N draws.

    Parameters
    ----------
    summaries
        One per fragment.
    shares
        Weights of the fragments instead of n_i / N. These are chosen, not drawn, so that the mean
        has the fragments' sampling noise alone.

    Examples
    --------
    >>> a, b = (SketchSummary.of_rows(np.array([[-1.0], [1.0]]) + shift) for shift in (0.0, 4.0))
    >>> found = pooled([a, b])
    >>> found.mean, found.covariance  # 2 within, 4 - 1/2 between
    (array([2.]), array([[5.5]]))
    """
    check_summaries(summaries)
    total = float(sum(s.n for s in summaries)) if shares is None else np.inf
    shares = proportions([s.n for s in summaries]) if shares is None else shares
    used = np.array([s.used for s in summaries], np.float64)
    means = np.stack([s.mean for s in summaries])
    within = covariances(summaries)
    mean = shares @ means
    away = means - mean
    between = (away * shares[:, None]).T @ away
    sampling = np.einsum("i,ijk->jk", shares**2 / used, within)
    blur = np.einsum("i,ijk->jk", shares * (1 - shares) / used, within)
    return Pooled(
        mean,
        np.einsum("i,ijk->jk", shares, within) + between - blur,
        sampling + (between - blur) / total,
        1 / float(np.sum(shares**2 / used)),
    )


def shrunk(rows: Matrix, covariance: Matrix, n: float) -> Matrix:
    """Return a covariance moved towards a multiple of the identity (Ledoit and Wolf, 2004).

    Parameters
    ----------
    rows
        Centred samples of shape (n_rows, k), from which fourth moments are taken.
    covariance
        The covariance to shrink, of shape (k, k).
    n
        Number of samples behind `covariance`.

    Examples
    --------
    >>> rows = np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> shrunk(rows, rows.T @ rows / 4, 4.0)  # from diag(2, 0.5)
    array([[1.29166667, 0.        ],
           [0.        , 1.20833333]])
    """
    k = len(covariance)
    scale = float(np.trace(covariance)) / k
    target = scale * np.eye(k)
    spread = float(np.square(covariance - target).sum())
    products = float(np.mean(np.square(np.square(rows).sum(1))))
    cross = float(np.sum((rows.T @ rows) * covariance)) / len(rows)
    error = max(0.0, products - 2 * cross + float(np.square(covariance).sum())) / n
    intensity = 1.0 if error >= spread else max(error / spread, LEAST_SHRINKAGE)
    return (1 - intensity) * covariance + intensity * target


def standard_deviations(covariance: Matrix, mean: Vector) -> Vector:
    """Return the roots of the diagonal, infinite where a coordinate varies by rounding alone."""
    deviations = np.sqrt(np.diag(covariance).clip(0))
    return np.where(deviations > ROUNDING * np.abs(mean), deviations, np.inf)


def check_summaries(summaries: Sequence[SketchSummary]) -> None:
    """Raise `DataError` unless all summaries are of one sketch, finite and of some samples."""
    proportions([s.n for s in summaries])
    for index, summary in enumerate(summaries):
        k, shapes = len(summaries[0].mean), (summary.mean.shape, summary.covariance.shape)
        if shapes != ((k,), (k, k)):
            raise DataError(
                f"the summary of fragment {index} has a mean and covariance of shapes {shapes[0]} "
                f"and {shapes[1]}, that of fragment 0 a sketch of {k} numbers; all fragments must "
                f"sketch the same model with the same n_numbers"
            )
        if not 1 <= summary.used <= summary.n:
            raise DataError(
                f"the summary of fragment {index} says {summary.used} of {summary.n} samples were "
                f"used; expected at least one and no more than there are"
            )
        if not (np.isfinite(summary.mean).all() and np.isfinite(summary.covariance).all()):
            raise DataError(
                f"the summary of fragment {index} holds NaN or infinite values; its model has "
                f"diverged or a sample is not finite"
            )


def covariances(summaries: Sequence[SketchSummary]) -> Matrix:
    """Return each fragment's covariance, of shape (m, k, k), fit to be averaged.

    One sample alone tells no covariance and gets that of the rest. One more than ten times as wide
    as the median sample's fragment is narrowed to that: else one fragment of garbage drowns all.
    """
    within = np.stack([s.covariance for s in summaries])
    known = np.array([s.used > 1 for s in summaries])
    sizes = np.array([s.n for s in summaries], np.float64)
    if not known.any():
        raise DataError(
            "every fragment is summarised by one sample, which tells nothing of its spread; use "
            "two samples or more in at least one fragment"
        )
    within[~known] = np.average(within[known], axis=0, weights=sizes[known])
    variances = np.diagonal(within, axis1=1, axis2=2)
    typical = middle(variances, sizes)
    spread = (variances[:, typical > 0] / typical[typical > 0]).sum(1)
    limit = OUTLYING * middle(spread[:, None], sizes)[0]
    if not limit > 0:
        return within
    return within * (limit / np.maximum(spread, limit))[:, None, None]


def middle(values: Matrix, sizes: Vector) -> Vector:
    """Return the median over fragments of each column, a fragment counting by its samples.

    Examples
    --------
    >>> middle(np.array([[1.0], [9.0], [5.0]]), np.array([10, 80, 10]))
    array([9.])
    """
    order = values.argsort(axis=0)
    reached = np.cumsum(sizes[order], axis=0) >= sizes.sum() / 2
    return np.take_along_axis(values, order, 0)[reached.argmax(0), np.arange(values.shape[1])]
