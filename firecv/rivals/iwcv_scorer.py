"""Importance-weighted cross-validation with scikit-learn's own tools.

`ImportanceWeightedScorer` is the `scoring` of `GridSearchCV` or `cross_val_score`, and the folds of
`firecv.rivals.iwcv.training_folds` are their `cv`. A scorer is told the rows held out but not which
of the data they are, so there are two ways to their weights: a fitted ratio that is a function of
the features, which all are but `KMM` and an `OracleRatio` of values; or weights of all training
rows, passed as `sample_weight` through scikit-learn's metadata routing.
"""

from typing import Any, Literal, Protocol, Self, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED

from firecv.errors import DataError, ModelError
from firecv.rivals.iwcv import Vector, weighted_risk

Loss = Literal["zero_one", "log_loss", "squared"]

SMALLEST = float(np.finfo(np.float64).eps)
"""Probability below which a class is not taken to be less likely."""


class Predictor(Protocol):
    """A fitted estimator."""

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return labels or numbers."""
        ...


class Classifier(Predictor, Protocol):
    """A fitted classifier that gives probabilities."""

    classes_: NDArray[Any]

    def predict_proba(self, X: ArrayLike) -> NDArray[Any]:
        """Return probabilities of the classes."""
        ...


class Ratio(Protocol):
    """A fitted density ratio that is a function of the features."""

    def weights(self, X: ArrayLike) -> Vector:
        """Return the ratio at every row."""
        ...


class ImportanceWeightedScorer(BaseEstimator):
    """Minus the importance-weighted risk of an estimator, for `scoring` in scikit-learn.

    The weights of the rows to score are those of `ratio`; without one they are the `sample_weight`
    that scikit-learn's metadata routing passes. A clone is the scorer itself, since cloning the
    ratio would undo its fit.

    Parameters
    ----------
    ratio
        A fitted density ratio, of all training against all target inputs.
    loss
        As for `losses_of`.
    self_normalised
        As for `iwcv_risk`.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from firecv.ratios.ulsif import ULSIF
    >>> from firecv.rivals.iwcv import training_folds
    >>> from firecv.seeding import derive
    >>> rng = derive(0, "example")
    >>> X, X_target = rng.normal(0, 1, (200, 1)), rng.normal(1, 0.5, (200, 1))
    >>> y = (X[:, 0] > 1).astype(int)
    >>> scorer = ImportanceWeightedScorer(ULSIF().fit(X, X_target), loss="log_loss")
    >>> folds = training_folds(y, 4)
    >>> cross_val_score(LogisticRegression(), X, y, scoring=scorer, cv=folds).shape
    (4,)

    With weights at hand, such as those of `KMM`:

    >>> import sklearn
    >>> weights = np.exp(X[:, 0] - 0.5)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     scorer = ImportanceWeightedScorer().set_score_request(sample_weight=True)
    ...     model = LogisticRegression().set_fit_request(sample_weight=False)
    ...     params = {"sample_weight": weights}
    ...     cross_val_score(model, X, y, scoring=scorer, cv=folds, params=params).shape
    (4,)
    """

    __metadata_request__score = {"estimator": UNUSED}

    def __init__(
        self,
        ratio: Ratio | None = None,
        *,
        loss: Loss = "zero_one",
        self_normalised: bool = False,
    ) -> None:
        self.ratio = ratio
        self.loss: Loss = loss
        self.self_normalised = self_normalised

    def __call__(
        self,
        estimator: Predictor,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return minus the risk of a fitted estimator; see `score`."""
        return self.score(estimator, X, y, sample_weight)

    def score(
        self,
        estimator: Predictor,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return minus the risk of a fitted estimator.

        Parameters
        ----------
        estimator
            What was trained.
        X, y
            Held-out samples with their labels or values.
        sample_weight
            Their weights, if there is no ratio.
        """
        if (self.ratio is None) == (sample_weight is None):
            raise DataError(
                "an importance-weighted score needs either a fitted ratio or sample_weight, not "
                "both: give the scorer a ratio, or enable metadata routing, call "
                "set_score_request(sample_weight=True) and pass sample_weight along with the data"
            )
        weights = sample_weight if self.ratio is None else self.ratio.weights(X)
        losses = losses_of(estimator, X, y, self.loss)
        w = np.asarray(weights, np.float64)
        return -weighted_risk(losses, w, self_normalised=self.self_normalised)

    def __sklearn_clone__(self) -> Self:
        """Return the scorer itself."""
        return self


def losses_of(estimator: Predictor, X: ArrayLike, y: ArrayLike, loss: Loss) -> Vector:
    """Return the loss of a fitted estimator on every sample.

    Parameters
    ----------
    estimator
        One with `predict`, or for "log_loss" with `predict_proba`.
    X, y
        Samples with their labels or values.
    loss
        "zero_one": whether the label is wrong. "log_loss": minus the log probability of the label.
        "squared": the squared error.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier().fit([[0]] * 4, [0, 0, 0, 1])
    >>> losses_of(model, [[0], [0]], [0, 1], "zero_one")
    array([0., 1.])
    >>> losses_of(model, [[0], [0]], [0, 1], "log_loss").round(2)
    array([0.29, 1.39])
    """
    if loss not in get_args(Loss):
        raise ModelError(f"loss is {loss!r}; expected one of {', '.join(get_args(Loss))}")
    truth = np.asarray(y)
    if loss == "zero_one":
        return (np.asarray(estimator.predict(X)) != truth).astype(np.float64)
    if loss == "squared":
        return np.square(np.asarray(estimator.predict(X), np.float64) - truth)
    classifier = cast("Classifier", estimator)
    probabilities = np.asarray(classifier.predict_proba(X), np.float64)
    # A class that was not trained on has no column and so probability zero.
    right = truth[:, None] == np.asarray(classifier.classes_)
    return -np.log(np.maximum((probabilities * right).sum(1), SMALLEST))
