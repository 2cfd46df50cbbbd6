import copy

import torch
from torch.nn import functional

from firecv.federated.algorithms import FedAvg, LfD
from firecv.training import Training
from tests.federated.algorithms import toy


def test_no_strength_is_fedavg_bit_for_bit():
    clients = toy.odd_clients()
    found = toy.weights_after(LfD(toy.LOCAL, 0.0), clients)
    assert toy.same(found, toy.weights_after(FedAvg(toy.LOCAL), clients))


def test_the_first_round_is_fedavg_bit_for_bit_and_the_second_is_not():
    clients = toy.odd_clients()
    for n_rounds in (1, 2):
        found = toy.weights_after(LfD(toy.LOCAL), clients, n_rounds)
        plain = toy.weights_after(FedAvg(toy.LOCAL), clients, n_rounds)
        assert toy.same(found, plain) == (n_rounds == 1)


def test_a_single_client_does_not_drift():
    clients = toy.toy_clients((9,))
    found = toy.weights_after(LfD(toy.LOCAL), clients)
    assert toy.same(found, toy.weights_after(FedAvg(toy.LOCAL), clients))


def test_identical_clients_do_not_drift():
    clients = toy.same_clients(3)
    local = Training(3, None, 0.3, "sgd")
    found = toy.weights_after(LfD(local), clients)
    assert toy.furthest(found, toy.weights_after(FedAvg(local), clients)) < 1e-13


def test_two_steps_equal_those_with_the_drift_written_out():
    algorithm = LfD(Training(2, None, 0.3, "sgd"), 0.5)
    task, client = toy.toy_task(), toy.odd_clients()[2]  # one class: two have no samples
    former = toy.weights_after(algorithm, toy.toy_clients(), 1)
    upload, memory = algorithm.client_update(
        task, {"weights": task.weights()}, {"weights": former}, client, torch.Generator()
    )
    (x, y), own, before = client.data, copy.deepcopy(task.model), copy.deepcopy(task.model)
    before.load_state_dict(former)
    with torch.no_grad():
        drift = torch.zeros(3, 3, dtype=torch.float64)
        for c in y.unique().tolist():
            drift[c] = (before(x[y == c]) - task.model(x[y == c])).mean(0)
    optimiser = torch.optim.SGD(own.parameters(), 0.3)
    for _ in range(2):
        scores = own(x) + torch.stack([0.5 * drift[label] for label in y.tolist()])
        optimiser.zero_grad()
        functional.cross_entropy(scores, y).backward()
        optimiser.step()
    assert drift[2].abs().max() > 0.1
    assert toy.furthest(upload["weights"], dict(own.named_parameters())) < 1e-14
    assert toy.same(memory, {"weights": upload["weights"]})


def test_the_label_says_that_it_is_made_from_the_abstract():
    assert "re-implementation from abstract" in LfD.label
