"""KLIEP: the density ratio under which the reweighted train density is nearest the target's.

The ratio g(x) = sum_l theta_l k(x, c_l), theta >= 0, maximises the mean of log g over the target
with mean 1 over train; the maximum estimates the Kullback-Leibler divergence of target from train.
The width is the one with the highest mean log g on held-out target rows, with all training rows in
the constraint and kernels at the other target rows.

Reference: M. Sugiyama, T. Suzuki, S. Nakajima, H. Kashima, P. von Bünau, M. Kawanabe, Direct
importance estimation for covariate shift adaptation, Annals of the Institute of Statistical
Mathematics 60, 2008.

*Symbols*: coefficients = alpha, width = sigma, centres = c, means = b, shares = b alpha.

*Departures*: the paper climbs by projected gradients. With shares s_l = b_l theta_l, b_l the mean
of kernel l over train, the problem is that of the proportions of a mixture with known components,
max mean log(sum_l s_l k_l / b_l) over the simplex, and is solved by Newton steps, each a quadratic
program over s >= 0 (Y. Kim, P. Carbonetto, M. Stephens, M. Anitescu, Journal of Computational and
Graphical Statistics 2020, arXiv 1806.01412). With d the gradient at s, no shares have an objective
higher by more than log max d; the steps end when that is at most the tolerance.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from firecv.errors import FirecvNotice, ModelError, NumericalError
from firecv.ratios.kernels import (
    WIDTHS,
    Basis,
    Matrix,
    Samples,
    Vector,
    check_overlap,
    check_positive,
    check_samples,
    folds_of,
    gaussian,
)
from firecv.seeding import derive

Usable = NDArray[np.bool_]
Parts = Sequence[Iterable[Matrix]]
"""Blocks of component values, (n_rows, n_components), of parts of the rows, passed over again."""

KEPT = 2**22
"""Kernel values up to which they are kept between steps, 32 MiB; more are computed anew."""
LEAST_KERNEL = 1e-100
"""A kernel with a lower mean over train has no support there, and its coefficient is 0."""
LEAST_TOLERANCE = 1e-12
MOST_STEPS = 100
MOST_HALVINGS = 40
RIDGE = 1e-10
"""Of the diagonal, added to it: kernels much wider than their distances are all but equal."""
SURE = 1e-12
"""Predicted rise of the objective, below which rounding would decide whether a step helps."""


class KLIEP(BaseEstimator):
    """Density ratio of target to train by the Kullback-Leibler importance estimation procedure.

    Kernel values of the target are kept while they fit 32 MiB and computed anew in every step
    otherwise, so memory does not grow beyond that with the rows.

    Parameters
    ----------
    n_folds
        Folds of the cross-validation, at most as many as target rows.
    tolerance
        By how much the mean log ratio at target rows may fall short of its maximum.
    n_centres
        Kernels, each at a row of the target.
    widths
        Candidate widths, in median distances.
    standardise
        Whether features are divided by their standard deviations over train and target together;
        constant ones then do not count.
    random_state
        Seed of the centres and folds.

    Attributes
    ----------
    width_
        The one chosen, in units of the standardised features.
    scores_
        Mean log ratio on held-out target rows for every width; the highest is best.
    objective_
        Mean log ratio at all target rows, an estimate of the Kullback-Leibler divergence.
    gap_
        By how much the objective may at most be raised, proved by the gradient.
    centres_
        Rows of the target that kernels stand at.
    coefficients_
        One per centre, from 0 on.
    basis_
        Centres with the scaling of the features.
    n_features_in_
        As in scikit-learn.

    Examples
    --------
    >>> rng = derive(0, "example")
    >>> train, target = rng.normal(0, 1, (500, 1)), rng.normal(1, 0.5, (500, 1))
    >>> ratio = KLIEP().fit(train, target)
    >>> weights = ratio.weights(train)
    >>> float(weights.mean().round(6)), float((weights * train[:, 0]).mean().round(1))
    (1.0, 1.0)
    >>> ratio.gap_ <= 1e-8
    True
    """

    def __init__(
        self,
        *,
        n_folds: int = 5,
        tolerance: float = 1e-8,
        n_centres: int = 100,
        widths: Sequence[float] = WIDTHS,
        standardise: bool = True,
        random_state: int = 0,
    ) -> None:
        self.n_folds = n_folds
        self.tolerance = tolerance
        self.n_centres = n_centres
        self.widths = widths
        self.standardise = standardise
        self.random_state = random_state

    def fit(self, X_train: ArrayLike, X_target: ArrayLike) -> Self:
        """Estimate the ratio and return this estimator.

        Parameters
        ----------
        X_train
            Rows of the denominator, (n_train, n_features), two or more.
        X_target
            Rows of the numerator, (n_target, n_features), two or more.
        """
        train, target = check_samples(X_train, X_target)
        if not LEAST_TOLERANCE <= self.tolerance < np.inf:
            raise ModelError(
                f"tolerance is {self.tolerance!r}; expected a number from {LEAST_TOLERANCE:g} on"
            )
        multiples = check_positive("widths", self.widths)
        rng = derive(self.random_state, "ratios", "folds", "target")
        folds = folds_of(len(target), self.n_folds, rng)
        basis = Basis.of(
            train,
            target,
            n_centres=self.n_centres,
            standardise=self.standardise,
            seed=self.random_state,
        )
        widths = [multiple * basis.unit for multiple in multiples]
        means = kernel_means(basis, train, widths)
        own = [np.isin(basis.drawn, rows) for rows in folds]
        fits = [
            cross_validate(components(basis, target, width, mean, folds), own, self.tolerance)
            for width, mean in zip(widths, means, strict=True)
        ]
        self.scores_ = np.array([score for _, score in fits])
        best = int(self.scores_.argmax())
        _check_feasible(self.scores_[best])
        found = fits[best][0]
        self.width_, self.coefficients_ = widths[best], found.shares / means[best]
        self.objective_, self.gap_ = found.objective, found.gap
        self.basis_, self.centres_, self.n_features_in_ = basis, basis.centres, train.shape[1]
        check_overlap(float(np.exp(-self.objective_)))
        _tell_unless_solved(self.gap_, self.tolerance)
        return self

    def weights(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the estimated ratio of target to train density at rows, from 0 on.

        Parameters
        ----------
        X
            Rows, (n_samples, n_features).
        """
        check_is_fitted(self)
        return self.basis_.combine(X, self.width_, self.coefficients_)


