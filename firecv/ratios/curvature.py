"""Kernel matrices as an interior-point method needs them: products, and solves with a diagonal.

A solve takes a Cholesky factorisation, O(n^3), or O(n r^2) where the matrix is F F' + ridge I with
F of r columns (Fine and Scheinberg, JMLR 2001).
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from firecv.errors import NumericalError

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Solve = Callable[[Vector], Vector]

_potrf, _potrs = get_lapack_funcs(("potrf", "potrs"), dtype=np.float64)

BLOCK = 1 << 20
"""Numbers of a factor that are scaled at a time."""


class Curvature(Protocol):
    """The matrix K / n of the program."""

    def times(self, w: Vector) -> Vector:
        """Return its product with a vector."""
        ...

    def solver(self, diagonal: Vector) -> Solve:
        """Return what solves systems with this matrix plus a positive diagonal."""
        ...


class DenseCurvature:
    """A matrix that is held in full."""

    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix

    def times(self, w: Vector) -> Vector:
        """Return the product with a vector."""
        return self._matrix @ w

    def solver(self, diagonal: Vector) -> Solve:
        """Return what solves systems with this matrix plus a positive diagonal."""
        total = self._matrix.copy()
        total.flat[:: len(total) + 1] += diagonal
        return _cholesky(total)


class FactoredCurvature:
    """F F' + ridge I.

    Parameters
    ----------
    factor
        F, of shape (n, r).
    ridge
        At least zero.
    matrix
        What F F' + ridge I stands for, if it is known: products are then taken with it, and the
        factor serves for the directions of steps only.
    """

    def __init__(self, factor: Matrix, ridge: float, matrix: Matrix | None = None) -> None:
        self._factor, self._ridge, self._matrix = factor, ridge, matrix

    def times(self, w: Vector) -> Vector:
        """Return the product with a vector."""
        if self._matrix is not None:
            return self._matrix @ w
        return self._product(w) + self._ridge * w

    def solver(self, diagonal: Vector) -> Solve:
        """Return what solves systems with this matrix plus a positive diagonal."""
        diagonal = diagonal + self._ridge
        inner = _cholesky(self._gram(1 / np.sqrt(diagonal)))

        def once(right: Vector) -> Vector:
            return (right - self._factor @ inner(self._factor.T @ (right / diagonal))) / diagonal

        def solve(right: Vector) -> Vector:
            # Woodbury's formula loses digits where the diagonal is small; one correction by the
            # remainder brings them back.
            found = once(right)
            return found + once(right - diagonal * found - self._product(found))

        return solve

    def _product(self, w: Vector) -> Vector:
        return self._factor @ (self._factor.T @ w)

    def _gram(self, scale: Vector) -> Matrix:
        """Return I + F' diag(scale)^2 F, without a second copy of F."""
        n, rank = self._factor.shape
        total, size = np.eye(rank), max(BLOCK // max(rank, 1), 1)
        for start in range(0, n, size):
            part = self._factor[start : start + size] * scale[start : start + size, None]
            total += part.T @ part
        return total


def _cholesky(matrix: Matrix) -> Solve:
    """Return what solves systems with a positive definite matrix, which is overwritten."""
    # The lower triangle in rows is the upper one in columns, LAPACK's order: nothing is copied.
    factor, info = _potrf(matrix.T, lower=0, overwrite_a=1)
    if info != 0:
        raise NumericalError(
            "the kernel matrix is not positive semidefinite, so that the program has no unique "
            "least value; give a kernel such as the Gaussian one, or raise the ridge"
        )
    return lambda right: _potrs(factor, right, lower=0)[0]
