"""Sketches and summaries in units in which nothing computed from them overflows or fails.

Summaries come from other machines. Their scale is the model's, and a covariance may be off by
rounding, by noise added for privacy, or on purpose.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from scipy.linalg import cholesky

from firecv.errors import NumericalError
from firecv.fire.pooling import check_summaries, middle
from firecv.fire.summaries import Matrix, SketchSummary

FARTHEST_MEAN: Final = 1e60
"""To which larger means are cut, in units of V and the median fragment, and covariances to its
square. Whitening lengthens them by up to 1e8 and fourth powers are formed, which stay finite."""
INDEFINITE: Final = 1e-9
"""Negative eigenvalues of a correlation matrix up to this size are rounding."""


def balanced(
    rows: Matrix, summaries: Sequence[SketchSummary]
) -> tuple[Matrix, list[SketchSummary]]:
    """Return sketches of V and summaries in units of their own, with covariances that are such.

    Each coordinate is divided by a power of two, which rounds nothing: the one next to the largest
    value in V or in the median fragment. Covariances are made symmetric; where one has eigenvalues
    below zero by more than rounding, they are set to zero.

    Parameters
    ----------
    rows
        Sketches of the validation set, of shape (n_V, k), finite.
    summaries
        One per fragment.

    Examples
    --------
    >>> wrong = SketchSummary(10, 10, np.zeros(2), np.array([[4.0, 8.0], [8.0, 4.0]]) * 1e200)
    >>> _, (found,) = balanced(np.full((3, 2), 1e100), [wrong])
    >>> bool(np.linalg.eigvalsh(found.covariance).min() > -1e-12), bool(found.covariance.max() < 10)
    (True, True)
    """
    check_summaries(summaries)
    sizes = np.array([s.n for s in summaries], np.float64)
    means = np.stack([s.mean for s in summaries])
    within = np.stack([s.covariance for s in summaries])
    deviations = np.sqrt(np.abs(np.diagonal(within, axis1=1, axis2=2)))
    typical = (np.abs(rows).max(0), middle(np.abs(means), sizes), middle(deviations, sizes))
    powers = np.frexp(np.max(typical, axis=0))[1]
    with np.errstate(over="ignore"):  # garbage, and cut
        means = np.ldexp(means, -powers).clip(-FARTHEST_MEAN, FARTHEST_MEAN)
        within = np.ldexp(within, -(powers[:, None] + powers))
    within = within.clip(-(FARTHEST_MEAN**2), FARTHEST_MEAN**2)
    within = semidefinite((within + within.transpose(0, 2, 1)) / 2)
    parts = zip(summaries, means, within, strict=True)
    return np.ldexp(rows, -powers), [replace(s, mean=m, covariance=c) for s, m, c in parts]


def semidefinite(matrices: Matrix) -> Matrix:
    """Return symmetric matrices, of shape (m, k, k), without eigenvalues below zero.

    Those that have none but by rounding are returned as they are.
    """
    roots = np.sqrt(np.diagonal(matrices, axis1=1, axis2=2).clip(0))
    scales = roots[:, :, None] * roots[:, None, :]
    correlations = np.divide(matrices, scales, out=np.zeros_like(matrices), where=scales > 0)
    correlations = correlations.clip(-1, 1)
    lowest = np.linalg.eigvalsh(correlations)[:, 0]
    off = (np.abs(matrices - correlations * scales) > INDEFINITE * scales).any((1, 2))
    wrong = off | (lowest < -INDEFINITE)
    if not wrong.any():
        return matrices
    values, vectors = np.linalg.eigh(correlations[wrong])
    nearest = (vectors * values.clip(0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    result = matrices.copy()
    result[wrong] = nearest * scales[wrong]
    return result


def lower_root(covariance: Matrix) -> Matrix:
    """Return the lower triangular L with L L' the covariance, and as much more as rounding needs.

    What is added to the diagonal is nothing at first, then 1e-16 of its mean and ten times more
    until there is a root.

    Examples
    --------
    >>> lower_root(np.array([[4.0, 2.0], [2.0, 1.0]])).round(3)
    array([[2., 0.],
           [1., 0.]])
    """
    if np.isfinite(covariance).all():
        unit = float(np.trace(covariance)) / len(covariance) * np.eye(len(covariance))
        for added in (0.0, *(10.0**power for power in range(-16, 1))):
            try:
                return np.asarray(cholesky(covariance + added * unit, lower=True))
            except np.linalg.LinAlgError:
                continue
    raise NumericalError(
        "the covariance of the sketches is not finite or far from semi-definite; the model has "
        "diverged, or a fragment's summary is not one of samples"
    )
