"""Form `weigh`: how much weight each fragment gets, decided with V's help.

With V's labels it is decided by influence (`firecv.fire.weigh.influence`). Without them, the
weight of fragment i is n_i / N, unless V differs from the pooled fragments; then a rule
decides. The recommended one, `information`, acts the more the surer the shift test is::

    test = shift_test(validation_rows, summaries)
    weights = cautious(task, fragment_weights, x, sizes, test)

The others act once it has rejected: `guarded(test, sizes, rule)`. Weights sum to one and enter
every mean that is taken over the fragments.
"""

from collections.abc import Callable, Sequence

from firecv.fire.distance import distance, halved
from firecv.fire.information import information
from firecv.fire.mixture import mixture
from firecv.fire.shares import proportions
from firecv.fire.shift_test import ShiftTest, shift_test
from firecv.fire.summaries import SketchSummary, Vector, sketch_rows, summarise

__all__ = [
    "ShiftTest",
    "SketchSummary",
    "distance",
    "guarded",
    "halved",
    "information",
    "mixture",
    "proportions",
    "shift_test",
    "sketch_rows",
    "summarise",
]


def guarded(test: ShiftTest, sizes: Sequence[int], rule: Callable[[], Vector]) -> Vector:
    """Return the rule's weights if the test rejects, else n/N exactly.

    Parameters
    ----------
    test
        The shift test of V against the fragments.
    sizes
        Samples of each fragment.
    rule
        Gives the weights; called only if the test rejects.

    Examples
    --------
    >>> calm = ShiftTest(statistic=40.0, degrees=48.0, p_value=0.79, rejects=False)
    >>> guarded(calm, [30, 10], lambda: 1 / 0)
    array([0.75, 0.25])
    """
    return rule() if test.rejects else proportions(sizes)
