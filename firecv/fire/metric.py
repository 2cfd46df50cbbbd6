"""The metric of an optimiser: how far it moves per unit of gradient, coordinate by coordinate.

A proximal step in this metric has the fixed point of loss + penalty whatever the optimiser:
lr for SGD, lr / (1 - momentum) with momentum, lr / (sqrt(v) + eps) for Adam and AdamW.
"""

import warnings

import torch
from torch import Tensor

from firecv.errors import FirecvNotice

Metric = dict[str, float | Tensor]
"""For each parameter one step size, or one for each of its coordinates."""


def metric_of(optimiser: torch.optim.Optimizer, names: dict[Tensor, str]) -> Metric:
    """Return the step size of every trainable parameter after a step of the optimiser.

    Parameters
    ----------
    optimiser
        After at least one step. For any other than SGD, Adam and AdamW the pull is decoupled from
        the loss, as weight decay is in AdamW, and this is said.
    names
        The name of each parameter; parameters not in it are left out.

    Examples
    --------
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> sgd = torch.optim.SGD([w], lr=0.25, momentum=0.5)
    >>> metric_of(sgd, {w: "w"})
    {'w': 0.5}
    """
    found: Metric = {}
    for group in optimiser.param_groups:
        for parameter in group["params"]:
            if parameter in names:
                found[names[parameter]] = _metric(optimiser, group, parameter)
    return found


def _metric(
    optimiser: torch.optim.Optimizer, group: dict[str, float], parameter: Tensor
) -> float | Tensor:
    rate = float(group["lr"])
    if isinstance(optimiser, torch.optim.Adam | torch.optim.AdamW):
        state = optimiser.state[parameter]
        if not state:  # it had no gradient, so it did not move
            return 0.0
        second = state["max_exp_avg_sq"] if group["amsgrad"] else state["exp_avg_sq"]
        debias = 1 - group["betas"][1] ** float(state["step"])  # pyright: ignore[reportIndexIssue]
        root = debias**0.5
        return second.sqrt().add_(group["eps"] * root).reciprocal_().mul_(rate * root)
    if isinstance(optimiser, torch.optim.SGD):
        kept = group["momentum"]
        # Dampening shrinks what momentum adds up.
        rate *= (1 - group["dampening"] if kept else 1.0) / (1 - kept)
    else:
        warnings.warn(
            f"the metric of {type(optimiser).__name__} is not known: the pull to the reference "
            f"takes its learning rate alone and is decoupled from the loss",
            FirecvNotice,
            stacklevel=4,
        )
    return rate
