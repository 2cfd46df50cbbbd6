"""uLSIF: a density ratio by unconstrained least squares, selected by exact leave-one-out.

The ratio g(x) = sum_l theta_l k(x, c_l) minimises 1/2 mean_train g^2 - mean_target g +
penalty/2 |theta|^2, which has a closed form; negative coefficients are then set to 0. Width and
penalty are those with the lowest leave-one-out score, also in closed form.

Reference: T. Kanamori, S. Hido, M. Sugiyama, A least-squares approach to direct importance
estimation, Journal of Machine Learning Research 10, 2009.

*Symbols*: gram = H-hat, mean = h-hat, penalty = lambda, width = sigma, coefficients = theta,
centres = c, n_train = n_de, n_target = n_nu.

*Departures*: widths are multiples of the median distance rather than numbers, so that the grid
follows the units of the data.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from firecv.ratios.kernels import (
    WIDTHS,
    Basis,
    Matrix,
    Samples,
    Vector,
    check_overlap,
    check_positive,
    check_samples,
    gaussian,
)
from firecv.seeding import derive

PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)


class ULSIF(BaseEstimator):
    """Density ratio of target to train by unconstrained least-squares importance fitting.

    Memory does not grow with the rows; time is O(rows n_centres^2) for every width and penalty.

    Parameters
    ----------
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
        Seed of the centres and of the pairs that are left out.

    Attributes
    ----------
    width_, penalty_
        Those chosen; the width in units of the standardised features.
    scores_
        Leave-one-out score of every width (rows) and penalty (columns); the lowest is best.
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
    >>> weights = ULSIF().fit(train, target).weights(train)
    >>> float(np.average(train[:, 0], weights=weights).round(1)), float(train.mean().round(1))
    (1.0, 0.0)
    """

    def __init__(
        self,
        *,
        n_centres: int = 100,
        widths: Sequence[float] = WIDTHS,
        penalties: Sequence[float] = PENALTIES,
        standardise: bool = True,
        random_state: int = 0,
    ) -> None:
        self.n_centres = n_centres
        self.widths = widths
        self.penalties = penalties
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
        penalties = check_positive("penalties", self.penalties)
        multiples = check_positive("widths", self.widths)
        basis = Basis.of(
            train,
            target,
            n_centres=self.n_centres,
            standardise=self.standardise,
            seed=self.random_state,
        )
        widths = [multiple * basis.unit for multiple in multiples]
        self.scores_ = select(basis, (train, target), widths, penalties, self.random_state)
        best = np.unravel_index(self.scores_.argmin(), self.scores_.shape)
        self.width_, self.penalty_ = widths[best[0]], penalties[best[1]]
        (of_train,), (of_target,) = (moments(basis, x, [self.width_]) for x in (train, target))
        self.coefficients_ = solve(spectrum(of_train.gram), of_target.mean, [self.penalty_])[0]
        self.basis_, self.centres_, self.n_features_in_ = basis, basis.centres, train.shape[1]
        check_overlap(overlap(self.coefficients_, of_train, of_target))
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


class Moments(NamedTuple):
    """Means over rows of kernel values phi: of phi phi', and of phi."""

    gram: Matrix
    mean: Vector


class Spectrum(NamedTuple):
    """Eigenvalues, none below 0, and eigenvectors, which are columns, of a Gram matrix."""

    values: Vector
    vectors: Matrix


def moments(
    basis: Basis,
    rows: Samples,
    widths: Sequence[float],
    order: NDArray[np.intp] | None = None,
) -> list[Moments]:
    """Return the moments of kernel values for every width, in one pass over the rows.

    Parameters
    ----------
    basis
        Kernels.
    rows
        Samples.
    widths
        Of the kernels.
    order
        Rows to take; all by default.
    """
    n_rows, n_centres = len(rows) if order is None else len(order), len(basis.centres)
    grams = np.zeros((len(widths), n_centres, n_centres))
    means = np.zeros((len(widths), n_centres))
    for squared in basis.distances(rows, order):
        for index, width in enumerate(widths):
            phi = gaussian(squared, width)
            grams[index] += phi.T @ phi
            means[index] += phi.sum(0)
    return [Moments(gram / n_rows, mean / n_rows) for gram, mean in zip(grams, means, strict=True)]


