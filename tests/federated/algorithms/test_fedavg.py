import torch

from firecv import tree
from firecv.federated.algorithms import FedAvg
from tests.federated.algorithms import toy
from tests.federated.quadratics import QUICK, last_state, quadratics


def test_one_full_step_of_all_clients_is_one_central_step():
    task, clients = toy.toy_task(), toy.toy_clients()
    x, y = (torch.cat(parts) for parts in zip(*(c.data for c in clients), strict=True))
    found = toy.weights_after(FedAvg(toy.ONE_STEP), clients, 1, task=task)
    params = task.parameters()
    gradient = torch.autograd.grad(task.loss((x, y)), list(params.values()))
    expected = {n: p - 0.5 * g for (n, p), g in zip(params.items(), gradient, strict=True)}
    assert toy.furthest(found, expected) < 1e-14


def test_numbers_of_clients_do_not_matter():
    """With whole batches nothing is drawn, so only the order of a sum changes."""
    clients, algorithm = toy.toy_clients(), FedAvg(toy.ONE_STEP)
    found = toy.weights_after(algorithm, clients)
    assert toy.furthest(found, toy.weights_after(algorithm, clients[::-1])) < 1e-14


def test_one_round_by_hand():
    state, _ = last_state(FedAvg(QUICK), quadratics((3, 1, 1, 1, 1)), 1)
    expected = 0
    for client, share in zip(quadratics(), (3 / 7, *[1 / 7] * 4), strict=True):
        a, b = client.data[0][0]
        expected = expected + share * (b - (1 - 0.3 * a) ** 6 * b)
    assert (state.server["weights"]["t"] - expected).abs().max() < 1e-15


def test_identical_clients_train_as_one():
    several, one = (toy.weights_after(FedAvg(toy.ONE_STEP), toy.same_clients(n)) for n in (4, 1))
    assert toy.furthest(several, one) < 1e-15
    assert tree.squared_distance(one, toy.toy_task().weights()) > 1e-3
