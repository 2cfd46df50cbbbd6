"""How much fragments' models differ in the classes they predict on V: a sign of label skew.

Models of fragments that differ in inputs alone predict about the same shares of classes on the same
samples. Where fragments differ in classes, each model prefers its own, and is sure of them, so that
being sure says little about being right: the rule `information` must not act.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import torch
from torch import Tensor

from firecv.fire.shares import proportions
from firecv.fisher.recorder import eval_mode
from firecv.models import Task
from firecv.tree import Tree

MOST_SPREAD: Final = 0.11
"""Above it fragments are taken to differ in classes."""
ENOUGH: Final = 64
"""Samples of V that are looked at."""
MOST_FRAGMENTS: Final = 32
"""Fragments that are looked at; of more, as many, evenly among them."""


def class_spread(
    task: Task, fragment_weights: Sequence[Tree], x: Tensor, sizes: Sequence[int]
) -> float:
    """Return how much shares of predicted classes differ between fragments, from 0 to 1.

    Jensen and Shannon's divergence of the mean predictions on V, weighted by n/N, over the
    logarithm of the number of classes. The same samples for all, so that few suffice.

    Parameters
    ----------
    task
        The model.
    fragment_weights
        The model's weights as trained by each fragment.
    x
        Samples of V.
    sizes
        Samples of each fragment.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(1, 2))
    >>> zeros = torch.zeros(2, 1)
    >>> one, other = ({"weight": zeros, "bias": torch.tensor([s, -s])} for s in (9.0, -9.0))
    >>> x = torch.ones(5, 1)
    >>> round(class_spread(task, [one, one], x, [1, 1]), 3)
    0.0
    >>> round(class_spread(task, [one, other], x, [1, 1]), 3)
    1.0
    """
    chosen = np.unique(np.linspace(0, len(sizes) - 1, MOST_FRAGMENTS).round().astype(int))
    shares = torch.from_numpy(proportions([sizes[i] for i in chosen])).to(x.device)
    own = task.state()
    with torch.no_grad(), eval_mode(task.model):
        means = torch.stack(
            [
                task.scores(x[:ENOUGH], own | fragment_weights[i]).double().softmax(1).mean(0)
                for i in chosen
            ]
        )
    apart = _entropy(shares @ means) - shares @ _entropy(means)
    return float(apart / torch.tensor(float(means.shape[1])).log())


def _entropy(p: Tensor) -> Tensor:
    return torch.special.entr(p).sum(-1)
