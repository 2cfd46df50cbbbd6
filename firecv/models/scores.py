"""How good predictions are: accuracy and what stands beside it."""

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

N_BINS = 15
SCORES = ("accuracy", "balanced_accuracy", "auc", "log_loss", "calibration_error")
"""What `scores` returns, in its order."""
LOWER_IS_BETTER = frozenset({"log_loss", "calibration_error"})
"""Scores of which less is better."""


def scores(probabilities: NDArray[np.float64], labels: NDArray[np.int64]) -> dict[str, float]:
    """Return accuracy, balanced accuracy, AUC, log loss and expected calibration error.

    Parameters
    ----------
    probabilities
        Of each class, of shape (n_samples, n_classes); rows sum to one.
    labels
        The true classes, as column numbers.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    >>> {name: round(value, 2) for name, value in scores(p, np.array([0, 0, 1, 1])).items()}
    {'accuracy': 0.75, 'balanced_accuracy': 0.75, 'auc': 1.0, 'log_loss': 0.4, \
'calibration_error': 0.3}
    """
    if not np.isfinite(probabilities).all():  # training has diverged
        return dict.fromkeys(SCORES, float("nan"))
    right = probabilities.argmax(1) == labels
    present = np.unique(labels)
    recalls = [right[labels == label].mean() for label in present]
    own = probabilities[np.arange(len(labels)), labels]
    loss = -np.log(np.maximum(own, np.finfo(np.float64).tiny))
    return {
        "accuracy": float(right.mean()),
        "balanced_accuracy": float(np.mean(recalls)),
        "auc": _auc(probabilities, labels, present),
        "log_loss": float(loss.mean()),
        "calibration_error": _calibration_error(probabilities.max(1), right),
    }


def _auc(
    probabilities: NDArray[np.float64], labels: NDArray[np.int64], present: NDArray[np.int64]
) -> float:
    """Return the area under the curve, over the classes present against all others."""
    if len(present) < 2:
        return float("nan")
    if probabilities.shape[1] == 2:
        return float(roc_auc_score(labels, probabilities[:, 1]))
    each = [roc_auc_score(labels == label, probabilities[:, label]) for label in present]
    return float(np.mean(each))


def _calibration_error(confidence: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Return the mean distance of confidence from accuracy over equal bins of confidence."""
    bins = np.minimum((confidence * N_BINS).astype(np.int64), N_BINS - 1)
    sums = np.bincount(bins, confidence - right, N_BINS)
    return float(np.abs(sums).sum() / len(confidence))
