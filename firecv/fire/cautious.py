"""The rule `information` with its two guards.

*Doubt.* The strength is multiplied by 1 - p, p being the p-value of the shift test: the less V can
be told from the pooled fragments, the closer weights stay to n/N. There is no level to cross: a
small V seldom rejects, and weights that are switched on and off from refresh to refresh do harm,
as every fragment starts from the average before.

*Classes.* Where fragments differ in classes, being sure says little about being right, and the rule
does not decide alone. The mixture of fragments nearest to V (rule `mixture`) is proposed instead,
and taken only if the test rejects and the averaged model becomes much more informative about V by
it. The two fail for different reasons: information where models are sure of the classes they know,
sketches where what V shares with some fragments has nothing to do with the classes. Where they do
not agree, weights stay at n/N.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final

import torch
from torch import Tensor

from firecv.fire.batch_norm import DifferentiableBatchNorm
from firecv.fire.class_spread import MOST_SPREAD
from firecv.fire.information import averaged, information, informative
from firecv.fire.shares import check_strength, proportions
from firecv.fire.shift_test import ShiftTest
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
    test: ShiftTest,
    nearest: Callable[[], Vector],
    spread: float,
    *,
    strength: float = 2.0,
    also_from: Vector | None = None,
) -> Vector:
    """Return the weights of `information`, or where fragments differ in classes what is agreed on.

    Parameters
    ----------
    task, fragment_weights, x, sizes, also_from
        As for `information`.
    test
        The shift test of V against the fragments.
    nearest
        Gives the weights of the mixture nearest to V; called only where fragments differ in
        classes and the test rejects.
    spread
        How much fragments differ in their classes, by `firecv.fire.class_spread`.
    strength
        Of `information` where there is no doubt that V differs.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(1, 2, bias=False))
    >>> good, poor = ({"weight": torch.tensor([[-s], [s]])} for s in (2.0, 0.0))
    >>> x, nearest = torch.tensor([[-1.0], [1.0]]), lambda: proportions([1, 1])
    >>> for p in (0.0, 0.5, 1.0):
    ...     test = ShiftTest(statistic=3.0, degrees=3.0, p_value=p, rejects=p <= 0.01)
    ...     print(p, cautious(task, [good, poor], x, [1, 1], test, nearest, 0.0).round(2))
    0.0 [0.75 0.25]
    0.5 [0.66 0.34]
    1.0 [0.5 0.5]
    """
    check_strength(strength)
    trusted = strength * (1 - test.p_value)
    if trusted == 0 or spread <= MOST_SPREAD:
        return information(task, fragment_weights, x, sizes, strength=trusted, also_from=also_from)
    if not test.rejects:
        return proportions(sizes)
    shares, proposed = proportions(sizes), nearest()
    with eval_mode(task.model), DifferentiableBatchNorm(), torch.no_grad():
        predict = averaged(task, fragment_weights, x)
        before, after = (predict(torch.from_numpy(w)) for w in (shares, proposed))
    gain = float(informative(after) - informative(before))
    return proposed if gain >= LEAST_GAIN * math.log(before.shape[1]) else shares
