from dataclasses import replace

import numpy as np
import pytest
import torch

from firecv.federated import Client, LocalFleet, Plan, rounds
from firecv.federated.algorithms import FedAvg
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.controls import ClassesAlone, MatchedMeans
from firecv.fire.validation import Unlabelled, as_validation
from firecv.models import Task, mlp
from firecv.seeding import derive_torch
from firecv.training import Training

LOCAL = Training(3, 16, 0.1, "sgd")
CONTROLS = [MatchedMeans("inputs"), MatchedMeans("activations"), ClassesAlone()]


def samples(centre, n, seed, flipped=False):
    x = torch.randn(n, 4, generator=derive_torch(seed, "x"), dtype=torch.float64)
    x[:, 1] += centre
    y = ((x[:, 0] > 0) ^ flipped).long()
    return x, y


def weights_after(weighing, clients, v, n_rounds=2):
    task = Task(mlp((4,), (8,), 2, derive_torch(0, "weights")).double())
    algorithm = Weighed(FedAvg(LOCAL), weighing)
    fleet = LocalFleet(algorithm, task, clients, seed=0)
    done = list(rounds(Plan(algorithm, task, as_validation(v)), fleet, n_rounds))
    assert not any(each.failures for each in done)
    return np.array(done[-1].state.weights)


@pytest.mark.parametrize("of", ["inputs", "activations"])
def test_means_are_matched_to_the_client_that_is_like_v(of):
    clients = [Client(samples(centre, 80, k)) for k, centre in enumerate((0, 2, 4))]
    found = weights_after(MatchedMeans(of, strength=1.0), clients, Unlabelled(samples(4, 60, 9)))
    assert found.argmax() == 2 and found[2] > 0.6
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize("control", CONTROLS, ids=["inputs", "activations", "classes"])
def test_identical_clients_are_left_at_their_shares(control):
    one = samples(0, 60, 0)
    found = weights_after(control, [Client(one), Client(one)], one, n_rounds=1)
    assert found == pytest.approx([0.5, 0.5], abs=0.06)


@pytest.mark.parametrize("control", CONTROLS, ids=["inputs", "activations", "classes"])
def test_rounds_of_a_refresh(control):
    assert all(control.is_due(n) for n in (1, 2, 3))
    assert [n for n in range(1, 12) if replace(control, every=5).is_due(n)] == [1, 6, 11]
