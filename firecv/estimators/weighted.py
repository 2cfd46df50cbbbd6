"""Any scikit-learn classifier trained on fragments and V with FIRE's weights."""

import inspect
from collections.abc import Callable
from typing import Any, Self, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from firecv.errors import DataError, ModelError
from firecv.estimators.weigher import FragmentWeigher
from firecv.regimes import Regime

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

    The weights come from a `FragmentWeigher` and reach the classifier as ``sample_weight``. Without
    a validation set, the classifier is trained plainly.

    Parameters
    ----------
    estimator : estimator object
        A scikit-learn classifier that takes ``sample_weight``, or a pipeline that ends in one.
    strength : float, default=1.0
        As for `FragmentWeigher`.
    n_components : int, default=None
        As for `FragmentWeigher`.
    random_state : int, RandomState instance or None, default=None
        As for `FragmentWeigher`; the classifier has its own.

    Attributes
    ----------
    estimator_ : estimator object
        The fitted classifier.
    weigher_ : FragmentWeigher or None
        The fitted weigher, with `weights_`, `influence_` and `decision_`; None if there was no V.
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
    random_state: int | np.random.RandomState | None

    def __init__(
        self,
        estimator: Any,
        *,
        strength: float = 1.0,
        n_components: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.strength = strength
        self.n_components = n_components
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
        _noted(self, X)
        self.weigher_: FragmentWeigher | None = None
        if X_val is None or y_val is None:
            _check_nothing_is_half_given(X_val, y_val)
            given = {} if sample_weight is None else {keyword: sample_weight}
            self.estimator_ = self._cloned().fit(X, y, **given)
        else:
            self.weigher_ = FragmentWeigher(
                strength=self.strength,
                n_components=self.n_components,
                random_state=self.random_state,
            ).fit(
                X,
                y,
                fragments=np.zeros(len(np.asarray(y)), int) if fragments is None else fragments,
                X_val=X_val,
                y_val=y_val,
                sample_weight=sample_weight,
            )
            weights = [self.weigher_.sample_weight_, self.weigher_.validation_sample_weight_]
            self.estimator_ = self._cloned().fit(
                _stacked(X, X_val),
                np.concatenate([np.asarray(y), np.asarray(y_val)]),
                **{keyword: np.concatenate(weights)},
            )
        self.regime_: Regime = "none" if self.weigher_ is None else "labelled"
        self.classes_: NDArray[Any] = self.estimator_.classes_
        return self

    def _cloned(self) -> Any:
        return clone(self.estimator)

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
