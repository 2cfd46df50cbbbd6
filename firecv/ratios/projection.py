"""A Gaussian kernel projected on a few rows, for samples too large for a kernel matrix.

With rows p and K_pp = L L', the features f(x) = L^-1 k(p, x) have products f(x).f(y) = k(x, y) if x
or y is among p, and for all others the products of the projections on the span of k(., p). What is
left of a row is its distance from that span, sqrt(1 - |f(x)|^2). The rows p are picked one by one,
each the one of which most is left (Fine and Scheinberg, JMLR 2001).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs, solve_triangular

from firecv.ratios.kernels import (
    Matrix,
    Samples,
    Scaling,
    Vector,
    gaussian,
    row_blocks,
    squared_distances,
)

(_pstrf,) = get_lapack_funcs(("pstrf",), dtype=np.float64)

NEGLIGIBLE = 1e-10
"""What may be left of every row, squared, when no more rows are picked."""


@dataclass(frozen=True)
class Projection:
    """Features whose products are the projected kernel.

    Attributes
    ----------
    rows
        Scaled rows that were picked, in this order.
    lower
        Their kernel matrix's lower triangular factor.
    width
        Of the kernel.

    Examples
    --------
    >>> rows = np.linspace(-1, 1, 1000)[:, None]
    >>> projection = Projection.of(rows, width=1.0, rank=6)
    >>> projection.rows[:3, 0].round(1).tolist()
    [-1.0, 1.0, -0.0]
    >>> bool(left_over(projection.features(rows)).max() < 0.01)
    True
    """

    rows: Matrix
    lower: Matrix
    width: float

    @classmethod
    def of(cls, rows: Matrix, width: float, rank: int) -> Self:
        """Return the projection on up to `rank` of these scaled rows.

        Parameters
        ----------
        rows
            Scaled rows to pick from; a matrix of all their kernel values is formed.
        width
            Of the kernel.
        rank
            Number of rows to pick, fewer if next to nothing is left before.
        """
        factor, order = factorised(gaussian(squared_distances(rows, rows), width))
        picked = order[: min(rank, factor.shape[1])]
        return cls(rows[picked], factor[picked, : len(picked)], width)

    def features(self, rows: Matrix) -> Matrix:
        """Return the features of scaled rows, (n_rows, rank)."""
        kernel = gaussian(squared_distances(self.rows, rows), self.width)
        return np.asarray(solve_triangular(self.lower, kernel, lower=True)).T

    def blocks(self, rows: Samples, scaling: Scaling) -> Iterator[Matrix]:
        """Yield the features of unscaled rows, block by block."""
        for part in row_blocks(len(rows), max(self.rows.shape)):
            yield self.features(scaling.apply(rows[part]))


def left_over(features: Matrix) -> Vector:
    """Return the distance of rows, given by their features, from the span projected on."""
    return np.sqrt(np.maximum(1.0 - np.einsum("ij,ij->i", features, features), 0.0))


def factorised(kernel: Matrix) -> tuple[Matrix, NDArray[np.intp]]:
    """Return F with kernel = F F' up to `NEGLIGIBLE`, and all rows in the order of their pivots.

    Parameters
    ----------
    kernel
        A positive semidefinite matrix.

    Examples
    --------
    >>> factorised(np.array([[1.0, 1.0], [1.0, 1.0]]))[0].tolist()
    [[1.0], [1.0]]
    """
    # The transpose is in LAPACK's order, and by symmetry the same matrix.
    upper, order, rank, _ = _pstrf(kernel.T, tol=NEGLIGIBLE, lower=0)
    factor = np.empty((len(kernel), rank))
    factor[order - 1] = np.triu(upper[:rank]).T
    return factor, order - 1
