"""At its default strength `precondition` trains as plain training does, whatever the structure."""

from functools import cache

import pytest
import torch
from sklearn.datasets import load_digits

from firecv.federated import Client, LocalFleet, Plan, rounds
from firecv.federated.algorithms import FedAvg
from firecv.federated.algorithms import Fire as FederatedFire
from firecv.fire import PAPER, Fire
from firecv.fire.validation import as_validation
from firecv.fisher import STRUCTURES, Diagonal, LowRank
from firecv.models import Task, mlp
from firecv.seeding import derive_torch
from firecv.training import Training, train

OPTIMIZERS = {
    "sgd": Training(6, 32, 0.2, "sgd"),
    "momentum": Training(6, 32, 0.05, "sgd", momentum=0.9),
    "adam": Training(6, 32, 5e-3, "adam"),
}
N_TEST = 597
N_CLIENTS, N_ROUNDS = 4, 3


@cache
def digits():
    """Return training, validation and test samples."""
    x, y = load_digits(return_X_y=True)
    order = torch.randperm(len(x), generator=derive_torch(0, "digits"))
    x, y = torch.tensor(x / 16, dtype=torch.float32)[order], torch.tensor(y)[order]
    return (x[:1000], y[:1000]), (x[1000:1200], y[1000:1200]), (x[1200:], y[1200:])


def accuracy(task):
    x, y = digits()[2]
    assert len(x) == N_TEST
    with torch.no_grad():
        return float((task.model(x).argmax(1) == y).float().mean())


def in_one_process(settings, structure):
    (x, y), validation, _ = digits()
    task = Task(mlp((64,), (16,), 10, derive_torch(0, "weights")))
    optimizer = settings.build(task)
    fire = None
    if structure is not None:
        fire = Fire(task.model, validation=validation, structure=STRUCTURES[structure])
    for k, rows in enumerate((slice(500), slice(500, None))):
        train(
            task,
            (x[rows], y[rows]),
            settings,
            derive_torch(0, "shuffle", k),
            optimiser=optimizer,
            backward=None if fire is None else fire.backward,
        )
        if fire is not None:
            fire.next_fragment()
    return accuracy(task)


def federated(settings, structure):
    (x, y), validation, _ = digits()
    task = Task(mlp((64,), (16,), 10, derive_torch(0, "weights")))
    clients = [Client((x[k::N_CLIENTS], y[k::N_CLIENTS])) for k in range(N_CLIENTS)]
    algorithm = FedAvg(settings)
    if structure is not None:
        algorithm = FederatedFire("precondition", structure=structure, every=1, local=settings)
    fleet = LocalFleet(algorithm, task, clients, seed=0)
    plan = Plan(algorithm, task, as_validation(validation))
    done = list(rounds(plan, fleet, N_ROUNDS))
    assert not any(each.failures for each in done)
    task.model.load_state_dict(done[-1].state.server["weights"])
    return accuracy(task)


PLACES = {"one process": in_one_process, "federated": federated}


@cache
def plain(place, optimizer):
    return PLACES[place](OPTIMIZERS[optimizer], None)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("place", PLACES)
def test_within_noise_of_plain_training(place, optimizer, structure):
    wanted = plain(place, optimizer)
    assert wanted > 0.85  # or anything would be within noise of it
    found = PLACES[place](OPTIMIZERS[optimizer], structure)
    noise = 2 * (2 * wanted * (1 - wanted) / N_TEST) ** 0.5  # two errors of a difference
    assert abs(found - wanted) <= noise


@pytest.mark.parametrize("structure", STRUCTURES)
def test_no_step_is_longer_than_one_plus_the_strength(structure):
    (x, y), validation, _ = digits()
    task = Task(mlp((64,), (16,), 10, derive_torch(0, "weights")))
    fire = Fire(task.model, validation=validation, strength=3.0, structure=STRUCTURES[structure])
    for part in range(3):
        xs, ys = x[32 * part :][:32], y[32 * part :][:32]
        loss = torch.nn.functional.cross_entropy(task.model(xs), ys)
        params = list(task.parameters().values())
        before = torch.autograd.grad(loss, params, retain_graph=True)
        task.model.zero_grad()
        fire.backward(loss, ys)
        old = torch.cat([g.flatten() for g in before]).norm()
        new = torch.cat([p.grad.flatten() for p in params]).norm()
        assert old < new <= (1 + 3.0 * 1.02) * old  # a largest eigenvalue may be 2 % too small


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, 1),
        ({"structure": LowRank}, 10),
        ({"form": "quadratic"}, 20),
        ({"structure": LowRank, "accumulation": PAPER}, 1),
        ({"structure": LowRank.of(5), "accumulation": PAPER}, 1),
        ({"structure": LowRank, "accumulation": PAPER, "fisher_every": 4}, 4),
        ({"structure": Diagonal, "fisher_every": 3}, 3),
    ],
)
def test_how_often_the_fisher_of_a_batch_is_estimated(settings, wanted):
    task = Task(mlp((64,), (4,), 10, derive_torch(0, "weights")))
    optimizer = torch.optim.SGD(task.model.parameters(), 0.1)
    fire = Fire(task.model, optimiser=optimizer, **settings)
    assert fire.fisher_every == wanted
    (x, y), _, _ = digits()
    for _ in range(2 * wanted):
        fire.backward(torch.nn.functional.cross_entropy(task.model(x[:8]), y[:8]), y[:8])
    seen = fire.known.n_steps if "accumulation" in settings else fire.known.n_batches
    assert seen == 2
