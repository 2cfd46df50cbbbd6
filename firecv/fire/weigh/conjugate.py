"""Conjugate gradients for several symmetric systems at once, with one preconditioner for all.

*Shapes*: right-hand sides and solutions are (p, F, K): F systems, each of p columns and K logits.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

Floats = NDArray[np.float64]

MOST_STEPS = 200
"""A bound that only badly conditioned rows reach; the solution reached by then is used."""
FLOOR = 1e-6
"""Added to a preconditioner's diagonal, relative to its mean, which makes it invertible."""


@dataclass(frozen=True)
class Preconditioner:
    """About the inverse of all the systems' matrices.

    Attributes
    ----------
    inverse
        Of all logits together, of shape (1, K p, K p), or of each alone, of shape (K, p, p).
    cost
        What it cost to build, in products with the matrices.
    pace
        Steps it took per factor of e of the residual when it was new; 0 before its first use.
    n_wasted
        Steps it has taken beyond that pace since.
    """

    inverse: NDArray[np.floating]
    cost: float = float("inf")
    pace: float = 0.0
    n_wasted: float = 0.0

    @property
    def is_spent(self) -> bool:
        """Whether it has wasted as much as a new one would cost."""
        return self.n_wasted > self.cost

    def used(self, n_steps: int, residual: float) -> Self:
        """Return it as it is after a solution to this residual in so many steps."""
        digits = -np.log(residual)
        if not self.pace:
            return replace(self, pace=n_steps / digits)
        return replace(self, n_wasted=self.n_wasted + max(0.0, n_steps - self.pace * digits))

    def times(self, r: Floats) -> Floats:
        """Return its product with parameters of shape (p, F, K)."""
        p, n_copies, n_logits = r.shape
        by_logit = r.transpose(2, 0, 1).reshape(len(self.inverse), -1, n_copies)
        result = np.matmul(self.inverse, by_logit.astype(self.inverse.dtype))
        return result.astype(np.float64).reshape(n_logits, p, n_copies).transpose(1, 2, 0)


class Solution(NamedTuple):
    """What conjugate gradients gave: x of shape (p, F, K), and how many steps they took."""

    x: Floats
    n_steps: int


def conjugate_gradients(
    product: Callable[[Floats], Floats],
    b: Floats,
    start: Floats | None,
    preconditioner: Preconditioner,
    residual: float,
) -> Solution:
    """Solve A_f x_f = b_f for every copy f at once, A_f symmetric and positive semidefinite.

    Parameters
    ----------
    product
        Multiplies every copy with its matrix.
    b
        Right-hand sides of shape (p, F, K).
    start
        First guess; None for zero.
    preconditioner
        One for all copies.
    residual
        Relative residual to stop at, in the norm of the preconditioner.

    Examples
    --------
    >>> scale = np.array([1.0, 2.0, 4.0]).reshape(3, 1, 1)
    >>> identity = Preconditioner(np.eye(3)[None])
    >>> b = np.ones((3, 1, 1))
    >>> x, n_steps = conjugate_gradients(lambda v: scale * v, b, None, identity, 1e-9)
    >>> x.ravel(), n_steps
    (array([1.  , 0.5 , 0.25]), 3)
    """
    x = np.zeros_like(b) if start is None else start.copy()
    r = b.copy() if start is None else b - product(x)
    direction = preconditioner.times(r)
    remaining, enough = inner(r, direction), residual**2 * inner(b, preconditioner.times(b))
    for n_steps in range(MOST_STEPS):
        active = remaining > enough
        if not active.any():
            return Solution(x, n_steps)
        image = product(direction)
        curvature = inner(direction, image)
        active &= curvature > 0  # along a flat direction there is nothing to gain
        length = np.divide(remaining, curvature, out=np.zeros_like(remaining), where=active)
        x += length[:, None] * direction
        r -= length[:, None] * image
        scaled = preconditioner.times(r)
        previous, remaining = remaining, np.where(active, inner(r, scaled), 0.0)
        ratio = np.divide(remaining, previous, out=np.zeros_like(remaining), where=active)
        direction = scaled + ratio[:, None] * direction
    return Solution(x, MOST_STEPS)


def inverted(hessian: Floats, penalty: Floats) -> NDArray[np.float32]:
    """Return the inverses of positive semidefinite matrices, of shape (n_blocks, q, q).

    In single precision, which is enough to precondition and halves what a product has to read.

    Parameters
    ----------
    hessian
        The matrices; they are overwritten.
    penalty
        Added to their diagonals beside the floor, of shape (q,).
    """
    diagonal = np.einsum("bqq->bq", hessian)
    diagonal += penalty
    diagonal += FLOOR * diagonal.mean(axis=1, keepdims=True) + 1e-300
    return np.stack([_inverse(matrix).astype(np.float32) for matrix in hessian])


def inner(u: Floats, v: Floats) -> Floats:
    """Return the inner product of every copy."""
    return np.einsum("pfk,pfk->f", u, v)


def _inverse(matrix: Floats) -> Floats:
    factorize, invert = get_lapack_funcs(("potrf", "potri"), (matrix,))
    factor, failed = factorize(matrix, lower=True)
    if failed:  # rounding has made it indefinite: its diagonal will do
        return np.diag(1.0 / np.diag(matrix))
    half, _ = invert(factor, lower=True)
    full = np.tril(half, -1)
    full += full.T
    np.fill_diagonal(full, np.diag(half))
    return full
