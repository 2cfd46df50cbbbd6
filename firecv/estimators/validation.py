"""The validation set as a fit is given it, checked against the training samples."""

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from firecv.errors import DataError
from firecv.estimators.samples import Labels, as_tensor, checked, encoded
from firecv.fire import Summary, Unlabelled
from firecv.fire.validation import Given


def validation_set(
    estimator: BaseEstimator,
    X_val: ArrayLike | None,
    y_val: ArrayLike | None,
    validation: Summary | None,
    *,
    classes: Labels,
    dtype: np.dtype[np.floating],
) -> Given:
    """Return what is given of V, the way FIRE takes it.

    Parameters
    ----------
    estimator
        Knows the features that V must have.
    X_val, y_val
        Samples of V and their labels.
    validation
        A summary of a V that stays elsewhere.
    classes
        All labels, sorted.
    dtype
        Of the network.
    """
    if X_val is None:
        if y_val is not None:
            raise DataError("got y_val without X_val; give X_val too, or neither")
        _check_summary(validation)
        return validation
    if validation is not None:
        raise DataError(
            "got X_val and a summary of a validation set; give one of them, since each is another "
            "view of V"
        )
    try:
        x = as_tensor(checked(estimator, X_val).astype(dtype))
    except ValueError as error:
        raise DataError(f"X_val does not fit X: {error}") from error
    if y_val is None:
        return Unlabelled(x)
    labels = np.asarray(y_val)
    if labels.shape != (len(x),):
        raise DataError(
            f"X_val has {len(x)} samples and y_val the shape {labels.shape}; expected one label "
            f"per sample"
        )
    return x, torch.tensor(encoded(labels, classes, "y_val"), dtype=torch.int64)


def _check_summary(given: object) -> None:
    if given is not None and not isinstance(given, Summary):
        raise DataError(
            f"validation is a {type(given).__name__}; expected a firecv.fire.Summary (a validation "
            f"set itself is given as X_val and y_val)"
        )
