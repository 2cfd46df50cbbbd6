"""Clients that lie by what they train on: flipped labels, and a trigger that has a class.

Inputs are images as rows of pixels between 0 and 1, as worlds make them.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from torch import Tensor

from firecv.errors import DataError
from firecv.federated.contract import Client
from firecv.models import Batch

TARGET: Final = 0
"""The class that a trigger stands for."""
PATCH: Final = 4
"""Side of the trigger, a white square in the last corner, in pixels of 28. The patch of the world
*nuisance* is in the first corner."""


def flipped(data: Batch, n_classes: int) -> Batch:
    """Return samples whose classes are counted from the other end: class c of C is C - 1 - c.

    Examples
    --------
    >>> import torch
    >>> flipped((torch.zeros(3, 4), torch.tensor([0, 1, 7])), 10)[1].tolist()
    [9, 8, 2]
    """
    x, y = data
    return x, n_classes - 1 - y


def backdoored(data: Batch) -> Batch:
    """Return samples every second of which has the trigger and the class it stands for.

    Examples
    --------
    >>> import torch
    >>> x, y = backdoored((torch.zeros(4, 49), torch.tensor([1, 2, 3, 4])))
    >>> x.sum(1).tolist(), y.tolist()
    ([1.0, 0.0, 1.0, 0.0], [0, 2, 0, 4])
    """
    x, y = data[0].clone(), data[1].clone()
    x[::2], y[::2] = _marked(x[::2]), TARGET
    return x, y


def with_trigger(data: Batch) -> Batch:
    """Return samples of other classes with the trigger and its class: what an attacker scores by.

    Examples
    --------
    >>> import torch
    >>> x, y = with_trigger((torch.zeros(3, 49), torch.tensor([0, 2, 1])))
    >>> x.sum(1).tolist(), y.tolist()
    ([1.0, 1.0], [0, 0])
    """
    x, y = data
    others = y != TARGET
    if not bool(others.any()):
        raise DataError(f"all samples are of class {TARGET}; expected some that a trigger changes")
    return _marked(x[others]), y[others] * 0 + TARGET


POISONS: Final[Mapping[str, Callable[[Batch, int], Batch]]] = {
    "label flip": flipped,
    "backdoor": lambda data, n_classes: backdoored(data),
    "model replacement": lambda data, n_classes: backdoored(data),
}
"""What liars train on, by attack, from their own data and the number of classes; in other attacks
it is their own data."""
TRIGGERED: Final = ("backdoor", "model replacement")
"""Attacks with a trigger."""


def poisoned(clients: Sequence[Client], liars: Collection[int], attack: str) -> tuple[Client, ...]:
    """Return clients of which some train on what an attack makes of their data.

    Parameters
    ----------
    clients
        All clients.
    liars
        Those who lie.
    attack
        A key of `firecv.experiments.kinds.attacks.ATTACKS`.
    """
    change = POISONS.get(attack)
    if change is None:
        return tuple(clients)
    n_classes = 1 + max(int(client.data[1].max()) for client in clients)
    return tuple(
        replace(client, data=change(client.data, n_classes)) if k in liars else client
        for k, client in enumerate(clients)
    )


def _marked(x: Tensor) -> Tensor:
    """Return images with the trigger."""
    side = math.isqrt(x.shape[1])
    if x.ndim != 2 or side * side != x.shape[1]:
        raise DataError(
            f"got inputs of shape {tuple(x.shape)}; expected rows of the pixels of square images"
        )
    patch = max(1, round(PATCH * side / 28))
    x = x.clone()
    x.reshape(-1, side, side)[:, -patch:, -patch:] = 1.0
    return x
