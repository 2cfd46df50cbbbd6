"""The forms of the FIRE term that act on a training step, each here and nowhere else.

The paper writes its term in several ways that are not the same thing; all stand behind one name:

- `precondition` (Algorithm 1): g + strength * I_G g. Same stationary points as plain training.
- `trace` (its loss equations): loss + strength * (mu tr F_B + (1 - mu) tr F_V), through F.
- `quadratic` (its theorem): loss + strength/2 (theta - ref)' I_G (theta - ref), I_G frozen. It is a
  proximal step after the optimiser's: explicit steps diverge on real Fishers, whose largest entries
  are thousands of times the mean.
- `align` (its contrast with Fishr): loss + strength * sum of squares (F_B - F_V), through F.

`weigh`, the fifth, acts on fragments, not on steps: `firecv.fire.weigh`.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from firecv import tree
from firecv.fisher import Diagonal
from firecv.fisher.base import Fisher
from firecv.tree import Tree

Form = Literal["precondition", "trace", "quadratic", "align", "weigh"]
FORMS: tuple[Form, ...] = ("precondition", "trace", "quadratic", "align", "weigh")


def default_strength(form: Form) -> float:
    """Return the strength of a form that acts on training, if none is given.

    The paper's 0.1 but for `trace`: there 0.01 lost on none of ten tables, 0.1 on some, and larger
    networks collapse at 0.1.

    Examples
    --------
    >>> default_strength("precondition"), default_strength("trace")
    (0.1, 0.01)
    """
    return 0.01 if form == "trace" else 0.1


def unit(form: Form, fisher: Fisher) -> float:
    """Return what a Fisher is divided by, so that a strength means the same for every model.

    For `precondition` the largest eigenvalue: eigenvalues of I + strength * F then lie between 1
    and 1 + strength, so that no direction's step is more than 1 + strength times as long, whatever
    the structure. For `quadratic` the mean of the diagonal: a displacement in a random direction
    then costs as much in every structure, and a proximal step needs no bound.

    Examples
    --------
    >>> fisher = Diagonal({"w": torch.tensor([1.0, 3.0])})
    >>> unit("precondition", fisher), unit("quadratic", fisher)
    (3.0, 2.0)
    """
    if form == "precondition":
        return float(fisher.largest_eigenvalue())
    return float(fisher.trace()) / tree.size(fisher.diagonal())


def precondition(gradient: Tree, terms: Sequence[tuple[float, Fisher]], strength: float) -> Tree:
    """Return ``g + strength * F g`` for the Fisher F that `terms` sum up to.

    Examples
    --------
    >>> fisher = Diagonal({"w": torch.tensor([1.0, 3.0])})
    >>> precondition({"w": torch.tensor([1.0, 1.0])}, [(2.0, fisher)], 0.5)
    {'w': tensor([2., 4.])}
    """
    result = gradient
    for factor, fisher in terms:
        if not isinstance(fisher, Diagonal):
            result = tree.add(result, tree.scale(fisher.matvec(gradient), strength * factor))
            continue
        # Passes over memory are the cost: one for each term, and in place after the first.
        add = torch.addcmul if result is gradient else Tensor.addcmul_
        result = {
            name: add(result[name], entries, gradient[name], value=strength * factor)
            for name, entries in fisher.entries.items()
        }
    return result


def pull(params: Tree, anchor: Tree, fisher: Fisher, step: float | Tree) -> Tree:
    """Return the proximal point ``anchor + (I + step F)^-1 (params - anchor)``.

    With `step` the optimiser's own metric times the strength, the fixed point of optimiser and pull
    is that of loss + strength/2 (params - anchor)' F (params - anchor).

    Examples
    --------
    >>> fisher = Diagonal({"w": torch.tensor([0.0, 1.0])})
    >>> pull({"w": torch.tensor([4.0, 4.0])}, {"w": torch.zeros(2)}, fisher, 3.0)
    {'w': tensor([4., 1.])}
    """
    return tree.add(anchor, fisher.resolvent(tree.sub(params, anchor), step))


def mixed_trace(fragment: Tensor, validation: Tensor | None, mix: float) -> Tensor:
    """Return mu tr F_B + (1 - mu) tr F_V, or tr F_B where there is no validation set."""
    return fragment if validation is None else mix * fragment + (1 - mix) * validation


def misalignment(halves: Sequence[Tree], validation: Tree) -> Tensor:
    """Return the sum of squares of F_B - F_V over all diagonal entries.

    With two halves of the batch, the product of their differences is summed instead: its
    expectation has no term from the sampling variance of F_B.

    Examples
    --------
    >>> f, v = {"w": torch.tensor([3.0, 1.0])}, {"w": torch.tensor([1.0, 1.0])}
    >>> misalignment([f], v)
    tensor(4.)
    """
    differences = [tree.sub(half, validation) for half in halves]
    return tree.dot(differences[0], differences[-1])
