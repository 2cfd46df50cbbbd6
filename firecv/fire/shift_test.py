"""Whether the validation set differs from the pooled fragments: a test on sketches, no labels.

e = mean of V - sum_i (n_i / N) mean_i, T = e' S^-1 e with S the shrunk covariance of V and the
fragments together, coordinates standardised. Sketches of trained models have heavy tails, many
dependent coordinates and few samples, so T is not chi-squared with k degrees of freedom, which
rejects up to a fifth of validation sets without shift at level 0.01. Instead T is held against
two laws, each a chi-squared with the scale and degrees of freedom that match its mean and
variance, and the larger p-value counts:

- *signs*: the rows of V, taken from the common mean, with random signs. T is a quadratic form in
  the signs and both moments are sums over rows. Tails count as they occur in V.
- *normal*: normal rows with the pooled covariance, for a small V without the rare large rows that
  make up most of the mean: its own spread then says too little.

The noise of the fragments' means enters both as normal. The rate of false alarms is measured in
``benchmarks/shift_test.py``. It holds for samples the model was not trained on: a model that has
learned its fragments by heart is surer of them than of any new sample, and the test says so.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.stats import chi2

from firecv.errors import DataError
from firecv.fire.balance import balanced, lower_root
from firecv.fire.pooling import pooled, shrunk, standard_deviations
from firecv.fire.summaries import Matrix, SketchSummary, Vector, check_rows

LEVEL = 0.01


class ShiftTest(NamedTuple):
    """The outcome of a shift test.

    Attributes
    ----------
    statistic
        T, scaled so that without shift it is chi-squared with `degrees` degrees of freedom.
    degrees
        Degrees of freedom, seldom whole; fewer than k where coordinates depend on each other.
    p_value
        Probability of a statistic as large without shift.
    rejects
        Whether the p-value is at or below the level.
    """

    statistic: float
    degrees: float
    p_value: float
    rejects: bool


def shift_test(
    validation: Matrix,
    summaries: Sequence[SketchSummary],
    *,
    level: float = LEVEL,
    shares: Vector | None = None,
) -> ShiftTest:
    """Return whether the validation set differs from the fragments pooled by their sizes.

    Costs O(n_V k^2 + m k^3) for m fragments: some milliseconds for k = 48.

    Parameters
    ----------
    validation
        Sketches of the validation set, of shape (n_V, k), with two rows or more.
    summaries
        One per fragment, taken at the same weights and with the same seed.
    level
        Rate of false alarms to allow.
    shares
        Weights of the fragments instead of their sizes. If they were chosen by these sketches, the
        test is too lenient.

    Examples
    --------
    >>> from firecv.seeding import derive
    >>> rng = derive(0, "example")
    >>> fragments = [SketchSummary.of_rows(rng.exponential(size=(n, 8))) for n in (100, 300)]
    >>> shift_test(rng.exponential(size=(50, 8)), fragments).rejects
    False
    >>> shift_test(1.5 * rng.exponential(size=(50, 8)), fragments).rejects
    True
    """
    if not 0 < level < 1:
        raise DataError(f"the level is a rate of false alarms between 0 and 1, got {level}")
    total, laws = laws_without_shift(validation, summaries, shares)
    tests = (law.outcome(total, level) for law in laws.values())
    return max(tests, key=lambda test: test.p_value)


class Moments(NamedTuple):
    """Mean and variance of T without shift."""

    mean: float
    variance: float

    def outcome(self, total: float, level: float) -> ShiftTest:
        """Return the test of T by the scaled chi-squared law with these moments."""
        if not self.variance > 0:  # nothing varies, so nothing differs
            return ShiftTest(0.0, 0.0, 1.0, False)
        statistic = 2 * total * self.mean / self.variance
        degrees = 2 * self.mean**2 / self.variance
        p_value = float(chi2.sf(statistic, degrees))
        return ShiftTest(statistic, degrees, p_value, p_value <= level)


def laws_without_shift(
    validation: Matrix, summaries: Sequence[SketchSummary], shares: Vector | None = None
) -> tuple[float, dict[str, Moments]]:
    """Return T, and the moments it would have without shift by either law."""
    rows, summaries = balanced(check_validation(validation, summaries), summaries)
    n_rows, mixture = len(rows), pooled(summaries, shares)
    share = n_rows / (n_rows + mixture.n_effective)  # of V in the common mean
    rows = rows - mixture.mean
    both = share * (rows.T @ rows / n_rows) + (1 - share) * mixture.covariance
    scales = standard_deviations(both, mixture.mean)
    if np.isinf(scales).all():  # nothing varies, so nothing differs
        return 0.0, {"normal": Moments(0.0, 0.0)}
    rows, both = rows / scales, both / np.outer(scales, scales)
    gap = rows.mean(0)
    rows = rows - share * gap
    lower = lower_root(shrunk(rows, both, n_rows + mixture.n_effective))
    noise = _whitened(lower, mixture.noise / np.outer(scales, scales))
    total = float(np.square(solve_triangular(lower, gap, lower=True)).sum())
    return total, {
        "signs": _by_signs(solve_triangular(lower, rows.T, lower=True).T / n_rows, noise),
        "normal": _by_normal(_whitened(lower, both) / n_rows + noise),
    }


def _by_signs(rows: Matrix, noise: Matrix) -> Moments:
    """Return the moments of |sum_j s_j rows_j + z|^2 for random signs s and z ~ N(0, noise)."""
    squares = rows.T @ rows
    own = np.square(rows).sum(1)
    pairs = float(np.square(squares).sum() - np.square(own).sum())  # over j != l, (rows_j.rows_l)^2
    with_noise = 2 * float(np.square(noise).sum()) + 4 * float(np.sum(squares * noise))
    return Moments(float(own.sum() + np.trace(noise)), 2 * max(pairs, 0.0) + with_noise)


def _by_normal(covariance: Matrix) -> Moments:
    """Return the moments of |z|^2 for z ~ N(0, covariance)."""
    return Moments(float(np.trace(covariance)), 2 * float(np.square(covariance).sum()))


def _whitened(lower: Matrix, matrix: Matrix) -> Matrix:
    """Return L^-1 A L'^-1."""
    half = solve_triangular(lower, matrix, lower=True)
    return np.asarray(solve_triangular(lower, half.T, lower=True))


def check_validation(validation: Matrix, summaries: Sequence[SketchSummary]) -> Matrix:
    """Return the rows of V; raise `DataError` unless they fit the summaries."""
    rows = check_rows(validation, 2, "the sketch of the validation set")
    if summaries and rows.shape[1:] != summaries[0].mean.shape:
        raise DataError(
            f"the sketch of the validation set has {rows.shape[1]} numbers per sample, that of "
            f"the fragments {summaries[0].mean.size}; take both of the same model with the same "
            f"n_numbers"
        )
    return rows
