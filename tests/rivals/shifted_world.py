"""A world with an input that goes along with the labels at home only, and how to be tried on it."""

import torch
from torch import nn

from firecv.models import Task, mlp
from firecv.rivals.contract import Target
from firecv.seeding import derive_torch


def world(n, shift, rng):
    """Return samples whose labels are the sign of the first input.

    The second input follows the labels at home, where `shift` is None; elsewhere it has this mean
    and scale and says nothing. What the labels are, given both inputs, is the same everywhere.
    """
    first, noise = torch.randn(2, n, generator=rng)
    y = (first > 0).long()
    second = 2 * y - 1 + 0.5 * noise if shift is None else shift[0] + shift[1] * noise
    return torch.stack([first, second], 1), y


def trial(rival, shift, settings, seed):
    """Return the accuracy away from home of a network with linear features, and the outcome."""
    home = world(500, None, derive_torch(seed, "source"))
    v, _ = world(500, shift, derive_torch(seed, "target"))
    x, y = world(2000, shift, derive_torch(seed, "test"))
    layers = mlp((2,), (8,), 2, derive_torch(seed, "weights"))
    task = Task(nn.Sequential(*[layer for layer in layers if isinstance(layer, nn.Linear)]))
    outcome = rival.fit(task, home, Target(v), settings, seed)
    return float((task.scores(x).argmax(1) == y).double().mean()), outcome
