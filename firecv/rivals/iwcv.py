"""IWCV: cross-validation with weighted held-out losses, which estimates the target's risk.

The training samples are cut into folds; the loss of each, held out, is multiplied by the density
ratio r = p_target / p_train there. With the true ratio the mean is unbiased for the target's risk
of what is trained on the other folds, where the mean of ordinary cross-validation is not.

Sugiyama, Krauledat and Müller, "Covariate shift adaptation by importance weighted cross
validation", JMLR 8 (2007) 985-1005.

*Symbols*: R is the number of folds, T_r are the rows held out in fold r; risk =
1/R sum_r 1/|T_r| sum_{i in T_r} r(x_i) l(f_{-r}(x_i), y_i).
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from firecv.errors import DataError
from firecv.ratios.weights import check_weights
from firecv.seeding import derive

Vector = NDArray[np.float64]
Rows = NDArray[np.intp]
Fold = tuple[Rows, Rows]
"""Rows to train on and rows held out."""


def iwcv_risk(
    held_out_losses: Callable[[Rows, Rows], Vector],
    weights: ArrayLike,
    folds: Sequence[Fold],
    *,
    self_normalised: bool = False,
) -> float:
    """Return the importance-weighted cross-validated risk.

    Parameters
    ----------
    held_out_losses
        Called with the rows to train on and the rows held out; returns the loss of each of the
        latter.
    weights
        Density ratio of every training sample, estimated once from all of them.
    folds
        Pairs of rows to train on and rows held out, as `training_folds` returns them.
    self_normalised
        Whether to divide by the sum of the weights held out in a fold instead of their number,
        which lowers the variance and brings in a bias.

    Examples
    --------
    >>> y, weights = np.array([0.0, 0.0, 4.0, 4.0]), np.array([0.5, 0.5, 1.5, 1.5])
    >>> def squared_errors(kept, held):
    ...     return (y[kept].mean() - y[held]) ** 2
    >>> folds = [(np.array([0, 2]), np.array([1, 3])), (np.array([1, 3]), np.array([0, 2]))]
    >>> iwcv_risk(squared_errors, weights, folds)
    4.0
    """
    w = check_weights(weights)
    if not folds:
        raise DataError("there are no folds; give at least one pair of rows")
    risks: list[float] = []
    for kept, held in folds:
        losses = np.asarray(held_out_losses(kept, held), np.float64)
        risks.append(weighted_risk(losses, w[held], self_normalised=self_normalised))
    return float(np.mean(risks))


def weighted_risk(losses: Vector, weights: Vector, *, self_normalised: bool = False) -> float:
    """Return the mean of weighted losses.

    Parameters
    ----------
    losses, weights
        One each per sample.
    self_normalised
        Whether to divide by the sum of the weights instead of their number.

    Examples
    --------
    >>> losses, weights = np.array([0.0, 1.0]), np.array([1.0, 3.0])
    >>> weighted_risk(losses, weights), weighted_risk(losses, weights, self_normalised=True)
    (1.5, 0.75)
    """
    if losses.shape != weights.shape or not len(losses):
        raise DataError(
            f"got losses of shape {losses.shape} for {weights.shape} held-out weights; expected "
            f"one loss per held-out sample, at least one"
        )
    total = float(losses @ weights)
    if not self_normalised:
        return total / len(losses)
    if not weights.any():
        raise DataError(
            f"all {len(weights)} weights held out in a fold are zero, so that they cannot be "
            f"normalised; set self_normalised=False or ask for fewer folds"
        )
    return total / float(weights.sum())


def training_folds(
    y: ArrayLike, n_folds: int = 5, seed: int = 0, *, stratified: bool = True
) -> list[Fold]:
    """Return folds of the training samples; scikit-learn takes the list as `cv`.

    Parameters
    ----------
    y
        Labels of the training samples.
    n_folds
        Number of folds, two or more.
    seed
        Of the shuffle.
    stratified
        Whether the folds have nearly the same class shares; otherwise labels do not matter. A
        class with fewer samples than folds is in some of them only.

    Examples
    --------
    >>> [(len(kept), held.tolist()) for kept, held in training_folds([0, 1] * 3, n_folds=3)]
    [(4, [2, 5]), (4, [3, 4]), (4, [0, 1])]
    """
    codes = np.unique(np.asarray(y), return_inverse=True)[1]
    n = len(codes)
    if not 2 <= n_folds <= n:
        raise DataError(
            f"got {n} samples for {n_folds} folds; ask for two folds or more, each with a sample"
        )
    order = derive(seed, "iwcv", "folds").permutation(n)
    if stratified:
        order = order[np.argsort(codes[order], kind="stable")]
    fold = np.empty(n, np.intp)
    fold[order] = np.arange(n) % n_folds  # dealt out like cards, class after class
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]
