"""RuLSIF: the density ratio relative to a mixture, by least squares, selected by cross-validation.

The alpha-relative ratio p_target / (alpha p_target + (1 - alpha) p_train) is at most 1 / alpha,
whatever the shift. As in uLSIF it is a combination of kernels with coefficients in closed form.

Reference: M. Yamada, T. Suzuki, T. Kanamori, H. Hachiya, M. Sugiyama, Relative density-ratio
estimation for robust distribution comparison, NeurIPS 2011, arXiv 1106.4729.

*Symbols*: alpha = alpha, gram = H-hat, mean = h-hat, penalty = lambda, width = sigma,
coefficients = theta, divergence = PE_alpha.

*Departures*: widths are multiples of the median distance. Folds are scored by their own moments
alone: for g = phi' theta, the mean of g^2 over a fold is theta' gram theta, so that every candidate
is scored exactly after a single pass over the rows.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from firecv.errors import ModelError
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
)
from firecv.ratios.ulsif import PENALTIES, Moments, moments, overlap, solve, spectrum
from firecv.seeding import derive


class RULSIF(BaseEstimator):
    """Relative density ratio of target to train by least squares.

    Memory does not grow with the rows; time is O(rows n_centres^2) for every width, whatever the
    number of penalties and folds.

    Parameters
    ----------
    alpha
        Share of the target in the denominator, from 0, which is uLSIF's ratio, to below 1.
    n_folds
        Folds of the cross-validation, at most as many as rows of either sample.
    n_centres
        Kernels, each at a row of the target.
    widths
        Candidate widths, in median distances.
    penalties
        Candidate penalties on squared coefficients.
    standardise
        Whether features are divided by their standard deviations over train and target together;
        constant ones then do not count.
    random_state
        Seed of the centres and folds.

    Attributes
    ----------
    width_, penalty_
        Those chosen; the width in units of the standardised features.
    scores_
        Cross-validation score of every width (rows) and penalty (columns); the lowest is best.
    divergence_
        The alpha-relative Pearson divergence of target from train, 0 without shift.
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
    >>> train, near, far = (rng.normal(shift, 1, (500, 1)) for shift in (0, 0, 1))
    >>> RULSIF().fit(train, near).divergence_ < RULSIF().fit(train, far).divergence_
    True
    """

    def __init__(
        self,
        *,
        alpha: float = 0.1,
        n_folds: int = 5,
        n_centres: int = 100,
        widths: Sequence[float] = WIDTHS,
        penalties: Sequence[float] = PENALTIES,
        standardise: bool = True,
        random_state: int = 0,
    ) -> None:
        self.alpha = alpha
        self.n_folds = n_folds
        self.n_centres = n_centres
        self.widths = widths
        self.penalties = penalties
        self.standardise = standardise
        self.random_state = random_state

    def fit(self, X_train: ArrayLike, X_target: ArrayLike) -> Self:
        """Estimate the relative ratio and return this estimator.

        Parameters
        ----------
        X_train
            Rows of the denominator, (n_train, n_features), two or more.
        X_target
            Rows of the numerator, (n_target, n_features), two or more.
        """
        train, target = check_samples(X_train, X_target)
        if not 0 <= self.alpha < 1:
            raise ModelError(f"alpha is {self.alpha!r}; expected a number from 0 to below 1")
        penalties = check_positive("penalties", self.penalties)
        multiples = check_positive("widths", self.widths)
        folds = [
            folds_of(len(x), self.n_folds, derive(self.random_state, "ratios", "folds", name))
            for name, x in (("train", train), ("target", target))
        ]
        basis = Basis.of(
            train,
            target,
            n_centres=self.n_centres,
            standardise=self.standardise,
            seed=self.random_state,
        )
        widths = [multiple * basis.unit for multiple in multiples]
        self.scores_ = select(basis, (train, target), folds, widths, penalties, self.alpha)
        best = np.unravel_index(self.scores_.argmin(), self.scores_.shape)
        self.width_, self.penalty_ = widths[best[0]], penalties[best[1]]
        # A pass of its own, not the sum of folds: with alpha 0 the result is uLSIF's to the bit.
        (of_train,), (of_target,) = (moments(basis, x, [self.width_]) for x in (train, target))
        gram = mixed(of_train, of_target, self.alpha)
        self.coefficients_ = solve(spectrum(gram), of_target.mean, [self.penalty_])[0]
        self.divergence_ = -float(losses(self.coefficients_[None], gram, of_target.mean)[0]) - 0.5
        self.basis_, self.centres_, self.n_features_in_ = basis, basis.centres, train.shape[1]
        check_overlap(overlap(self.coefficients_, of_train, of_target))
        return self

    def weights(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the estimated relative ratio at rows, from 0 on.

        Parameters
        ----------
        X
            Rows, (n_samples, n_features).
        """
        check_is_fitted(self)
        return self.basis_.combine(X, self.width_, self.coefficients_)


