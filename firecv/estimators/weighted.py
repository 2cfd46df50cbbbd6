"""Any scikit-learn classifier trained on fragments and V with FIRE's weights."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, Self, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, _safe_indexing, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from firecv.errors import DataError, ModelError
from firecv.estimators.settings import drawn_seed
from firecv.estimators.weigher import FragmentWeigher
from firecv.fire.weigh.crossfit import fold_of_each
from firecv.regimes import Regime
from firecv.seeding import derive

LEAST_CHANCE = 1e-3
"""The chance of a label counts as at least this, so that one sure error among few labels, such as a
forest makes, does not decide."""

_validated = cast("Callable[..., Any]", validate_data)  # scikit-learn's types take text only


def _noted(estimator: BaseEstimator, X: ArrayLike) -> None:
    """Note names and number of features; the classifier checks what is in them."""
    _validated(estimator, X, skip_check_array=True)


def _has(name: str) -> Any:
    def check(self: "FIREWeighted") -> bool:
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    return available_if(check)


class FIREWeighted(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier trained on fragments and a labeled validation set with FIRE's weights.

    The weights come from a `FragmentWeigher` and reach the classifier as ``sample_weight``. They
    are learned on a linear model; whether they serve this classifier is tried by cross-validation
    on V, and if not, fragments and V are pooled. Without a validation set, the classifier is
    trained plainly.

    Parameters
    ----------
    estimator : estimator object
        A scikit-learn classifier that takes ``sample_weight``, or a pipeline that ends in one.
    strength : float, default=1.0
        As for `FragmentWeigher`.
    n_components : int, default=None
        As for `FragmentWeigher`.
    n_folds : int, default=5
        Number of folds of V over which the classifier is trained with the weights and with pooling,
        twice as many fits in all; whichever has the lower held-out log loss is kept. 0 takes the
        weights as the weigher gives them.
    random_state : int, RandomState instance or None, default=None
        As for `FragmentWeigher`; the classifier has its own.

    Attributes
    ----------
    estimator_ : estimator object
        The fitted classifier.
    weigher_ : FragmentWeigher or None
        The fitted weigher, with `weights_`, `influence_` and `decision_`; None if there was no V.
    is_pooled_ : bool
        Whether fragments and V were pooled, every row alike, instead of weighted.
    decision_ : str
        What was decided and why, in a sentence or two; "" if there was no V.
    regime_ : str
        What was seen of V: "labelled", or "none" if there was no V.
    classes_ : ndarray
        The labels, sorted.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, X_val, X_test = (rng.normal(size=(n, 3)) for n in (600, 80, 500))
    >>> y, y_val, y_test = (part[:, 0] > 0 for part in (X, X_val, X_test))
    >>> sites = np.repeat(["north", "center", "south"], 200)
    >>> y[sites == "north"] = ~y[sites == "north"]  # the north's labels are upside down
    >>> plain = HistGradientBoostingClassifier(max_iter=20).fit(X, y)
    >>> model = FIREWeighted(HistGradientBoostingClassifier(max_iter=20), random_state=0)
    >>> model = model.fit(X, y, fragments=sites, X_val=X_val, y_val=y_val)
    >>> plain.score(X_test, y_test) < 0.95 < model.score(X_test, y_test)
    True
    """

    # scikit-learn's way of storing what it is given hides the types from checkers.
    estimator: Any
    strength: float
    n_components: int | None
    n_folds: int
    random_state: int | np.random.RandomState | None

    def __init__(
        self,
        estimator: Any,
        *,
        strength: float = 1.0,
        n_components: int | None = None,
        n_folds: int = 5,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.strength = strength
        self.n_components = n_components
        self.n_folds = n_folds
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        fragments: ArrayLike | None = None,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Weigh the fragments, then train the classifier on them and V.

        Parameters
        ----------
        X, y
            Rows of all fragments and their labels, as the classifier takes them.
        fragments : array-like of shape (n_samples,), default=None
            Fragment of each row. By default all rows are one fragment, and only V is weighed
            against them.
        X_val, y_val : array-like, default=None
            The validation set and its labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row within its fragment.

        Returns
        -------
        self : FIREWeighted
            The fitted classifier.
        """
        keyword = _weight_keyword(self.estimator)
        self._check_folds()
        _noted(self, X)
        self.weigher_: FragmentWeigher | None = None
        self.is_pooled_, self.decision_ = True, ""
        if X_val is None or y_val is None:
            _check_nothing_is_half_given(X_val, y_val)
            given = {} if sample_weight is None else {keyword: sample_weight}
            self.estimator_ = self._cloned().fit(X, y, **given)
        else:
            names = np.zeros(len(np.asarray(y)), int) if fragments is None else fragments
            self.weigher_ = self._weigher().fit(
                X, y, fragments=names, X_val=X_val, y_val=y_val, sample_weight=sample_weight
            )
            self.is_pooled_, self.decision_ = self.weigher_.is_pooled_, self.weigher_.decision_
            data = Parts(X, np.asarray(y), names, X_val, np.asarray(y_val), sample_weight)
            if self.n_folds and not self.is_pooled_:
                self._try_weights(data, keyword)
            weigher = None if self.is_pooled_ else self.weigher_
            self.estimator_ = _trained(self._cloned(), data, weigher, keyword)
        self.regime_: Regime = "none" if self.weigher_ is None else "labelled"
        self.classes_: NDArray[Any] = self.estimator_.classes_
        return self

    def _cloned(self) -> Any:
        return clone(self.estimator)

    def _weigher(self) -> FragmentWeigher:
        return FragmentWeigher(
            strength=self.strength,
            n_components=self.n_components,
            random_state=self.random_state,
        )

    def _check_folds(self) -> None:
        n = cast("object", self.n_folds)
        if not isinstance(n, int | np.integer) or n == 1 or n < 0:
            raise ModelError(f"n_folds is {n!r}; expected a whole number from 2 on, or 0 for none")

    def _try_weights(self, data: "Parts", keyword: str) -> None:
        """Keep the weights only if they lower the classifier's own held-out loss on V."""
        codes = np.unique(data.y_val, return_inverse=True)[1]
        folds = fold_of_each(codes, self.n_folds, derive(drawn_seed(self.random_state), "cv"))
        losses = np.zeros((2, len(folds)))
        for fold in range(folds.max() + 1):
            part, held = data.with_validation(folds != fold), data.with_validation(folds == fold)
            weigher = self._weigher().fit(
                part.x,
                part.y,
                fragments=part.fragments,
                X_val=part.x_val,
                y_val=part.y_val,
                sample_weight=part.sample_weight,
            )
            for k, each in enumerate((weigher, None)):
                model = _trained(self._cloned(), part, each, keyword)
                losses[k, folds == fold] = _losses(model, held.x_val, held.y_val)
        weighted, pooled = losses.mean(axis=1)
        self.is_pooled_ = bool(pooled <= weighted)
        name = type(self.estimator).__name__
        self.decision_ = (
            f"{self.decision_} Trained with them, {name} has a held-out loss on the validation set "
            f"of {weighted:.3f}, pooled {pooled:.3f}: "
            + ("pooling is kept." if self.is_pooled_ else "they are kept.")
        )

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the predicted label of each row.

        Parameters
        ----------
        X
            Rows, as the classifier takes them.
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(X)

    @_has("predict_proba")
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class, of shape (n_samples, n_classes).

        Parameters
        ----------
        X
            Rows, as the classifier takes them.
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict_proba(X)

    @_has("decision_function")
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the classifier's scores of each row.

        Parameters
        ----------
        X
            Rows, as the classifier takes them.
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.decision_function(X)

    def __sklearn_tags__(self) -> Tags:
        """Take the inner classifier's tags for what it accepts."""
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags
        tags.target_tags = inner.target_tags
        return tags


class Parts(NamedTuple):
    """What the classifier is trained on: fragments and V."""

    x: Any
    y: NDArray[Any]
    fragments: ArrayLike
    x_val: Any
    y_val: NDArray[Any]
    sample_weight: ArrayLike | None

    def with_validation(self, rows: NDArray[np.bool_]) -> Self:
        """Return the same with some rows of V only."""
        x_val = _safe_indexing(self.x_val, np.flatnonzero(rows))
        return self._replace(x_val=x_val, y_val=self.y_val[rows])


def _trained(model: Any, data: Parts, weigher: FragmentWeigher | None, keyword: str) -> Any:
    """Return the classifier trained on fragments and V, with a weigher's weights or pooled."""
    n_val = len(data.y_val)
    if weigher is not None:
        weight = np.concatenate([weigher.sample_weight_, weigher.validation_sample_weight_])
    elif data.sample_weight is not None:
        own = np.asarray(data.sample_weight, np.float64)
        weight = np.append(own / own.mean(), np.ones(n_val))
    else:
        weight = np.ones(len(data.y) + n_val)
    labels = np.concatenate([data.y, data.y_val])
    return model.fit(_stacked(data.x, data.x_val), labels, **{keyword: weight})


def _losses(model: Any, x: Any, y: NDArray[Any]) -> NDArray[np.float64]:
    """Return the log loss of each row; without probabilities, whether it is wrong."""
    if not hasattr(model, "predict_proba"):
        return (model.predict(x) != y).astype(float)
    chances = np.asarray(model.predict_proba(x), np.float64)
    places = np.searchsorted(model.classes_, y).clip(max=len(model.classes_) - 1)
    own = np.where(model.classes_[places] == y, chances[np.arange(len(y)), places], 0.0)
    return -np.log(np.maximum(own, LEAST_CHANCE))


def _weight_keyword(estimator: Any) -> str:
    """Return the argument of `fit` that hands weights to a classifier."""
    if not is_classifier(estimator):
        raise ModelError(
            f"estimator is a {type(estimator).__name__}; expected a scikit-learn classifier "
            f"(regressors are not supported)"
        )
    prefix, last = "", estimator
    while isinstance(last, Pipeline):
        name, last = cast("list[tuple[str, Any]]", last.steps)[-1]
        prefix += f"{name}__"
    parameters = inspect.signature(last.fit).parameters
    if "sample_weight" not in parameters and not any(
        p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()
    ):
        raise ModelError(
            f"{type(last).__name__} does not take sample_weight; expected a classifier that does, "
            f"such as LogisticRegression or HistGradientBoostingClassifier"
        )
    return f"{prefix}sample_weight"


def _check_nothing_is_half_given(X_val: object, y_val: object) -> None:
    if X_val is not None:
        raise DataError(
            "got X_val without y_val; the influence of fragments is measured on labels: give "
            "y_val, for which 25 labeled rows do, or leave X_val out"
        )
    if y_val is not None:
        raise DataError("got y_val without X_val; give both, or neither")


def _stacked(X: Any, X_val: Any) -> Any:
    """Return the rows of both, in the kind of container that X is."""
    if isinstance(X, pd.DataFrame):
        return pd.concat([X, pd.DataFrame(X_val, columns=X.columns)], ignore_index=True)
    if sparse.issparse(X) or sparse.issparse(X_val):
        return sparse.vstack([sparse.csr_array(X), sparse.csr_array(X_val)]).tocsr()
    return np.concatenate([np.asarray(X), np.asarray(X_val)])
