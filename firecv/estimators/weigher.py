"""Which fragments to weight, and how much, for any model: the weights and the reasons."""

from collections.abc import Hashable
from typing import Any, Self, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets

from firecv.errors import DataError, ModelError
from firecv.estimators.columns import Rows, standardized
from firecv.estimators.samples import classes_of, fragment_codes, weights_of
from firecv.estimators.settings import drawn_seed
from firecv.fire.weigh.crossfit import draw_rows
from firecv.fire.weigh.influence import Influence, weigh_by_influence
from firecv.seeding import derive


class FragmentWeigher(BaseEstimator):
    """Weights of fragments by their influence on a labeled validation set.

    The influence of a fragment on the validation set V is what more weight on it does for the
    held-out loss on V, through the Fisher information accumulated over all fragments. The weights
    lower that loss; they are learned on a logistic regression and serve any model that takes
    ``sample_weight``. If they do not beat plain pooling of fragments and V by more than a standard
    error, pooling is kept.

    Parameters
    ----------
    strength : float, default=1.0
        How far the weights may follow the validation set: the pull toward the fragments' shares of
        the rows is 10 divided by the number of rows of V and by the strength. At 0, pooling is
        kept.
    n_components : int, default=None
        Number of principal components of the columns to learn the weights from; 60 is a good
        choice for images. None takes all columns, and of more than 200 their 200 leading
        components.
    random_state : int, RandomState instance or None, default=None
        Seed of V's folds, and of the rows drawn where there are more than 20,000.

    Attributes
    ----------
    weights_ : dict
        Weight of each fragment. With `validation_weight_` they sum to one.
    validation_weight_ : float
        Weight of V's rows together.
    sample_weight_ : ndarray of shape (n_samples,)
        Weight of each row of X. Over X and X_val the mean is one.
    validation_sample_weight_ : ndarray of shape (n_validation_samples,)
        Weight of each row of X_val.
    influence_ : DataFrame
        A row per fragment: ``fragment``, ``n``, ``weight``, ``influence`` (how much the log loss on
        V falls per unit of weight moved to the fragment from the pooled rows; positive helps),
        ``low`` and ``high`` (95 % interval), and ``verdict``: "helps", "hurts" or "unclear".
    is_pooled_ : bool
        Whether pooling was kept.
    decision_ : str
        What was decided and why, in a sentence.
    classes_ : ndarray
        The labels, sorted.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, X_val = rng.normal(size=(600, 3)), rng.normal(size=(80, 3))
    >>> y, y_val = X[:, 0] > 0, X_val[:, 0] > 0
    >>> sites = np.repeat(["north", "center", "south"], 200)
    >>> y[sites == "north"] = ~y[sites == "north"]  # the north's labels are upside down
    >>> weigher = FragmentWeigher(random_state=0)
    >>> weigher = weigher.fit(X, y, fragments=sites, X_val=X_val, y_val=y_val)
    >>> weigher.influence_[["fragment", "verdict"]].values.tolist()
    [['north', 'hurts'], ['center', 'helps'], ['south', 'helps']]
    >>> weigher.weights_["north"] < 0.01
    True
    """

    # scikit-learn's way of storing what it is given hides the types from checkers.
    strength: float
    n_components: int | None
    random_state: int | np.random.RandomState | None

    def __init__(
        self,
        *,
        strength: float = 1.0,
        n_components: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.strength = strength
        self.n_components = n_components
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        fragments: ArrayLike,
        X_val: ArrayLike,
        y_val: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn the weights.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows of all fragments. Text columns and missing values are allowed; images may keep
            their shape.
        y : array-like of shape (n_samples,)
            Labels.
        fragments : array-like of shape (n_samples,)
            Fragment of each row, such as its site or month.
        X_val, y_val : array-like
            The validation set and its labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row within its fragment.

        Returns
        -------
        self : FragmentWeigher
            The fitted weigher.
        """
        self._check_settings()
        labels, labels_val = _labels(y, "y"), _labels(y_val, "y_val")
        rows, rows_val = Rows.of(X, "X"), Rows.of(X_val, "X_val")
        _check_lengths(rows, rows_val, labels, labels_val)
        codes, names = fragment_codes(fragments, len(labels))
        self.classes_ = classes_of(np.concatenate([labels, labels_val]))
        own = weights_of(sample_weight, None, np.searchsorted(self.classes_, labels), self.classes_)
        _check_mass(own, codes, names)
        seed = drawn_seed(self.random_state)
        kept = draw_rows(codes, derive(seed, "rows"))
        kept_val = draw_rows(np.zeros(len(labels_val), np.intp), derive(seed, "rows of V"))
        y_kept = np.searchsorted(self.classes_, labels[kept])
        y_kept_val = np.searchsorted(self.classes_, labels_val[kept_val])
        x, x_val = standardized(rows, kept, rows_val, kept_val)
        sizes = np.bincount(codes)
        result = weigh_by_influence(
            x,
            y_kept,
            codes[kept],
            x_val,
            y_kept_val,
            n_classes=len(self.classes_),
            sizes=sizes,
            sample_weight=None if own is None else own[kept],
            strength=self.strength,
            n_axes=self.n_components,
            seed=seed,
        )
        self._keep(result, names, codes, sizes, own, len(labels_val))
        return self

    def _check_settings(self) -> None:
        strength, n = cast("object", self.strength), cast("object", self.n_components)
        if not (isinstance(strength, int | float) and 0 <= strength < np.inf):
            raise ModelError(f"strength is {strength!r}; expected a number from 0 on")
        if n is not None and not (isinstance(n, int | np.integer) and n > 0):
            raise ModelError(f"n_components is {n!r}; expected a whole number above 0, or None")

    def _keep(
        self,
        result: Influence,
        names: list[Hashable],
        codes: NDArray[np.intp],
        sizes: NDArray[np.intp],
        own: NDArray[np.float64] | None,
        n_val: int,
    ) -> None:
        total = len(codes) + n_val
        mass = 1.0 / sizes[codes] if own is None else own / np.bincount(codes, own)[codes]
        self.weights_ = dict(zip(names, result.weights.tolist(), strict=True))
        self.validation_weight_ = result.validation_weight
        self.sample_weight_ = total * result.weights[codes] * mass
        self.validation_sample_weight_ = np.full(n_val, total * result.validation_weight / n_val)
        self.is_pooled_ = result.is_pooled
        self.decision_ = _decision(result)
        self.influence_ = pd.DataFrame(
            {
                "fragment": names,
                "n": sizes,
                "weight": result.weights,
                "influence": result.influence,
                "low": result.low,
                "high": result.high,
                "verdict": result.verdicts(),
            }
        )


def _labels(y: ArrayLike, name: str) -> NDArray[Any]:
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise DataError(f"{name} has shape {labels.shape}; expected one label per sample")
    check_classification_targets(labels)
    return labels


def _check_lengths(
    rows: Rows, rows_val: Rows, labels: NDArray[Any], labels_val: NDArray[Any]
) -> None:
    for name, part, own in (("X", rows, labels), ("X_val", rows_val, labels_val)):
        if len(part) != len(own):
            raise DataError(
                f"{name} has {len(part)} rows and its labels are {len(own)}; expected one per row"
            )


def _check_mass(
    own: NDArray[np.float64] | None, codes: NDArray[np.intp], names: list[Hashable]
) -> None:
    if own is not None and (mass := np.bincount(codes, own)).min() == 0:
        raise DataError(
            f"all rows of the fragment {names[int(mass.argmin())]!r} have weight zero; drop the "
            f"fragment or give a row of it a weight"
        )


def _decision(result: Influence) -> str:
    gain = result.pooled_loss - result.loss
    figures = (
        f"{result.loss:.3f} against {result.pooled_loss:.3f} (standard error {result.margin:.3f})"
    )
    if result.is_pooled:
        return (
            f"Pooling is kept: held-out log loss on the validation set with the weights found is "
            f"{figures}, not lower by more than a standard error."
        )
    return (
        f"Weights are used: they lower the held-out log loss on the validation set by {gain:.3f} "
        f"from pooling, {figures}."
    )