def mixed(of_train: Moments, of_target: Moments, alpha: float) -> Matrix:
    """Return the Gram matrix of the mixture of target, with share alpha, and train."""
    return alpha * of_target.gram + (1 - alpha) * of_train.gram


def losses(coefficients: Matrix, gram: Matrix, mean: Vector) -> Vector:
    """Return 1/2 mean_mixture g^2 - mean_target g for every row of coefficients.

    Examples
    --------
    >>> losses(np.array([[1.0, 2.0]]), np.eye(2), np.array([1.0, 1.0]))
    array([-0.5])
    """
    squares = np.einsum("ij,ij->i", coefficients @ gram, coefficients)
    return 0.5 * squares - coefficients @ mean


def cv_scores(
    train: Sequence[Moments],
    target: Sequence[Moments],
    sizes: tuple[Sequence[int], Sequence[int]],
    penalties: Sequence[float],
    alpha: float,
) -> Vector:
    """Return the mean over folds of the loss on a fold, one per penalty.

    Parameters
    ----------
    train, target
        Moments of every fold of both samples, at one width.
    sizes
        Rows in every fold of train and of target.
    penalties
        Candidates.
    alpha
        Share of the target in the mixture.
    """
    total = np.zeros(len(penalties))
    for fold in range(len(train)):
        x, y = (_without(part, n, fold) for part, n in zip((train, target), sizes, strict=True))
        coefficients = solve(spectrum(mixed(x, y, alpha)), y.mean, penalties)
        held_out = mixed(train[fold], target[fold], alpha)
        total += losses(coefficients, held_out, target[fold].mean)
    return total / len(train)


def select(
    basis: Basis,
    samples: tuple[Samples, Samples],
    folds: Sequence[Sequence[NDArray[np.intp]]],
    widths: Sequence[float],
    penalties: Sequence[float],
    alpha: float,
) -> Matrix:
    """Return cross-validation scores, (n_widths, n_penalties).

    Parameters
    ----------
    basis
        Kernels.
    samples
        Rows of train and of target.
    folds
        Rows of every fold of train, and of target.
    widths, penalties
        Candidates.
    alpha
        Share of the target in the mixture.
    """
    train, target = (
        [moments(basis, x, widths, rows) for rows in parts]
        for x, parts in zip(samples, folds, strict=True)
    )
    sizes = ([len(rows) for rows in folds[0]], [len(rows) for rows in folds[1]])
    return np.stack(
        [
            cv_scores([f[i] for f in train], [f[i] for f in target], sizes, penalties, alpha)
            for i in range(len(widths))
        ]
    )


def _without(folds: Sequence[Moments], sizes: Sequence[int], left_out: int) -> Moments:
    """Return the moments of all folds but one."""
    kept = [i for i in range(len(folds)) if i != left_out]
    total = sum(sizes[i] for i in kept)
    gram = np.sum([folds[i].gram * (sizes[i] / total) for i in kept], axis=0)
    mean = np.sum([folds[i].mean * (sizes[i] / total) for i in kept], axis=0)
    return Moments(gram, mean)
