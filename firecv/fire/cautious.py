"""The rule `information` as far as the shift test lets it.

Its strength is multiplied by 1 - p, p being the p-value of the shift test: the less V can be told
from the pooled fragments, the closer weights stay to n/N. There is no level to cross: a small V
seldom rejects, and weights that are switched on and off from refresh to refresh do harm, as every
fragment starts from the average before.

Where fragments differ in classes, being sure says little about being right, and models must be
trained with `firecv.fire.class_offset` before they are compared. They then differ less in how sure
they are, and the rule has twice the strength.
"""

from collections.abc import Sequence
from typing import Final

from torch import Tensor

from firecv.fire.information import information
from firecv.fire.shares import check_strength
from firecv.fire.shift_test import ShiftTest
from firecv.fire.summaries import Vector
from firecv.models import Task
from firecv.tree import Tree

STRENGTH_APART: Final = 4.0
"""The default strength where fragments differ in classes."""


def cautious(
    task: Task,
    fragment_weights: Sequence[Tree],
    x: Tensor,
    sizes: Sequence[int],
    test: ShiftTest,
    *,
    strength: float = 2.0,
    also_from: Vector | None = None,
) -> Vector:
    """Return the weights of `information`, the closer to n/N the more doubt there is of a shift.

    Parameters
    ----------
    task, fragment_weights, x, sizes, also_from
        As for `information`.
    test
        The shift test of V against the fragments.
    strength
        Of `information` where there is no doubt that V differs.

    Examples
    --------
    >>> import torch
    >>> task = Task(torch.nn.Linear(1, 2, bias=False))
    >>> good, poor = ({"weight": torch.tensor([[-s], [s]])} for s in (2.0, 0.0))
    >>> x = torch.tensor([[-1.0], [1.0]])
    >>> for p in (0.0, 0.5, 1.0):
    ...     test = ShiftTest(statistic=3.0, degrees=3.0, p_value=p, rejects=p <= 0.01)
    ...     print(p, cautious(task, [good, poor], x, [1, 1], test).round(2))
    0.0 [0.75 0.25]
    0.5 [0.66 0.34]
    1.0 [0.5 0.5]
    """
    check_strength(strength)
    trusted = strength * (1 - test.p_value)
    return information(task, fragment_weights, x, sizes, strength=trusted, also_from=also_from)
