"""The pull of the form `quadratic`: a proximal step after each step of an optimiser."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from firecv.fire.forms import pull
from firecv.fire.metric import Metric, metric_of
from firecv.fisher import Diagonal
from firecv.fisher.base import Fisher
from firecv.tree import Tree


@dataclass(frozen=True)
class Pull:
    """Draws parameters towards an anchor, along the directions a Fisher says matter.

    Attributes
    ----------
    fisher
        Stays as it is.
    anchor
        Where to; stays as it is too.

    Examples
    --------
    >>> w = torch.nn.Parameter(torch.tensor([4.0, 4.0]))
    >>> sgd = torch.optim.SGD([w], lr=0.5)
    >>> towards = Pull(Diagonal({"w": torch.tensor([0.0, 6.0])}), {"w": torch.zeros(2)})
    >>> towards({"w": w}, sgd, strength=1.0)
    >>> w.tolist()
    [4.0, 1.0]
    """

    fisher: Fisher
    anchor: Tree
    _kept: dict[str, tuple[float, Tensor]] = field(default_factory=dict[str, tuple[float, Tensor]])

    def __call__(self, params: Tree, optimiser: torch.optim.Optimizer, strength: float) -> None:
        """Move the parameters in place, in the metric of the optimiser.

        Parameters
        ----------
        params
            The parameters themselves, by name.
        optimiser
            After its step.
        strength
            Of the penalty.
        """
        with torch.no_grad():
            steps = metric_of(optimiser, {value: name for name, value in params.items()})
            if isinstance(self.fisher, Diagonal):  # in place: passes over memory are the cost
                for name, value in params.items():
                    weight = self._weight(name, self.fisher.entries[name], steps[name], strength)
                    value.lerp_(self.anchor[name], weight.to(value.dtype))
                return
            pulled = pull(params, self.anchor, self.fisher, _filled(steps, params, strength))
            for name, value in params.items():
                value.copy_(pulled[name])

    def _weight(self, name: str, entries: Tensor, step: float | Tensor, strength: float) -> Tensor:
        """Return tF / (1 + tF), t being step times strength; kept while it stays the same."""
        if isinstance(step, Tensor):
            product = step.mul_(strength).mul_(entries)
            return product.div_(product + 1)
        known = self._kept.get(name)
        if known is None or known[0] != step * strength:
            product = entries * (step * strength)
            known = self._kept[name] = (step * strength, product / (1 + product))
        return known[1]


def _filled(steps: Metric, params: Tree, strength: float) -> Tree:
    full = {n: torch.as_tensor(t, dtype=params[n].dtype) for n, t in steps.items()}
    return {n: (t.to(params[n].device) * strength).expand_as(params[n]) for n, t in full.items()}