class Solution(NamedTuple):
    """Shares of the components, their mean log mixture and by how much it may fall short."""

    shares: Vector
    objective: float
    gap: float


@dataclass(frozen=True)
class Components:
    """Kernel values of target rows over their means at train, computed anew on every pass."""

    basis: Basis
    target: Samples
    width: float
    means: Vector
    rows: NDArray[np.intp]

    def __iter__(self) -> Iterator[Matrix]:
        """Yield values of consecutive rows, (n_rows, n_centres)."""
        for squared in self.basis.distances(self.target, self.rows):
            yield gaussian(squared, self.width) / self.means


def kernel_means(basis: Basis, train: Samples, widths: Sequence[float]) -> list[Vector]:
    """Return the mean of every kernel over train, infinite if it has no support there."""
    totals = np.zeros((len(widths), len(basis.centres)))
    for squared in basis.distances(train):
        for index, width in enumerate(widths):
            totals[index] += gaussian(squared, width).sum(0)
    means = totals / len(train)
    return list(np.where(means > LEAST_KERNEL, means, np.inf))


def components(
    basis: Basis, target: Samples, width: float, means: Vector, folds: Sequence[NDArray[np.intp]]
) -> Parts:
    """Return the component values of every fold of target rows, kept or computed anew."""
    parts = [Components(basis, target, width, means, rows) for rows in folds]
    is_small = len(target) * len(means) <= KEPT
    return [tuple(part) for part in parts] if is_small else parts


def cross_validate(parts: Parts, own: Sequence[Usable], tolerance: float) -> tuple[Solution, float]:
    """Return the solution on all folds, and the mean log mixture on held-out ones.

    `own` says of every fold which kernels stand at its rows. They are left out with it: a kernel
    at a held-out row would give the row away.
    """
    everything = np.ones(len(own[0]), bool)
    whole = maximise(parts, everything / everything.size, everything, tolerance)
    if whole.objective == -np.inf:
        return whole, -np.inf
    total, n_rows = 0.0, 0
    for fold, held_out in enumerate(parts):
        rest, usable = [part for part in parts if part is not held_out], ~own[fold]
        found = maximise(rest, whole.shares * usable, usable, tolerance)
        if found.objective == -np.inf:  # a row that was reached by kernels of this fold alone
            found = maximise(rest, usable / max(usable.sum(), 1), usable, tolerance)
        for values in held_out:
            with np.errstate(divide="ignore"):  # a row out of reach has log 0
                total += float(np.log(values @ found.shares).sum())
            n_rows += len(values)
    return whole, total / n_rows


