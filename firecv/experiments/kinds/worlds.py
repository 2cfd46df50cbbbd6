"""The world of a seed, which all methods share: clients, V, a test set and a network."""

from dataclasses import replace
from functools import lru_cache

import torch

from firecv.data import load
from firecv.data.arrays import Arrays
from firecv.errors import DataError
from firecv.experiments.kinds.federated_methods import FederatedMethod
from firecv.federated.contract import Client
from firecv.federated.worlds import WORLDS, World, world
from firecv.fire.validation import Unlabelled, Validation, as_validation
from firecv.models import Batch, Task, mlp
from firecv.regimes import Regime
from firecv.seeding import derive, derive_torch


def check_world(name: str) -> None:
    """Raise `DataError` unless there is such a world."""
    if name not in WORLDS:
        raise DataError(f"there is no world {name!r}; expected one of {', '.join(WORLDS)}")


@lru_cache(maxsize=4)
def made_world(dataset: str, name: str, seed: int, sizes: tuple[int, int, int, int]) -> World:
    """Return a world; kept, as all methods of a seed share it.

    Parameters
    ----------
    dataset, name
        Images of the catalogue, and the world.
    seed
        Of all that is drawn.
    sizes
        Clients, and images of all of them together, of V and of the test.
    """
    n_clients, n_train, n_validation, n_test = sizes
    return world(
        name,
        _images(dataset),
        derive(seed, "world", name),
        n_clients=n_clients,
        n_train=n_train,
        n_validation=n_validation,
        n_test=n_test,
    )


def task_of(made: World, hidden: str, seed: int) -> Task:
    """Return a perceptron for the images of a world.

    Parameters
    ----------
    made
        The world.
    hidden
        Units of the hidden layers, such as "128-64".
    seed
        Of its weights.
    """
    x, y = made.test
    n_classes = 1 + max(int(y.max()), *(int(c.data[1].max()) for c in made.clients))
    units = tuple(map(int, hidden.split("-")))
    return Task(mlp((x.shape[1],), units, n_classes, derive_torch(seed, "weights")))


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


def _joined(one: Batch, other: Batch) -> Batch:
    x, y = (torch.cat(pair) for pair in zip(one, other, strict=True))
    return x, y
