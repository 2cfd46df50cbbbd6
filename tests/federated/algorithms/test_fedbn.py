import torch
from torch import nn

from firecv.federated.algorithms import FedAvg, FedBN
from firecv.federated.algorithms.fedbn import batch_norm_names
from firecv.training import Training
from tests.federated.algorithms import toy

WHOLE = Training(2, None, 0.1, "sgd", momentum=0.9)
SIZES = (8, 6, 10)


def test_without_batch_norms_it_is_fedavg_bit_for_bit():
    clients = toy.odd_clients()
    state, fleet = toy.run(FedBN(toy.LOCAL), clients)
    plain, _ = toy.run(FedAvg(toy.LOCAL), clients)
    assert toy.same(state.server, plain.server)
    assert not fleet.memories


def test_batch_norms_are_found_by_type_and_not_by_name():
    model = nn.ModuleDict(
        {
            "bn": nn.Linear(2, 3),
            "scale": nn.BatchNorm1d(3),
            "deep": nn.Sequential(nn.Conv2d(1, 2, 2), nn.BatchNorm2d(2, affine=False)),
            "other": nn.GroupNorm(1, 2),
        }
    )
    assert batch_norm_names(model) == [
        "scale.weight", "scale.bias", "scale.running_mean", "scale.running_var",
        "deep.1.running_mean", "deep.1.running_var",
    ]  # fmt: skip
    assert batch_norm_names(nn.BatchNorm1d(2, track_running_stats=False)) == ["weight", "bias"]


def test_clients_keep_their_batch_norms_and_share_the_rest():
    clients, task = toy.toy_clients(SIZES), toy.batch_norm_task()
    algorithm = FedBN(WHOLE)
    state, fleet = toy.run(algorithm, clients, 2, task=task)
    names = set(batch_norm_names(task.model))
    own = [algorithm.personal(task, state.server, fleet.memories[k], clients[k], None)
           for k in range(3)]  # fmt: skip
    for name, value in state.server["weights"].items():
        assert all(torch.equal(each[name], value) for each in own) == (name not in names)


def test_the_second_round_goes_on_from_the_clients_own_batch_norms():
    """By hand: train, average all but batch norms, train again from each client's own."""
    clients, task = toy.toy_clients(SIZES), toy.batch_norm_task()
    state, _ = toy.run(FedBN(WHOLE), clients, 2, task=task)
    names, shares = batch_norm_names(task.model), state.weights
    starts = [task.weights()] * 3
    for _ in range(2):
        ends = [
            FedAvg(WHOLE).client_update(task, {"weights": start}, {}, client, None)[0]["weights"]
            for start, client in zip(starts, clients, strict=True)
        ]
        mean = {
            name: sum(w * end[name] for w, end in zip(shares, ends, strict=True))
            for name in ends[0]
        }
        starts = [mean | {name: end[name] for name in names} for end in ends]
    assert toy.furthest(state.server["weights"], mean) < 1e-14


def test_a_client_without_memory_begins_with_the_servers_batch_norms():
    task = toy.batch_norm_task()
    server = {"weights": task.weights()}
    found = FedBN(WHOLE).personal(task, server, {}, toy.toy_clients()[0], None)
    assert toy.same(found, task.weights())


def test_it_differs_from_fedavg_where_there_are_batch_norms():
    clients = toy.toy_clients(SIZES)
    found, plain = (
        toy.weights_after(kind(WHOLE), clients, task=toy.batch_norm_task())
        for kind in (FedBN, FedAvg)
    )
    assert not toy.same(found, plain)
