"""The world of a seed, which all methods share: clients, V, a test set and a network."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import torch

from firecv.data import load
from firecv.data.arrays import Arrays
from firecv.errors import DataError
from firecv.experiments.kinds.federated_methods import FederatedMethod
from firecv.federated.contract import Client
from firecv.federated.worlds import WORLDS, World, world
from firecv.fire.validation import Unlabelled, Validation, as_validation
from firecv.models import Batch, Task, cnn, mlp
from firecv.regimes import Regime
from firecv.seeding import derive, derive_torch


def check_world(name: str) -> None:
    """Raise `DataError` unless there is such a world."""
    if name not in WORLDS:
        raise DataError(f"there is no world {name!r}; expected one of {', '.join(WORLDS)}")


@lru_cache(maxsize=4)
def made_world(
    dataset: str,
    name: str,
    seed: int,
    sizes: tuple[int, int, int, int],
    model: str | None = None,
) -> World:
    """Return a world; kept, as all methods of a seed share it.

    Parameters
    ----------
    dataset, name
        Images of the catalogue, and the world.
    seed
        Of all that is drawn.
    sizes
        Clients, and images of all of them together, of V and of the test.
    model
        "cnn" for images of shape (n_samples, channels, height, width); None for rows of pixels.
    """
    n_clients, n_train, n_validation, n_test = sizes
    made = world(
        name,
        _images(dataset),
        derive(seed, "world", name),
        n_clients=n_clients,
        n_train=n_train,
        n_validation=n_validation,
        n_test=n_test,
    )
    return made if model is None else with_shape(made, np.asarray(_images(dataset).x).shape[1:])


def task_of(made: World, hidden: str, seed: int, model: str | None = None) -> Task:
    """Return a network for the samples of a world.

    Parameters
    ----------
    made
        The world.
    hidden
        Units of the hidden layers, such as "128-64"; "" for none, a linear model.
    seed
        Seed of its weights.
    model
        "cnn" for the convolutional network; None for a perceptron.
    """
    x, y = made.test
    n_classes = 1 + max(int(y.max()), *(int(c.data[1].max()) for c in made.clients))
    rng = derive_torch(seed, "weights")
    if model == "cnn":
        channels, height, width = x.shape[1:]
        return Task(cnn((channels, height, width), n_classes, rng))
    units = tuple(map(int, hidden.split("-"))) if hidden else ()
    return Task(mlp((x.shape[1],), units, n_classes, rng))


def held(regime: Regime, validation: Batch) -> Validation:
    """Return what the server holds of V."""
    if regime == "none":
        return as_validation(None)
    is_labelled = regime in ("labelled", "labelled_summary")
    return as_validation(validation if is_labelled else Unlabelled(validation[0]))


def clients_of(made: World, method: FederatedMethod, holder: Validation) -> tuple[Client, ...]:
    """Return the clients with what a method gives them of V."""
    if method.is_pooled:
        return tuple(replace(c, data=_joined(c.data, made.validation)) for c in made.clients)
    if method.regime in ("labelled", "unlabelled"):
        return tuple(replace(client, validation=holder) for client in made.clients)
    return made.clients


@lru_cache(maxsize=2)
def _images(dataset: str) -> Arrays:
    return load(dataset).train


def with_shape(made: World, shape: tuple[int, ...]) -> World:
    """Return a world whose rows of pixels are images again, channels first."""
    height, width, *channels = shape

    def images(batch: Batch) -> Batch:
        x = batch[0].reshape(-1, height, width, *(channels or [1]))
        return x.permute(0, 3, 1, 2).contiguous(), batch[1]

    clients = tuple(replace(client, data=images(client.data)) for client in made.clients)
    return World(clients, images(made.validation), images(made.test))


def _joined(one: Batch, other: Batch) -> Batch:
    x, y = (torch.cat(pair) for pair in zip(one, other, strict=True))
    return x, y
