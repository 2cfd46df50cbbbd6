"""Weights drawn from a named generator, so that no model touches the global one."""

import math
from collections.abc import Callable

import torch
from torch import nn


def built(build: Callable[[], nn.Module], rng: torch.Generator) -> nn.Module:
    """Return the network of `build` with PyTorch's default weights drawn from `rng`.

    Linear and convolution weights and biases are uniform on +-1/sqrt(fan_in), as PyTorch draws
    them. `build` runs on the meta device: it allocates nothing and draws nothing. Nor does this
    function inside ``with torch.device("meta")``, which tells the shapes of a network.

    Examples
    --------
    >>> from firecv.seeding import derive_torch
    >>> layer = built(lambda: nn.Linear(4, 2), derive_torch(0, "weights"))
    >>> bool(layer.weight.abs().max() <= 0.5)
    True
    """
    with torch.device("meta"):
        model = build()
    if torch.get_default_device().type == "meta":
        return model
    model = model.to_empty(device="cpu")
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Conv2d):
            bound = 1 / math.sqrt(module.weight[0].numel())
            for parameter in module.parameters(recurse=False):
                nn.init.uniform_(parameter, -bound, bound, generator=rng)
    return model
