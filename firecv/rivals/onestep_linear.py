"""One-step for models linear in Gaussian kernels, where each half is solved in closed form.

Weights g and classifier f minimise the same bound as in `firecv.rivals.onestep`, in turns: g given
the losses of f, f given the weights of g, until neither changes.

Zhang, Yamane, Lu and Sugiyama, ACML 2020, PMLR 129:65-80, arXiv 2007.04043, Algorithm 2.

*Symbols*: bound = M, weight_coefficients = beta with g = beta' psi, coefficients = alpha with
f = alpha' phi, weight_penalty = lambda_g, penalty = lambda_f, u = the mean of l_i psi(x_i).

*Departures*: both use the same kernels, at samples of V. The squared loss is taken of one score per
class, with targets 1 and -1, and halved: of two classes it is (1 - y f)^2, and of any number at
least the error. Width and weight_penalty / M^2 are those that uLSIF chooses by leave-one-out, so
that a large M leads to uLSIF's weights before negative coefficients are cut off. Classification
only.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from firecv.errors import DataError, ModelError
from firecv.ratios.kernels import (
    WIDTHS,
    Samples,
    check_positive,
    check_rows,
    check_samples,
    gaussian,
)
from firecv.ratios.ulsif import PENALTIES, ULSIF

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

TOLERANCE = 1e-8


class OneStepLinear(ClassifierMixin, BaseEstimator):
    """Classifier by Gaussian kernels, with importance weights learnt together with it.

    Parameters
    ----------
    bound
        M: the larger, the closer the weights are kept to the density ratio.
    width
        Of the kernels, in median distances; None for what uLSIF chooses.
    weight_penalty
        On the squared coefficients of the weights; None for M^2 times what uLSIF chooses.
    penalty
        On the squared coefficients of the classifier.
    n_centres
        Kernels, each at a sample of V.
    max_iterations
        Turns at most.
    random_state
        Seed of the centres.

    Attributes
    ----------
    classes_
        Labels, in the order of scores.
    weights_
        Of the training samples, none negative.
    weight_coefficients_
        Of the weights, one per kernel.
    coefficients_
        Of the classifier, (n_kernels, n_classes).
    n_iter_
        Turns taken.

    Examples
    --------
    >>> from firecv.seeding import derive
    >>> rng = derive(0, "example")
    >>> x, v = rng.normal(size=(200, 1)), rng.normal(1.0, 0.5, size=(100, 1))
    >>> model = OneStepLinear().fit(x, x[:, 0] > 1, v)
    >>> model.predict([[0.2], [1.8]])
    array([False,  True])
    >>> bool(model.weights_[x[:, 0] > 0.5].mean() > model.weights_[x[:, 0] < 0].mean())
    True
    """

    def __init__(
        self,
        *,
        bound: float = 1.0,
        width: float | None = None,
        weight_penalty: float | None = None,
        penalty: float = 0.1,
        n_centres: int = 100,
        max_iterations: int = 50,
        random_state: int = 0,
    ) -> None:
        self.bound = bound
        self.width = width
        self.weight_penalty = weight_penalty
        self.penalty = penalty
        self.n_centres = n_centres
        self.max_iterations = max_iterations
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, X_target: ArrayLike) -> Self:
        """Learn weights and classifier and return this estimator.

        Parameters
        ----------
        X, y
            Training samples, (n_samples, n_features), and their labels.
        X_target
            Samples of V, without labels.
        """
        (bound,) = check_positive("bound", [self.bound])
        (penalty,) = check_positive("penalty", [self.penalty])
        if self.max_iterations < 1:
            raise ModelError(f"max_iterations is {self.max_iterations!r}; expected 1 or more")
        train, target = check_samples(X, X_target)
        self.classes_, places = _classes(y, len(train))
        ratio = ULSIF(
            n_centres=self.n_centres,
            widths=WIDTHS if self.width is None else (self.width,),
            penalties=PENALTIES,
            random_state=self.random_state,
        ).fit(train, target)
        self.basis_, self.width_ = ratio.basis_, ratio.width_
        weight_penalty = bound**2 * ratio.penalty_
        if self.weight_penalty is not None:
            (weight_penalty,) = check_positive("weight_penalty", [self.weight_penalty])
        found = alternate(
            self._kernels(train),
            2.0 * (places[:, None] == np.arange(len(self.classes_))) - 1,
            self._kernels(target).mean(0),
            bound=bound,
            weight_penalty=weight_penalty,
            penalty=penalty,
            max_iterations=self.max_iterations,
        )
        self.weight_coefficients_, self.coefficients_, self.weights_, self.n_iter_ = found
        self.n_features_in_ = train.shape[1]
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.generic]:
        """Return the class of every sample.

        Parameters
        ----------
        X
            Samples, (n_samples, n_features).
        """
        check_is_fitted(self)
        scores = self._kernels(check_rows(X, self.n_features_in_)) @ self.coefficients_
        return self.classes_[scores.argmax(1)]

    def _kernels(self, rows: Samples) -> Matrix:
        return np.concatenate([gaussian(d, self.width_) for d in self.basis_.distances(rows)])


class Solution(NamedTuple):
    """What `alternate` returns.

    Attributes
    ----------
    weight_coefficients
        beta, (n_kernels,).
    coefficients
        alpha, (n_kernels, n_classes).
    weights
        Of the training samples.
    n_iterations
        Turns taken.
    """

    weight_coefficients: Vector
    coefficients: Matrix
    weights: Vector
    n_iterations: int


def alternate(
    kernels: Matrix,
    targets: Matrix,
    target_mean: Vector,
    *,
    bound: float,
    weight_penalty: float,
    penalty: float,
    max_iterations: int,
) -> Solution:
    """Return weights and classifier after turns that begin with weights that see no losses.

    Parameters
    ----------
    kernels
        psi = phi at training samples, (n_samples, n_kernels).
    targets
        What scores should be, (n_samples, n_classes).
    target_mean
        Mean of the kernels over V, (n_kernels,).
    bound, weight_penalty, penalty
        M, lambda_g and lambda_f.
    max_iterations
        Turns at most.
    """
    losses = np.zeros(len(kernels))
    beta = solve_weights(kernels, losses, target_mean, bound, weight_penalty)
    weights = np.maximum(kernels @ beta, 0)
    alpha = solve_classifier(kernels, targets, weights, penalty)
    n_iterations, change = 0, np.inf
    while change > TOLERANCE and n_iterations < max_iterations:
        losses = 0.5 * np.square(kernels @ alpha - targets).sum(1)
        before, beta = beta, solve_weights(kernels, losses, target_mean, bound, weight_penalty)
        weights = np.maximum(kernels @ beta, 0)
        alpha = solve_classifier(kernels, targets, weights, penalty)
        change = float(np.abs(beta - before).max() / np.abs(beta).max())
        n_iterations += 1
    return Solution(beta, alpha, weights, n_iterations)


def solve_weights(
    kernels: Matrix, losses: Vector, target_mean: Vector, bound: float, penalty: float
) -> Vector:
    """Return beta = (u u' + M^2 H + penalty I)^-1 M^2 h, the least point of the bound for fixed f.

    Parameters
    ----------
    kernels
        psi at training samples, (n_samples, n_kernels).
    losses
        Of training samples.
    target_mean
        h, the mean of psi over V.
    bound
        M.
    penalty
        lambda_g.

    Examples
    --------
    >>> one = np.ones((4, 1))
    >>> solve_weights(one, np.zeros(4), np.ones(1), bound=1.0, penalty=1.0)
    array([0.5])
    """
    n = len(kernels)
    u, gram = kernels.T @ losses / n, kernels.T @ kernels / n
    left = np.outer(u, u) + bound**2 * gram + penalty * np.eye(len(u))
    return solve(left, bound**2 * target_mean, assume_a="pos")


def solve_classifier(kernels: Matrix, targets: Matrix, weights: Vector, penalty: float) -> Matrix:
    """Return alpha = (phi' W phi / n + penalty I)^-1 phi' W y / n, weighted ridge regression.

    Parameters
    ----------
    kernels
        phi at training samples, (n_samples, n_kernels).
    targets
        What scores should be, (n_samples, n_classes).
    weights
        Of training samples.
    penalty
        lambda_f.

    Examples
    --------
    >>> solve_classifier(np.ones((2, 1)), np.array([[1.0], [-1.0]]), np.array([1.0, 0.0]), 0.5)
    array([[0.5]])
    """
    n, weighted = len(kernels), kernels * weights[:, None]
    left = weighted.T @ kernels / n + penalty * np.eye(kernels.shape[1])
    return solve(left, weighted.T @ targets / n, assume_a="pos")


def _classes(y: ArrayLike, n: int) -> tuple[NDArray[np.generic], NDArray[np.intp]]:
    """Return the classes and every label's place among them."""
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise DataError(f"y has shape {labels.shape}; expected one label for each of {n} samples")
    classes, places = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise DataError(f"all {n} labels are {classes[0]!r}; expected two classes or more")
    return classes, places