def maximise(parts: Parts, start: Vector, usable: Usable, tolerance: float) -> Solution:
    """Return the shares on the simplex with the highest mean log(values @ shares).

    The objective is -inf if the mixture is 0 at some row to start with.

    Parameters
    ----------
    parts
        Component values.
    start
        Shares to start from, none below 0.
    usable
        Components that may have a share.
    tolerance
        By how much the objective may fall short of its maximum.

    Examples
    --------
    >>> values = np.array([[2.0, 0.0], [2.0, 0.0], [0.0, 5.0]])
    >>> maximise([[values]], np.ones(2), np.ones(2, bool), 1e-9).shares.round(6)  # occurrences
    array([0.666667, 0.333333])
    """
    shares = start / max(start.sum(), LEAST_KERNEL)
    found = _look(parts, shares, usable)
    for _ in range(MOST_STEPS):
        if found is None or found.gap <= tolerance:
            break
        shares = _stepped(parts, shares, found, tolerance)
        found = _look(parts, shares, usable)
    if found is None:
        return Solution(shares, -np.inf, np.inf)
    return Solution(shares, float(np.log(found.mixture).mean()), found.gap)


class _Look(NamedTuple):
    """Mixture at every row, and the gradient and negative Hessian of its mean log."""

    mixture: Vector
    gradient: Vector
    curvature: Matrix

    @property
    def gap(self) -> float:
        return max(float(np.log(self.gradient.max())), 0.0)


def _look(parts: Parts, shares: Vector, usable: Usable) -> _Look | None:
    size = len(shares)
    mixtures, gradient, curvature = list[Vector](), np.zeros(size), np.zeros((size, size))
    for values in chain.from_iterable(parts):
        mixture = values @ shares
        if not mixture.all():
            return None
        scaled = values / mixture[:, None]
        gradient += scaled.sum(0)
        curvature += scaled.T @ scaled
        mixtures.append(mixture)
    found = np.concatenate(mixtures)
    return _Look(found, np.where(usable, gradient / len(found), 0.0), curvature / len(found))


def _stepped(parts: Parts, shares: Vector, at: _Look, tolerance: float) -> Vector:
    """Return shares after a Newton step under s >= 0 for mean log(mixture) - sum s.

    Its maximum sums to 1 by itself, which rids the program of the equality. The Hessian times the
    shares is the gradient, hence the linear term 2 gradient - 1.
    """
    diagonal = np.diag(at.curvature)
    ridge = RIDGE * np.where(diagonal > 0, diagonal, 1.0)
    linear = 2 * at.gradient - 1 + ridge * shares
    step = nonnegative_minimum(at.curvature + np.diag(ridge), linear, shares, tolerance / 10)
    step -= shares
    change = np.concatenate([values @ step for values in chain.from_iterable(parts)])
    rise, length = float(step @ (at.gradient - 1)), 1.0
    before = float(np.log(at.mixture).mean())
    for _ in range(MOST_HALVINGS):
        mixture = at.mixture + length * change
        if mixture.min() > 0:
            gain = float(np.log(mixture).mean()) - before - length * float(step.sum())
            if rise <= SURE or gain >= 0.01 * length * rise:
                break
        length /= 2
    stepped = np.maximum(shares + length * step, 0.0)
    return stepped / stepped.sum()


def nonnegative_minimum(
    curvature: Matrix, linear: Vector, start: Vector, tolerance: float
) -> Vector:
    """Return y >= 0 with the least 1/2 y'Cy - linear'y, by an active set.

    C is positive definite and `start` not below 0; the zeros of `start` are the first guess of
    those of the solution. At a zero the gradient may point inwards by the tolerance.

    Examples
    --------
    >>> nonnegative_minimum(np.eye(2), np.array([1.0, -1.0]), np.ones(2), 1e-12)
    array([1., 0.])
    """
    found, free = start.copy(), start > 0
    for _ in range(3 * len(start) + 10):
        trial, rows = np.zeros_like(found), np.flatnonzero(free)
        factor = cho_factor(curvature[np.ix_(rows, rows)], check_finite=False)
        trial[rows] = cho_solve(factor, linear[rows], check_finite=False)
        if (crossing := free & (trial <= 0)).any():
            fractions = found[crossing] / (found[crossing] - trial[crossing])
            found += fractions.min() * (trial - found)
            bound = np.flatnonzero(crossing)[fractions <= fractions.min()]
            found[bound], free[bound] = 0.0, False
            continue
        found = trial
        inwards = np.where(free, -np.inf, linear - curvature @ found)
        if inwards.max() <= tolerance:
            break
        free[inwards.argmax()] = True
    return found


def _check_feasible(score: float) -> None:
    if not score > -np.inf:
        raise NumericalError(
            "at every width some rows of X_target are out of reach of kernels at other rows with "
            "support in X_train, so no ratio with mean 1 over train is above 0 there: the target "
            "lies outside the support of train, or has outliers; give training rows where the "
            "target lies, drop the outliers, or give larger widths"
        )


def _tell_unless_solved(gap: float, tolerance: float) -> None:
    if gap > tolerance:
        warnings.warn(
            f"KLIEP stopped with an objective that may fall {gap:.2g} short of its maximum, more "
            f"than the tolerance {tolerance:g}; give a larger tolerance",
            FirecvNotice,
            stacklevel=3,
        )
