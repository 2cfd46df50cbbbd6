"""KMM: weights under which the mean of training rows in a kernel's feature space is the target's.

The weights are those of the training rows themselves and solve a quadratic program; they are not
a function that could be evaluated elsewhere.

Huang, Smola, Gretton, Borgwardt and Schölkopf, "Correcting sample selection bias by unlabeled
data", NeurIPS 2006. Gretton, Smola, Huang, Schmittfull, Borgwardt and Schölkopf, "Covariate shift
by kernel mean matching", in Dataset Shift in Machine Learning, MIT Press 2009.

*Symbols*: beta is `weights`, K `kernel`, kappa `kappa`, B `bound`, epsilon `slack`, sigma `width`:

    min_w  w'Kw / 2 - kappa'w,   0 <= w <= B,   |sum w - n| <= n epsilon,
    K_ij = k(x_i, x_j),   kappa_i = n/m sum_j k(x_i, x'_j)

*Departures*: `ridge` is added to the diagonal of K, so that there is one answer. Beyond 2,000 rows
the kernel of both samples is replaced by its projection on 400 training rows, picked by pivoted
Cholesky factorisation out of 2,000 drawn, so that no n x n matrix exists; `kernel_error_` bounds
what that changes.
"""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from firecv.errors import DataError, ModelError, NumericalError
from firecv.ratios.curvature import DenseCurvature, FactoredCurvature
from firecv.ratios.kernels import (
    Matrix,
    Samples,
    Scaling,
    Vector,
    check_count,
    check_positive,
    check_samples,
    gaussian,
    median_distance,
    row_blocks,
    squared_distances,
)
from firecv.ratios.matching import Matched, solve_program
from firecv.ratios.projection import Projection, factorised, left_over
from firecv.ratios.training_rows import TrainingRows
from firecv.seeding import derive

BOUND = 1000.0
RIDGE = 1e-5
TOLERANCE = 1e-6
EXACT = 2000
"""Rows up to which the kernel is used as it is, and out of which those projected on are picked."""
RANK = 400
LEAST_OVERLAP = 1e-12
"""Mean kernel value with the target that at least one training row must have."""


class KMM(BaseEstimator):
    """Kernel mean matching.

    Parameters
    ----------
    bound
        Largest weight, above 1.
    slack
        How far the mean weight may be from 1, from 0 to below 1; by default 1 - 1 / sqrt(n).
    width
        Of the Gaussian kernel, in units of the standardised features; by default the median
        distance between rows.
    ridge
        Added to the diagonal of the kernel matrix. With next to none, as in the papers, a few rows
        take most of the weight; about n / 1000 brings weights far closer to the density ratio.
    tolerance
        KKT residual to reach, see `firecv.ratios.matching`.
    rank
        Number of training rows the kernel is projected on; by default 400 beyond 2,000 training
        rows, and no projection up to there.
    standardise
        Whether to divide features by their standard deviations over both samples.
    random_state
        Seed of the rows drawn for the median distance and the projection.

    Attributes
    ----------
    weights_
        Of the training rows.
    width_
        Width used, in units of the standardised features.
    kkt_residual_
        By how much the weights miss the optimality conditions of the program solved.
    kernel_error_
        Bound on how far the projection moves the squared maximum mean discrepancy between the
        weighted training rows and the target; 0 without projection.
    n_iter_
        Steps of the solver.
    n_features_in_
        As in scikit-learn.

    Examples
    --------
    >>> rng = derive(0, "example")
    >>> X_train, X_target = rng.normal(0, 1, (500, 1)), rng.normal(0.5, 1, (500, 1))
    >>> weights = KMM().fit(X_train, X_target).weights(X_train)
    >>> print(f"{X_target.mean():.2f} {np.average(X_train[:, 0], weights=weights):.2f}")
    0.59 0.59
    """

    def __init__(
        self,
        *,
        bound: float = BOUND,
        slack: float | None = None,
        width: float | None = None,
        ridge: float = RIDGE,
        tolerance: float = TOLERANCE,
        rank: int | None = None,
        standardise: bool = True,
        random_state: int = 0,
    ) -> None:
        self.bound = bound
        self.slack = slack
        self.width = width
        self.ridge = ridge
        self.tolerance = tolerance
        self.rank = rank
        self.standardise = standardise
        self.random_state = random_state

    def fit(self, X_train: ArrayLike, X_target: ArrayLike) -> Self:
        """Find the weights of the training rows; return the estimator itself.

        Parameters
        ----------
        X_train, X_target
            Both samples, with the same columns.
        """
        train, target = check_samples(X_train, X_target)
        scaling = Scaling.of(train, target, standardise=self.standardise)
        rng = derive(self.random_state, "ratios", "distance")
        unit = median_distance(train, target, scaling, rng) if self.width is None else self.width
        (self.width_,) = check_positive("width", [unit])
        if self.rank is None and len(train) <= EXACT:
            found, self.kernel_error_ = self._exact(train, target, scaling), 0.0
        else:
            found, self.kernel_error_ = self._projected(train, target, scaling)
        self.weights_, self.kkt_residual_, self.n_iter_ = found
        self.n_features_in_ = train.shape[1]
        self.rows_ = TrainingRows.of(train)
        return self

    def weights(self, X: ArrayLike) -> Vector:
        """Return the weights of the training rows.

        Parameters
        ----------
        X
            The training rows, as they were given to `fit`.
        """
        check_is_fitted(self)
        self.rows_.check(X, "KMM")
        return self.weights_.copy()

    def _exact(self, train: Samples, target: Samples, scaling: Scaling) -> Matched:
        """Return the solution with the kernel as it is."""
        rows, n = scaling.apply(train), len(train)
        kappa = np.zeros(n)
        for part in row_blocks(len(target), n):
            squared = squared_distances(scaling.apply(target[part]), rows)
            kappa += gaussian(squared, self.width_).sum(0)
        kappa *= n / len(target)
        _check_overlap(kappa)
        return match(
            gaussian(squared_distances(rows, rows), self.width_),
            kappa,
            bound=self.bound,
            slack=self.slack,
            ridge=self.ridge,
            tolerance=self.tolerance,
        )

    def _projected(
        self, train: Samples, target: Samples, scaling: Scaling
    ) -> tuple[Matched, float]:
        """Return the solution with a projected kernel, and a bound on what that changes."""
        n, rank = len(train), check_count("rank", RANK if self.rank is None else self.rank, 1)
        slack = _checked_slack(n, self.bound, self.slack, self.ridge, self.tolerance)
        rng = derive(self.random_state, "ratios", "projection")
        drawn = np.sort(rng.choice(n, min(n, max(EXACT, rank)), replace=False))
        projection = Projection.of(scaling.apply(train[drawn]), self.width_, rank)
        factor = np.concatenate(list(projection.blocks(train, scaling)))
        mean, left = np.zeros(factor.shape[1]), 0.0
        for features in projection.blocks(target, scaling):
            mean += features.sum(0) / len(target)
            left += float(left_over(features).sum()) / len(target)
        kappa = n * (factor @ mean)
        _check_overlap(kappa)
        own = left_over(factor)
        factor /= np.sqrt(n)
        found = solve_program(
            FactoredCurvature(factor, self.ridge / n),
            kappa / n,
            bound=self.bound,
            slack=slack,
            tolerance=self.tolerance,
        )
        own = float(found.weights @ own) / n
        # |u|^2 - 2 u.v with u, v what the projection leaves of the two mean embeddings
        return found, own**2 + 2 * own * left


