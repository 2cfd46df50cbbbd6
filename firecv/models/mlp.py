"""The two multilayer perceptrons of the paper: for tables and for federated clients."""

import math
from collections.abc import Sequence

import torch
from torch import nn

from firecv.models.initialise import built

TABLE_HIDDEN = (4,)
FEDERATED_HIDDEN = (512, 256)


def table_mlp(n_features: int, n_classes: int, rng: torch.Generator) -> nn.Module:
    """Return the network for tables: one hidden layer of 4 ReLU units.

    Examples
    --------
    >>> from firecv.seeding import derive_torch
    >>> table_mlp(30, 2, derive_torch(0, "weights"))(torch.zeros(5, 30)).shape
    torch.Size([5, 2])
    """
    return mlp((n_features,), TABLE_HIDDEN, n_classes, rng)


def federated_mlp(shape: Sequence[int], n_classes: int, rng: torch.Generator) -> nn.Module:
    """Return the network for clients: flattened input, 512 and 256 ReLU units.

    Examples
    --------
    >>> from firecv.seeding import derive_torch
    >>> federated_mlp((1, 28, 28), 10, derive_torch(0, "weights"))(torch.zeros(5, 1, 28, 28)).shape
    torch.Size([5, 10])
    """
    return mlp(shape, FEDERATED_HIDDEN, n_classes, rng)


def mlp(
    shape: Sequence[int], hidden: Sequence[int], n_classes: int, rng: torch.Generator
) -> nn.Module:
    """Return a ReLU network from samples of `shape` through `hidden` units to class scores."""
    widths = [math.prod(shape), *hidden]

    def build() -> nn.Module:
        layers: list[nn.Module] = [nn.Flatten()] if len(shape) > 1 else []
        for n_inputs, n_outputs in zip(widths[:-1], widths[1:], strict=True):
            layers += [nn.Linear(n_inputs, n_outputs), nn.ReLU()]
        return nn.Sequential(*layers, nn.Linear(widths[-1], n_classes))

    return built(build, rng)
