"""How much fragments differ in their classes: label skew.

Where fragments differ in classes, the model of each prefers its own, and is sure of them, so that
being sure says little about being right, on which the rule `information` relies: models must be
trained with `firecv.fire.class_offset` then. Fragments say which share of their samples each class
has, and nothing about the samples. What their models predict on V would need no such report, but
cannot tell the two apart: models that differ because of inputs come to prefer different classes on
V, too, once they are trained well.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import torch
from scipy.special import entr
from torch import Tensor

from firecv.errors import DataError
from firecv.fire.shares import proportions
from firecv.fire.summaries import Matrix, Vector
from firecv.models import Task

MOST_SPREAD: Final = 0.05
"""Above it fragments are taken to differ in classes."""


def class_shares(task: Task, x: Tensor, y: Tensor) -> Vector:
    """Return the share of every class that the model knows among a fragment's labels.

    Parameters
    ----------
    task
        The model, which has a score for every class.
    x, y
        The fragment's samples, of which one is looked at, and labels.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(1, 3))
    >>> class_shares(task, torch.zeros(4, 1), torch.tensor([0, 2, 2, 2]))
    array([0.25, 0.  , 0.75])
    """
    with torch.no_grad():
        n_classes = task.scores(x[:1]).shape[1]
    return np.bincount(y.cpu().numpy(), minlength=n_classes) / len(y)


def class_spread(shares: Sequence[Vector] | Matrix, sizes: Sequence[int]) -> float:
    """Return how much the shares of classes differ between fragments, from 0 to 1.

    Jensen and Shannon's divergence, weighted by n/N, less what fragments drawn from one law are
    expected to have of it, (m - 1)(C - 1) / 2N for m fragments and C classes, over log C.

    Parameters
    ----------
    shares
        Of the classes in each fragment, of shape (n_fragments, n_classes).
    sizes
        Samples of each fragment.

    Examples
    --------
    >>> class_spread([np.array([0.5, 0.5]), np.array([0.5, 0.5])], [10, 10])
    0.0
    >>> round(class_spread([np.array([1.0, 0.0]), np.array([0.0, 1.0])], [900, 900]), 3)
    1.0
    """
    each = np.asarray(shares, np.float64)
    if each.ndim != 2 or len(each) != len(sizes) or each.shape[1] < 2:
        raise DataError(
            f"got shares of classes of shape {each.shape} and {len(sizes)} sizes; expected those "
            f"of two classes or more for every fragment"
        )
    weights, (m, n_classes) = proportions(sizes), each.shape
    apart = float(entr(weights @ each).sum() - weights @ entr(each).sum(1))
    by_chance = (m - 1) * (n_classes - 1) / (2 * sum(sizes))
    return max(apart - by_chance, 0.0) / float(np.log(n_classes))


def pooled_if_apart(shares: Sequence[Vector] | Matrix, sizes: Sequence[int]) -> Vector | None:
    """Return the shares of the classes in all fragments together if these differ; else None.

    Parameters
    ----------
    shares, sizes
        As for `class_spread`.

    Examples
    --------
    >>> pooled_if_apart([np.array([1.0, 0.0]), np.array([0.0, 1.0])], [30, 10])
    array([0.75, 0.25])
    """
    if class_spread(shares, sizes) <= MOST_SPREAD:
        return None
    return proportions(sizes) @ np.asarray(shares, np.float64)
