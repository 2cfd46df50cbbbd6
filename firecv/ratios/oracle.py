"""A density ratio that is known, as where a shift was made on purpose.

`firecv.data.shifts` gives the log ratio of the samples it returns; `OracleRatio` puts it where an
estimated ratio would be, which shows how much of an error is the estimate's.
"""

from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from firecv.errors import DataError, ModelError
from firecv.ratios.kernels import Samples, Vector, check_rows, check_samples
from firecv.ratios.training_rows import TrainingRows

LogRatio = Callable[[Samples], ArrayLike]


class OracleRatio(BaseEstimator):
    """Weights from a known log density ratio.

    Parameters
    ----------
    log_ratio
        log p_target / p_train: a function of rows, (n_samples, n_features), that returns one value
        for each; or one value per training row, and then weights are given to these rows only.
        Minus infinity stands for a weight of zero. It has to be given before `fit`.
    random_state
        Without effect; all ratios have it.

    Examples
    --------
    >>> ratio = OracleRatio(lambda X: X[:, 0] - 0.5)  # from N(0, 1) to N(1, 1)
    >>> ratio.fit([[0.0], [1.0]], [[1.0], [2.0]]).weights([[0.5], [1.5]]).round(2)
    array([1.  , 2.72])
    """

    def __init__(
        self, log_ratio: LogRatio | ArrayLike | None = None, *, random_state: int = 0
    ) -> None:
        self.log_ratio = log_ratio
        self.random_state = random_state

    def fit(self, X_train: ArrayLike, X_target: ArrayLike) -> Self:
        """Check the samples, remember the training rows and return this estimator.

        Parameters
        ----------
        X_train, X_target
            Both samples, with the same columns; the ratio does not depend on them.
        """
        train, _ = check_samples(X_train, X_target)
        if self.log_ratio is None:
            raise ModelError(
                "log_ratio is None; expected a function of rows or one value per training row, "
                "such as the log_ratio of a shift: OracleRatio(log_ratio)"
            )
        self.n_features_in_ = train.shape[1]
        self.rows_ = None if callable(self.log_ratio) else TrainingRows.of(train)
        if not callable(self.log_ratio):
            _exponential(self.log_ratio, len(train))
        return self

    def weights(self, X: ArrayLike) -> Vector:
        """Return the ratio at rows.

        Parameters
        ----------
        X
            Rows; if the ratio was given by values, the training rows as they were given to `fit`.
        """
        check_is_fitted(self)
        rows = check_rows(X, self.n_features_in_)
        if callable(self.log_ratio):
            return _exponential(self.log_ratio(rows), len(rows))
        assert self.rows_ is not None and self.log_ratio is not None
        self.rows_.check(rows, "an OracleRatio of values")
        return _exponential(self.log_ratio, len(rows))


def _exponential(log_ratio: ArrayLike, n_rows: int) -> Vector:
    """Return weights; raise `DataError` unless there is a finite one for every row."""
    values = np.asarray(log_ratio, np.float64)
    if values.shape != (n_rows,):
        raise DataError(
            f"log_ratio has values of shape {values.shape} for {n_rows} rows; expected one per row"
        )
    with np.errstate(over="ignore"):
        found = np.exp(values)
    if not np.isfinite(found).all():
        raise DataError(
            f"log_ratio runs from {values.min()} to {values.max()}; expected numbers, or minus "
            f"infinity, whose exponential is finite"
        )
    return found
