"""Per-sample gradients of layers without a closed form.

First choice is one layer alone: its input and output gradient are at hand, so only the layer is
differentiated, sample by sample. Where a parameter is used outside its own layer, or the layer
does not map one tensor over samples to another, the whole model is differentiated per sample for
that parameter. Both are vectorised; what cannot be vectorised runs in a loop, slowly but right.
"""

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap  # pyright: ignore[reportUnknownVariableType]

from firecv.errors import ModelError
from firecv.fisher.layers.kinds import Use
from firecv.fisher.layers.samples import SampleGradients
from firecv.models import Task
from firecv.tree import Tree


class UnrepeatableLayer(ModelError):
    """A layer without closed form is in train mode: a second pass may draw other numbers."""


def of_layer(use: Use) -> SampleGradients:
    """Return per-sample gradients by differentiating one layer, samples on its first axis."""
    site, weights = use.site, use.weights or {}
    own = {attribute: site.state(attribute, use.weights) for attribute in site.names}
    others = {
        below: weights[name]
        for below, name in site.inside.items()
        if name in weights and below not in own
    }

    def pulled(parameters: Tree, x: Tensor, delta: Tensor) -> Tensor:
        output = functional_call(site.module, others | parameters, (x.unsqueeze(0),))
        return (output * delta.unsqueeze(0)).sum()

    gradients = _per_sample(pulled, own, use.x, use.delta)
    return SampleGradients({site.names[attribute]: g for attribute, g in gradients.items()})


def of_model(
    task: Task, names: list[str], x: Tensor, delta: Tensor, weights: Tree | None
) -> SampleGradients:
    """Return per-sample gradients of `names` by differentiating the whole model."""
    live = task.parameters()
    chosen = {name: live[name] if weights is None else weights[name] for name in names}
    others = {name: value for name, value in (weights or {}).items() if name not in chosen}

    def pulled(parameters: Tree, sample: Tensor, pull: Tensor) -> Tensor:
        scores = functional_call(task.model, others | parameters, (sample.unsqueeze(0),))
        return (scores * pull.unsqueeze(0)).sum()

    return SampleGradients(_per_sample(pulled, chosen, x, delta))


def _per_sample(
    function: Callable[[Tree, Tensor, Tensor], Tensor], parameters: Tree, x: Tensor, delta: Tensor
) -> Tree:
    """Return the gradient of ``function(parameters, x_i, delta_i)`` for every i, stacked."""
    try:
        return cast(Tree, vmap(grad(function), in_dims=(None, 0, 0))(parameters, x, delta))
    except (RuntimeError, NotImplementedError, ValueError, TypeError) as error:
        # Some operations cannot be vectorised: recurrent cells, loops over values.
        if "randomness" in str(error):
            raise ModelError(
                "a layer without closed form draws at random even in eval mode, so a sample has no "
                "gradient of its own; make it deterministic in eval mode"
            ) from error
    differentiable = torch.is_grad_enabled()
    leaves = parameters
    if not differentiable:
        leaves = {name: value.detach().requires_grad_() for name, value in parameters.items()}
    rows: list[tuple[Tensor, ...]] = []
    with torch.enable_grad():
        for sample, pull in zip(x, delta, strict=True):
            value = function(leaves, sample, pull)
            rows.append(
                torch.autograd.grad(
                    value,
                    list(leaves.values()),
                    create_graph=differentiable,
                    materialize_grads=True,
                )
            )
    columns = zip(*rows, strict=True)
    return {name: torch.stack(column) for name, column in zip(leaves, columns, strict=True)}
