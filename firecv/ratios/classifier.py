"""A density ratio from a classifier that tells target rows from training rows.

With s(x) the probability that a row at x, of both samples together, is one of the target's m rows
and not one of the n training rows, p_target / p_train = n/m s / (1 - s) by Bayes' rule. With
logistic regression and two normal laws of the same covariance, this is the true ratio.

Bickel, Brückner and Scheffer, "Discriminative learning under covariate shift", JMLR 10 (2009);
Sugiyama, Suzuki and Kanamori, Density Ratio Estimation in Machine Learning, Cambridge 2012, ch. 4.

*Symbols*: n and m as above; s is the classifier's probability of the class 1, the target's.
"""

from typing import Any, Protocol, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from firecv.errors import ModelError
from firecv.ratios.kernels import Samples, Vector, check_count, check_rows, check_samples
from firecv.seeding import derive


class Classifier(Protocol):
    """What tells the samples apart: a scikit-learn classifier with probabilities."""

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> object:
        """Learn from labelled rows."""
        ...

    def predict_proba(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the probabilities of the classes 0 and 1."""
        ...


class ClassifierRatio(BaseEstimator):
    """Density ratio of target to train by a classifier of rows.

    Parameters
    ----------
    classifier
        A scikit-learn classifier with `predict_proba`, of which a clone is fitted; it must not
        weigh classes. By default logistic regression on standardised features.
    clip
        How far probabilities are kept from 0 and 1, so that no weight is infinite.
    cross_fit
        Folds for `out_of_fold_weights_`, no more than rows; 0 saves the time for as many fits.
    random_state
        Seed of the folds.

    Attributes
    ----------
    classifier_
        As fitted on all rows; `weights` are its.
    out_of_fold_weights_
        Weights of the training rows, each by a classifier that was fitted without it; None without
        folds. A flexible classifier knows its own training rows by heart and gives them too little
        weight.
    n_features_in_
        As in scikit-learn.

    Examples
    --------
    >>> rng = derive(0, "example")
    >>> train, target = rng.normal(0, 1, (4000, 1)), rng.normal(1, 1, (1000, 1))
    >>> ratio = ClassifierRatio().fit(train, target)
    >>> np.log(ratio.weights([[0.0], [1.0], [2.0]])).round(1)  # the truth is x - 0.5
    array([-0.5,  0.5,  1.5])
    """

    def __init__(
        self,
        classifier: Classifier | None = None,
        *,
        clip: float = 1e-6,
        cross_fit: int = 5,
        random_state: int = 0,
    ) -> None:
        self.classifier = classifier
        self.clip = clip
        self.cross_fit = cross_fit
        self.random_state = random_state

    def fit(self, X_train: ArrayLike, X_target: ArrayLike) -> Self:
        """Fit the classifier, and those of the folds, and return this estimator.

        Parameters
        ----------
        X_train, X_target
            Rows of both samples, with the same columns, two or more of each.
        """
        train, target = check_samples(X_train, X_target)
        if not 0 < self.clip < 0.5:
            raise ModelError(f"clip is {self.clip!r}; expected a number above 0 and below 0.5")
        n_folds = check_count("cross_fit", self.cross_fit, 0)
        if n_folds == 1:
            raise ModelError("cross_fit is 1; expected 0 for no folds, or two folds or more")
        model = _checked(self.classifier)
        rows = np.concatenate([train, target])
        is_target = np.repeat([0, 1], [len(train), len(target)])
        self.classifier_ = _fitted(model, rows, is_target)
        self._odds = len(train) / len(target)
        self.n_features_in_ = train.shape[1]
        n_folds = min(n_folds, len(train), len(target))
        out_of_fold = self._out_of_fold(model, rows, is_target, n_folds) if n_folds else None
        self.out_of_fold_weights_ = out_of_fold
        return self

    def weights(self, X: ArrayLike) -> Vector:
        """Return the estimated ratio of target to train density at rows.

        Parameters
        ----------
        X
            Rows, (n_samples, n_features).
        """
        check_is_fitted(self)
        rows = check_rows(X, self.n_features_in_)
        return self._ratio(self.classifier_, rows, self._odds)

    def _out_of_fold(
        self, model: Classifier, rows: Samples, is_target: NDArray[np.intp], n_folds: int
    ) -> Vector:
        """Return the weights of the training rows by classifiers fitted without them."""
        n_train = int((is_target == 0).sum())
        found = np.empty(n_train)
        seed = int(derive(self.random_state, "ratios", "folds").integers(2**32))
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        for kept, held in folds.split(rows, is_target):
            held = held[held < n_train]
            n_target = int(is_target[kept].sum())
            fitted = _fitted(model, rows[kept], is_target[kept])
            found[held] = self._ratio(fitted, rows[held], (len(kept) - n_target) / n_target)
        return found

    def _ratio(self, fitted: Classifier, rows: Samples, odds: float) -> Vector:
        """Return odds s / (1 - s)."""
        if not len(rows):
            return np.zeros(0)
        s = np.asarray(fitted.predict_proba(rows), np.float64)[:, 1]
        s = s.clip(self.clip, 1 - self.clip)
        return odds * s / (1 - s)


def _fitted(model: Classifier, rows: Samples, is_target: NDArray[np.intp]) -> Classifier:
    """Return a fitted clone."""
    fresh = cast("Classifier", clone(cast("BaseEstimator", model)))
    fresh.fit(rows, is_target)
    return fresh


def _checked(classifier: Classifier | None) -> Classifier:
    """Return the classifier to clone; raise `ModelError` unless its probabilities can be used."""
    if classifier is None:
        default = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        return cast("Classifier", default)
    if not hasattr(classifier, "predict_proba"):
        raise ModelError(
            f"classifier is a {type(classifier).__name__} without predict_proba; give one with "
            f"probabilities, such as LogisticRegression()"
        )
    settings = cast("BaseEstimator", classifier).get_params()
    weighing = [n for n, v in settings.items() if n.endswith("class_weight") and v is not None]
    if weighing:
        raise ModelError(
            f"the classifier sets {weighing[0]}={settings[weighing[0]]!r}, but the sizes of the "
            f"samples are allowed for already; set it to None"
        )
    return classifier
