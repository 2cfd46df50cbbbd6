import torch

from firecv.federated import Plan
from firecv.federated.algorithms import FedAvg, ValidationClient
from firecv.federated.engine import one_round, start
from firecv.federated.fleet import LocalFleet
from firecv.training import Training
from tests.federated.algorithms import toy
from tests.federated.algorithms.labelled import as_client, labelled

WHOLE = Training(2, None, 0.1, "sgd", momentum=0.9)
"""Batches of all samples, which nobody shuffles."""
HOLDER = labelled(8)


def test_it_is_fedavg_with_one_client_more():
    """V's share is 8 / (N + 8), as that of a client with 8 samples."""
    clients = toy.toy_clients()
    found = toy.weights_after(ValidationClient(WHOLE), clients, holder=HOLDER)
    expected = toy.weights_after(FedAvg(WHOLE), [*clients, as_client(HOLDER)])
    assert toy.furthest(found, expected) < 1e-12


def test_where_few_clients_take_part_v_counts_by_its_samples_beside_theirs():
    clients, task = toy.toy_clients(), toy.toy_task()
    plan = Plan(ValidationClient(WHOLE), task, HOLDER, participation=0.4)
    fleet = LocalFleet(plan.algorithm, task, clients, seed=0)
    done = one_round(plan, fleet, start(plan, fleet))
    (heard,) = done.clients
    pair = [clients[heard], as_client(HOLDER)]
    assert toy.furthest(done.state.server["weights"], toy.weights_after(FedAvg(WHOLE), pair, 1)) < (
        1e-12
    )


def test_under_the_median_the_server_is_one_of_those_who_answer():
    task, clients = toy.toy_task(), toy.same_clients(1, n=1)
    plan = Plan(ValidationClient(WHOLE), task, HOLDER, rule="median")
    fleet = LocalFleet(plan.algorithm, task, clients, seed=0)
    found = one_round(plan, fleet, start(plan, fleet)).state.server["weights"]
    alone = toy.weights_after(FedAvg(WHOLE), [as_client(HOLDER)], 1)
    assert toy.furthest(found, alone) < 1e-12  # 8 samples of 9


def test_the_servers_own_shuffles_are_the_same_in_every_run_and_others_in_every_round():
    small = Training(1, 2, 0.1, "sgd")
    first, again = (
        toy.weights_after(ValidationClient(small), toy.toy_clients(), 2, holder=HOLDER)
        for _ in range(2)
    )
    assert toy.same(first, again)
    assert all(isinstance(value, torch.Tensor) for value in first.values())
