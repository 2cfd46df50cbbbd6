"""A network as its first linear layer and the rest.

On a fixed set of n samples a first layer matters only through its n outputs. Whoever evaluates many
weights of a network on the same few samples can compute with those instead of with the weights:
outputs are averaged like weights, and a gradient step changes them by the samples' Gram matrix.
"""

from collections import OrderedDict
from typing import Final, NamedTuple

from torch import Tensor, nn
from torch.func import functional_call  # pyright: ignore[reportUnknownVariableType]

from firecv.models.task import Task
from firecv.tree import Tree

HOOKS: Final = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
)


class LeadingLinear(NamedTuple):
    """The first linear layer of a network, and the rest.

    Attributes
    ----------
    inputs
        What the layer receives for the samples, of shape (n, n_inputs).
    weight, bias
        The names of its parameters; no bias if it is None.
    rest
        The layers after it.
    """

    inputs: Tensor
    weight: str
    bias: str | None
    rest: nn.Sequential

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the layer's parameters."""
        return (self.weight,) if self.bias is None else (self.weight, self.bias)

    def scores(self, outputs: Tensor, weights: Tree) -> Tensor:
        """Return class scores from the layer's outputs.

        Parameters
        ----------
        outputs
            Of the layer, of shape (n, n_outputs), bias included.
        weights
            Of the network; those of the layer itself are not looked at.
        """
        own = {name: value for name, value in weights.items() if name not in self.names}
        return functional_call(self.rest, own, (outputs,))


def leading_linear(task: Task, x: Tensor) -> LeadingLinear | None:
    """Return the first linear layer if the network begins with it, and None otherwise.

    It does if it is a plain `nn.Sequential` whose first layer but for `nn.Flatten` is an
    `nn.Linear`, with parameters that no other layer uses and no hook that could see or change what
    goes through it.

    Parameters
    ----------
    task
        The model.
    x
        Samples.

    Examples
    --------
    >>> import torch
    >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    >>> first = leading_linear(Task(model), torch.ones(5, 2, 2))
    >>> first.inputs.shape, first.names
    (torch.Size([5, 4]), ('1.weight', '1.bias'))
    >>> outputs = model[1](first.inputs)
    >>> torch.equal(first.scores(outputs, Task(model).weights()), model(first.inputs))
    True
    """
    model = task.model
    if type(model) is not nn.Sequential or _is_hooked(model):
        return None
    # A layer that stands at two places, such as one nn.ReLU for all, counts at both.
    named = model.named_modules(remove_duplicate=False)
    layers = [(name, layer) for name, layer in named if name and "." not in name]
    inputs = x
    for place, (name, layer) in enumerate(layers):
        if _is_hooked(layer):
            return None
        if type(layer) is nn.Flatten:
            inputs = layer(inputs)
        elif type(layer) is nn.Linear and inputs.ndim == 2 and not _is_shared(model, layer):
            bias = f"{name}.bias" if "bias" in dict(layer.named_parameters()) else None
            rest = nn.Sequential(OrderedDict(layers[place + 1 :]))
            return LeadingLinear(inputs, f"{name}.weight", bias, rest)
        else:
            return None
    return None


def _is_hooked(module: nn.Module) -> bool:
    return any(len(getattr(module, name)) for name in HOOKS)


def _is_shared(model: nn.Module, layer: nn.Linear) -> bool:
    """Return whether another layer, or the same at another place, uses the parameters too."""
    own = {id(value) for value in layer.parameters()}
    uses = [
        value
        for _, module in model.named_modules(remove_duplicate=False)
        for value in module.parameters(recurse=False)
        if id(value) in own
    ]
    return len(uses) != len(own)