def spectrum(gram: Matrix) -> Spectrum:
    """Return the eigendecomposition of a Gram matrix, which all penalties share."""
    values, vectors = np.linalg.eigh(gram)
    return Spectrum(np.maximum(values, 0.0), vectors)


def solve(gram: Spectrum, mean: Vector, penalties: Sequence[float]) -> Matrix:
    """Return coefficients max((gram + penalty I)^-1 mean, 0), one row per penalty.

    Examples
    --------
    >>> solve(spectrum(np.diag([1.0, 3.0])), np.array([2.0, 2.0]), [1.0])
    array([[1. , 0.5]])
    """
    rotated = (mean @ gram.vectors) / (gram.values + np.asarray(penalties)[:, None])
    return np.maximum(rotated @ gram.vectors.T, 0.0)


def loo_scores(
    train: Matrix,
    target: Matrix,
    gram: Spectrum,
    mean: Vector,
    sizes: tuple[int, int],
    penalties: Sequence[float],
) -> Matrix:
    """Return 1/2 g(x)^2 - g(y) of left-out pairs (x, y), (n_pairs, n_penalties), exactly.

    Without the pair H changes by rank one, so by Sherman and Morrison the solution is
    (n - 1) / (n (m - 1)) times B^-1 (v + a x), with B = H + penalty (n - 1) / n, v = m h - y and
    a = x' B^-1 v / (n - x' B^-1 x); negative entries are set to 0 as in the fit.

    Parameters
    ----------
    train, target
        Kernel values of the pairs, (n_pairs, n_centres).
    gram
        Of all training rows.
    mean
        Of the kernel values of all target rows.
    sizes
        Numbers n and m of training and target rows, two or more.
    penalties
        Candidates.

    Examples
    --------
    >>> x, y = np.array([[1.0], [0.5]]), np.array([[1.0], [0.8]])
    >>> loo_scores(x, y, spectrum(x.T @ x / 2), y.mean(0), (2, 2), [0.75])[0]  # theta = 0.8 / 1
    array([-0.48])
    """
    n, m = sizes
    x, y = train @ gram.vectors, target @ gram.vectors
    all_target = m * (mean @ gram.vectors)
    scores = np.empty((len(x), len(penalties)))
    for index, penalty in enumerate(penalties):
        inverse = 1.0 / (gram.values + penalty * (n - 1) / n)
        solved = x * inverse
        factor = solved @ all_target - np.einsum("ij,ij->i", solved, y)
        factor /= n - np.einsum("ij,ij->i", solved, x)
        rotated = np.multiply(x, factor[:, None], out=solved)
        rotated -= y
        rotated += all_target
        rotated *= inverse * ((n - 1) / (n * (m - 1)))
        theta = rotated @ gram.vectors.T
        np.maximum(theta, 0.0, out=theta)
        scores[:, index] = 0.5 * np.einsum("ij,ij->i", train, theta) ** 2
        scores[:, index] -= np.einsum("ij,ij->i", target, theta)
    return scores


def select(
    basis: Basis,
    samples: tuple[Samples, Samples],
    widths: Sequence[float],
    penalties: Sequence[float],
    seed: int,
) -> Matrix:
    """Return mean leave-one-out scores, (n_widths, n_penalties), over min(n, m) random pairs.

    Parameters
    ----------
    basis
        Kernels.
    samples
        Rows of train and of target.
    widths, penalties
        Candidates.
    seed
        Of the pairs.
    """
    train, target = samples
    sizes = (len(train), len(target))
    pairs = [
        derive(seed, "ratios", "pairs", name).permutation(size)[: min(sizes)]
        for name, size in zip(("train", "target"), sizes, strict=True)
    ]
    spectra = [spectrum(found.gram) for found in moments(basis, train, widths)]
    means = [found.mean for found in moments(basis, target, widths)]
    totals = np.zeros((len(widths), len(penalties)))
    blocks = (basis.distances(x, rows) for x, rows in zip(samples, pairs, strict=True))
    for squared in zip(*blocks, strict=True):
        for index, width in enumerate(widths):
            x, y = (gaussian(block, width) for block in squared)
            scores = loo_scores(x, y, spectra[index], means[index], sizes, penalties)
            totals[index] += scores.sum(0)
    return totals / min(sizes)


def overlap(coefficients: Vector, of_train: Moments, of_target: Moments) -> float:
    """Return the mean of the ratio at training rows over that at target rows."""
    return float(of_train.mean @ coefficients) / float(of_target.mean @ coefficients)
