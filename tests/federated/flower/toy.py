"""A small problem that every process of a test can load by its name: three classes of points."""

import torch
from torch import nn

from firecv.federated import Client, LocalFleet, Plan, rounds
from firecv.fire.validation import Validation
from firecv.models import Task
from firecv.models.initialise import built
from firecv.seeding import derive_torch

SIZES = (40, 24, 32, 28)
N_FEATURES, N_CLASSES = 6, 3


def load_task(settings):
    def build():
        norms = [nn.BatchNorm1d(8)] if settings.get("norms") else []
        return nn.Sequential(nn.Linear(N_FEATURES, 8), *norms, nn.ReLU(), nn.Linear(8, N_CLASSES))

    model = built(build, derive_torch(7, "toy"))
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.reset_parameters()
    return Task(model.eval())


def load_client(partition, n_partitions, settings):
    x, y = points(SIZES[partition], partition)
    cut = len(x) // 4
    test = None if settings.get("untested") else (x[:cut], y[:cut])
    return Client((x[cut:], y[cut:]), test=test)


def load_validation(settings):
    """Return V with its labels, which some algorithms need, unless they are not wanted."""
    x, y = points(60, 99)
    return (
        Validation("labelled", x, y)
        if settings.get("labelled", True)
        else Validation("unlabelled", x)
    )


def points(n, which):
    rng = derive_torch(3, "points", which)
    centres = torch.randn(N_CLASSES, N_FEATURES, generator=derive_torch(3, "centres"))
    y = torch.randint(N_CLASSES, (n,), generator=rng)
    x = 2 * centres[y] + torch.randn(n, N_FEATURES, generator=rng) + 0.5 * (which % 4)
    return x, y


def embedded(algorithm, n_clients, n_rounds, settings=None, participation=1.0):
    """Return the server's state after rounds in this process."""
    settings = settings or {}
    task = load_task(settings)
    clients = [load_client(k, n_clients, settings) for k in range(n_clients)]
    plan = Plan(algorithm, task, load_validation(settings), participation=participation)
    for done in rounds(plan, LocalFleet(algorithm, task, clients, plan.seed), n_rounds):
        assert not done.failures, done.failures
    return done.state