def match(
    kernel: Matrix,
    kappa: Vector,
    *,
    bound: float = BOUND,
    slack: float | None = None,
    ridge: float = RIDGE,
    tolerance: float = TOLERANCE,
) -> Matched:
    """Return the weights of kernel mean matching for a kernel matrix that is at hand.

    It takes about three milliseconds for 256 rows of one feature, whose kernel has a low rank, and
    a third of a second for 1,000 rows of many features, on one thread.

    Parameters
    ----------
    kernel
        K, of shape (n, n), positive semidefinite, with values of about one at most.
    kappa
        n times the mean kernel value between each training row and the target's.
    bound, slack, ridge, tolerance
        As for `KMM`.

    Examples
    --------
    >>> losses, target = np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.5, 1.0])
    >>> kernel = np.exp(-np.square(losses[:, None] - losses))
    >>> kappa = 3 * np.exp(-np.square(losses[:, None] - target)).mean(1)
    >>> match(kernel, kappa, bound=50, slack=0).weights.round(2)
    array([1.5, 1.5, 0. ])
    """
    n = len(kappa)
    if kernel.shape != (n, n) or not (np.isfinite(kernel).all() and np.isfinite(kappa).all()):
        raise DataError(
            f"kernel has shape {kernel.shape} and kappa {kappa.shape}, and both must be finite; "
            f"expected (n, n) and (n,)"
        )
    slack = _checked_slack(n, bound, slack, ridge, tolerance)
    whole = kernel / n
    whole.flat[:: n + 1] += ridge / n
    factor, _ = factorised(kernel)
    if factor.shape[1] > n // 2:
        curvature = DenseCurvature(whole)
    else:
        curvature = FactoredCurvature(factor / np.sqrt(n), ridge / n, whole)
    return solve_program(curvature, kappa / n, bound=bound, slack=slack, tolerance=tolerance)


def _checked_slack(
    n: int, bound: float, slack: float | None, ridge: float, tolerance: float
) -> float:
    """Return the slack, by default that of the paper; raise `ModelError` on a wrong setting."""
    chosen = 1 - n**-0.5 if slack is None else slack
    expected = {
        "bound": (bound, 1 < bound < np.inf, "a number above 1, the mean weight"),
        "slack": (chosen, 0 <= chosen < 1, "a number from 0 to below 1"),
        "ridge": (ridge, 0 <= ridge < np.inf, "a number from 0 on"),
        "tolerance": (tolerance, 0 < tolerance < np.inf, "a number above 0"),
    }
    for name, (value, is_right, words) in expected.items():
        if not is_right:
            raise ModelError(f"{name} is {value!r}; expected {words}")
    return chosen


def _check_overlap(kappa: Vector) -> None:
    """Raise `NumericalError` if no training row is near the target."""
    largest = float(kappa.max()) / len(kappa)
    if not largest > LEAST_OVERLAP:
        raise NumericalError(
            f"the mean kernel value between X_target and a row of X_train is {largest:.3g} at "
            f"most: X_target lies outside the support of X_train, and no weights can carry one "
            f"over to the other; give training rows where the target lies, or a larger width"
        )
