"""The rule `information` where fragments may differ in classes.

There being sure says little about being right, and the rule does not decide alone. The mixture of
fragments nearest to V (rule `mixture`) is proposed instead, and taken only if the averaged model
becomes much more informative about V by it. The two fail for different reasons: information where
models are sure of the classes they know, sketches where what V shares with some fragments has
nothing to do with the classes. Where they do not agree, weights stay at n/N.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final

import torch
from torch import Tensor

from firecv.fire.batch_norm import DifferentiableBatchNorm
from firecv.fire.class_spread import MOST_SPREAD, class_spread
from firecv.fire.information import averaged, information, informative
from firecv.fire.shares import proportions
from firecv.fire.summaries import Vector
from firecv.fisher.recorder import eval_mode
from firecv.models import Task
from firecv.tree import Tree

LEAST_GAIN: Final = 0.1
"""What must be gained, as a share of the logarithm of the number of classes, the most there is."""


def cautious(
    task: Task,
    fragment_weights: Sequence[Tree],
    x: Tensor,
    sizes: Sequence[int],
    nearest: Callable[[], Vector],
    *,
    strength: float = 2.0,
    also_from: Vector | None = None,
) -> Vector:
    """Return the weights of `information`, or where fragments differ in classes what is agreed on.

    Parameters
    ----------
    task, fragment_weights, x, sizes, strength, also_from
        As for `information`.
    nearest
        Gives the weights of the mixture nearest to V; called only where fragments differ in
        classes.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(1, 2))
    >>> zeros = torch.zeros(2, 1)
    >>> one, other = ({"weight": zeros, "bias": torch.tensor([s, -s])} for s in (9.0, -9.0))
    >>> cautious(task, [one, other], torch.ones(5, 1), [1, 1], lambda: torch.tensor([1, 0]).numpy())
    array([0.5, 0.5])
    """
    if strength == 0 or class_spread(task, fragment_weights, x, sizes) <= MOST_SPREAD:
        return information(task, fragment_weights, x, sizes, strength=strength, also_from=also_from)
    shares, proposed = proportions(sizes), nearest()
    with eval_mode(task.model), DifferentiableBatchNorm(), torch.no_grad():
        predict = averaged(task, fragment_weights, x)
        before, after = (predict(torch.from_numpy(w)) for w in (shares, proposed))
    gain = float(informative(after) - informative(before))
    return proposed if gain >= LEAST_GAIN * math.log(before.shape[1]) else shares
