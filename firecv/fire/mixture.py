"""Rule `mixture`: the mixture of fragments whose mean sketch is nearest to that of V.

w minimises n_V/2 e(w)' S^-1 e(w) + kappa KL(w || n/N) over the simplex, e(w) = sum_i w_i mean_i -
mean_V, S = shrunk covariance over V plus the fragments' own sampling noise at n/N. The Fisher of
a mixture is the mixture of Fishers, so this asks for the mixture V might have come from. Scales
come from V and the median fragment, so that one fragment of garbage does not blur all others.

*Symbols*: strength = 1 / kappa.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from firecv.fire.balance import balanced, lower_root
from firecv.fire.pooling import (
    covariances,
    middle,
    shrunk,
    standard_deviations,
)
from firecv.fire.shares import check_strength, proportions
from firecv.fire.shift_test import check_validation
from firecv.fire.summaries import Matrix, SketchSummary, Vector

TOLERANCE = 1e-10
MOST_STEPS = 100
FARTHEST = 1e4
"""Standard errors, times the root of the strength, beyond which a fragment is moved nearer."""
N_FOLDS = 5
STRENGTHS = (0.0, *(10.0 ** (power / 2) for power in range(-10, 3)))
"""Tried by cross-validation, weakest first: 0 and 1e-5 to 10, two a decade."""


def mixture(
    validation: Matrix, summaries: Sequence[SketchSummary], *, strength: float | None = None
) -> Vector:
    """Return the weights of the mixture nearest to the validation set.

    Convex; solved until no entry of w * (gradient - mean gradient) exceeds 1e-10 kappa, as far as
    rounding allows. Costs O(n_V k^2 + m k^3) and O(m^3) per step of Newton's method, of which
    ten or so suffice.

    Parameters
    ----------
    validation
        Sketches of the validation set, of shape (n_V, k).
    summaries
        One per fragment, taken at the same weights and with the same seed.
    strength
        How much the match counts against staying at n/N; 0 gives n/N exactly. By default the
        weakest whose held-out mismatch on V, in 5 folds (row j in fold j mod 5), is within one
        standard error of the least.

    Examples
    --------
    >>> from firecv.seeding import derive
    >>> rng = derive(0, "example")
    >>> rows = [rng.normal(centre, 1, (200, 4)) for centre in (0, 1, 2)]
    >>> summaries = [SketchSummary.of_rows(each) for each in rows]
    >>> mixture(rng.normal(2, 1, (50, 4)), summaries, strength=1).round(2)
    array([0.  , 0.03, 0.97])
    """
    shares = proportions([s.n for s in summaries])
    if strength is not None:
        check_strength(strength)
    if strength == 0 or len(shares) == 1:
        return shares
    rows = check_validation(validation, summaries)
    problem = Problem.build(rows, summaries)
    if strength is None:
        strength = problem.best_strength()
    return problem.solve(strength)


class Problem(NamedTuple):
    """Sketches of V and means of fragments in coordinates where S is the identity."""

    rows: Matrix
    means: Matrix
    shares: Vector

    @classmethod
    def build(cls, rows: Matrix, summaries: Sequence[SketchSummary]) -> "Problem":
        """Return the problem for these sketches and summaries."""
        rows, summaries = balanced(rows, summaries)
        n_rows, shares = len(rows), proportions([s.n for s in summaries])
        centre, within = rows.mean(0), covariances(summaries)
        rows, means = rows - centre, np.stack([s.mean for s in summaries]) - centre
        own = rows.T @ rows / n_rows
        typical = middle(np.diagonal(within, axis1=1, axis2=2), shares)
        scales = standard_deviations(own + np.diag(typical), centre)
        squares = np.outer(scales, scales)
        rows, means, own, within = rows / scales, means / scales, own / squares, within / squares
        used = np.array([s.used for s in summaries])
        noise = n_rows * np.einsum("i,ijk->jk", shares**2 / used, within)
        floor = np.finfo(np.float64).eps * np.eye(len(scales))  # where nothing varies
        lower = lower_root(shrunk(rows, own, n_rows) + noise + floor)
        rows, means = (solve_triangular(lower, a.T, lower=True).T for a in (rows, means))
        return cls(rows, means, shares)

    def solve(self, strength: float) -> Vector:
        """Return the weights for one strength."""
        if strength == 0:
            return self.shares
        away = math.sqrt(len(self.rows) * strength) * (self.means - self.rows.mean(0))
        lengths = np.sqrt(np.square(away).sum(1, keepdims=True))
        away = away * (FARTHEST / np.maximum(lengths, FARTHEST))  # or garbage ends all precision
        return nearest(away @ away.T, self.shares)

    def best_strength(self) -> float:
        """Return the strength chosen by cross-validation with the one-standard-error rule."""
        n_folds = min(N_FOLDS, len(self.rows))
        folds = np.arange(len(self.rows)) % n_folds
        scores = np.array(
            [[self.mismatch(folds == fold, s) for fold in range(n_folds)] for s in STRENGTHS]
        )
        means = scores.mean(1)
        best = int(means.argmin())
        error = float(scores[best].std(ddof=1)) / math.sqrt(scores.shape[1])
        return STRENGTHS[int(np.argmax(means <= means[best] + error))]

    def mismatch(self, held_out: NDArray[np.bool_], strength: float) -> float:
        """Return n |e(w)|^2 on some rows of V, of the weights found without them."""
        rows = self.rows[held_out]
        weights = self._replace(rows=self.rows[~held_out]).solve(strength)
        return len(rows) * float(np.square(weights @ self.means - rows.mean(0)).sum())


def nearest(quadratic: Matrix, shares: Vector) -> Vector:
    """Return the minimiser of w' H w / 2 + KL(w || shares) over the simplex.

    Newton's method on log w, where a step is exact for the divergence and no weight leaves the
    simplex. A step d solves (I + H W) d = -(gradient - its mean), w' d = 0; along it the value
    falls, and steps are halved until it falls enough.
    """
    log_shares = np.log(shares)
    log_w = log_shares.copy()
    for _ in range(MOST_STEPS):
        w = np.exp(log_w)
        pull = quadratic @ w
        slope = pull + log_w - log_shares
        slope = slope - w @ slope
        if np.abs(w * slope).max() <= TOLERANCE + 1e-14 * np.abs(pull).max():
            break
        sides = np.stack([-slope, np.ones_like(w)], 1)
        step, along = np.linalg.solve(np.eye(len(w)) + quadratic * w, sides).T
        step = step - (w @ step) / (w @ along) * along
        log_w = _line_search(quadratic, log_shares, log_w, step, -float(w @ (step * slope)))
    return np.exp(log_w)


def _line_search(
    quadratic: Matrix, log_shares: Vector, log_w: Vector, step: Vector, fall: float
) -> Vector:
    """Return log weights after a step that lowers the value by a share of what is promised.

    Near the end all differences are rounding and the full step is taken.
    """

    def value(logs: Vector) -> float:
        w = np.exp(logs)
        return float(w @ quadratic @ w / 2 + w @ (logs - log_shares))

    start, length = value(log_w), 1.0
    rounding = 1e-14 * max(1.0, abs(start))
    for _ in range(60):
        trial = log_w + length * step
        trial = trial - np.logaddexp.reduce(trial)
        if value(trial) <= start - 1e-4 * length * fall + rounding:
            return trial
        length /= 2
    return log_w
