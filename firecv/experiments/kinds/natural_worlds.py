"""Natural federations as worlds: the fragments of a target's problem are the clients."""

from statistics import fmean

import torch

from firecv.experiments.kinds import federated_run, worlds
from firecv.experiments.kinds.natural_federation import NaturalFederation
from firecv.experiments.kinds.natural_fits import Floats, Problem, problems
from firecv.federated.contract import Client
from firecv.federated.worlds import World
from firecv.models import Batch


def scored(setting: NaturalFederation, seed: int) -> dict[str, float]:
    """Return what is measured, means over the targets, and the accuracy on each."""
    each = [
        federated_run.measured(
            made := world_of(problem),
            worlds.task_of(made, setting.hidden or "", seed),
            setting.method,
            seed,
            n_rounds=setting.n_rounds,
            n_epochs=setting.n_epochs,
            batch_size=setting.batch_size,
        )
        for problem in problems(setting.dataset, setting.n_validation, setting.every, seed)
    ]
    means = {name: fmean(one[name] for one in each) for name in each[0]}
    return means | {f"target {k}": one["accuracy"] for k, one in enumerate(each, 1)}


def world_of(problem: Problem) -> World:
    """Return the fragments of a problem as clients, with its V and its test set."""
    names = list(dict.fromkeys(problem.fragments.tolist()))
    parts = [problem.fragments == name for name in names]
    clients = tuple(Client(_batch(problem.x[part], problem.y[part])) for part in parts)
    return World(
        clients, _batch(problem.x_val, problem.y_val), _batch(problem.x_test, problem.y_test)
    )


def _batch(x: Floats, y: object) -> Batch:
    return torch.as_tensor(x, dtype=torch.float32), torch.as_tensor(y, dtype=torch.int64)
