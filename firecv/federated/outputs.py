"""What a model with given weights says about a client's samples, and means over its classes.

Everything here is taken in eval mode and without a gradient: it stands still while a client trains.
"""

import torch
from torch import Tensor

from firecv.fisher.recorder import eval_mode
from firecv.models import Task, batches, scores_and_features
from firecv.training import holding
from firecv.tree import Tree


@torch.no_grad()
def scores_at(task: Task, weights: Tree, x: Tensor) -> Tensor:
    """Return class scores of shape (n_samples, n_classes) at given weights.

    Parameters
    ----------
    task
        The model; its own weights stay as they are.
    weights
        All parameters and floating-point buffers.
    x
        Samples.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(1, 2, bias=False))
    >>> scores_at(task, {"weight": torch.tensor([[1.0], [2.0]])}, torch.tensor([[3.0]]))
    tensor([[3., 6.]])
    """
    with holding(task, weights), eval_mode(task.model):
        return torch.cat([task.scores(part) for (part,) in batches(x)])


@torch.no_grad()
def features_at(task: Task, weights: Tree, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return class scores and features, which are the head's inputs, at given weights.

    Parameters
    ----------
    task, weights, x
        As for `scores_at`.

    Examples
    --------
    >>> task = Task(torch.nn.Sequential(torch.nn.Linear(1, 3), torch.nn.Linear(3, 2)))
    >>> scores, features = features_at(task, task.weights(), torch.zeros(4, 1))
    >>> scores.shape, features.shape
    (torch.Size([4, 2]), torch.Size([4, 3]))
    """
    with holding(task, weights), eval_mode(task.model):
        parts = [scores_and_features(task, part) for (part,) in batches(x)]
    return torch.cat([scores for scores, _ in parts]), torch.cat([found for _, found in parts])


def class_means(values: Tensor, y: Tensor, n_classes: int) -> Tensor:
    """Return the mean over the samples of every class; zero for a class without samples.

    Parameters
    ----------
    values
        One row for each sample.
    y
        Labels of the samples.
    n_classes
        Number of rows to return.

    Examples
    --------
    >>> class_means(torch.tensor([[1.0], [3.0], [5.0]]), torch.tensor([0, 0, 2]), 3)
    tensor([[2.],
            [0.],
            [5.]])
    """
    sums = values.new_zeros(n_classes, values.shape[1]).index_add_(0, y, values)
    counts = torch.bincount(y, minlength=n_classes).clamp(min=1)
    return sums / counts[:, None]
