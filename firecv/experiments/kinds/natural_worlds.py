"""Natural federations as worlds: the fragments of a target's problem are the clients."""

import torch

from firecv.experiments.kinds.natural_fits import Floats, Problem, problems
from firecv.federated.contract import Client
from firecv.federated.worlds import World
from firecv.models import Batch


def natural_worlds(
    dataset: str, n_validation: int, every: int | None, seed: int
) -> tuple[World, ...]:
    """Return a world for every target.

    Parameters
    ----------
    dataset
        A data set that came in fragments.
    n_validation
        Rows of the target that make V.
    every
        Take only every so many targets; None for all.
    seed
        Seed that V is drawn with.
    """
    return tuple(map(world_of, problems(dataset, n_validation, every, seed)))


def world_of(problem: Problem) -> World:
    """Return the fragments of a problem as clients, with its V and its test set."""
    names = dict.fromkeys(problem.fragments.tolist())
    parts = [problem.fragments == name for name in names]
    clients = tuple(Client(_batch(problem.x[part], problem.y[part])) for part in parts)
    v, test = _batch(problem.x_val, problem.y_val), _batch(problem.x_test, problem.y_test)
    return World(clients, v, test)


def _batch(x: Floats, y: object) -> Batch:
    return torch.as_tensor(x, dtype=torch.float32), torch.as_tensor(y, dtype=torch.int64)
