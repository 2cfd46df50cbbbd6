"""What worlds are made of: sizes, distinct images, and batches of pixels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from firecv.data.arrays import Array, Arrays
from firecv.errors import DataError
from firecv.federated.contract import Client
from firecv.models import Batch

UNBALANCE = 0.6
"""How many samples a class has for one of the class before it, where V is unbalanced."""
SPARE = 4
"""Times as many images as needed, from which an unbalanced V is drawn."""


@dataclass(frozen=True)
class World:
    """A federation with its validation and test set.

    Attributes
    ----------
    clients
        Their samples.
    validation
        V, which the server holds, with labels that few methods may use.
    test
        Samples of V's law to judge by.
    """

    clients: tuple[Client, ...]
    validation: Batch
    test: Batch


@dataclass(frozen=True)
class Sizes:
    """How many clients, and how many images for all of them together, for V and for the test."""

    n_clients: int
    n_train: int
    n_validation: int
    n_test: int

    @property
    def n_rest(self) -> int:
        """Images for V and the test together."""
        return self.n_validation + self.n_test


def drawn(images: Arrays, sizes: Sizes, rng: np.random.Generator) -> tuple[Arrays, Arrays]:
    """Return images for clients, and others for V and the test, in random order."""
    n_all = sizes.n_train + sizes.n_rest
    if len(images) < n_all:
        raise DataError(f"got {len(images)} images; expected at least {n_all}")
    order = rng.permutation(len(images))[:n_all]
    return images.take(order[: sizes.n_train]), images.take(order[sizes.n_train :])


def unbalanced(rest: Arrays, sizes: Sizes, rng: np.random.Generator) -> Arrays:
    """Return as many images for V and the test, each class in 0.6 times the number of the last."""
    odds = UNBALANCE ** rest.y.astype(np.float64)
    kept = rng.choice(len(rest), sizes.n_rest, replace=False, p=odds / odds.sum())
    return rest.take(kept)


def pieces(train: Arrays, n_clients: int) -> list[Arrays]:
    """Return images in as many nearly equal pieces, in their order."""
    return [train.take(rows) for rows in np.array_split(np.arange(len(train)), n_clients)]


def made(clients: Sequence[Client], x: Array, y: NDArray[np.int64], n_validation: int) -> World:
    """Return a world whose V and test are the first and the other ones of some images."""
    images, labels = batch(x, y)
    v, t = slice(0, n_validation), slice(n_validation, None)
    return World(tuple(clients), (images[v], labels[v]), (images[t], labels[t]))


def client(x: Array, y: NDArray[np.int64]) -> Client:
    """Return a client with these images."""
    return Client(batch(x, y))


def batch(x: Array, y: NDArray[np.int64]) -> Batch:
    """Return images as rows of pixels between 0 and 1, with their labels."""
    top = float(np.iinfo(x.dtype).max) if x.dtype.kind == "u" else 1.0
    pixels = torch.tensor(x.reshape(len(x), -1), dtype=torch.float32) / top
    return pixels, torch.tensor(y, dtype=torch.int64)
