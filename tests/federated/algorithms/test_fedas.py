import copy

import pytest
import torch
from torch.nn import functional

from firecv.federated import Client
from firecv.federated.algorithms import FedAS, FedAvg
from firecv.federated.algorithms.fedas import squared_gradients
from firecv.federated.contract import Cohort
from firecv.federated.uploads import Upload, Uploads
from firecv.training import Training
from tests.federated.algorithms import toy

HEAD = ("2.weight", "2.bias")


def averaged(informations, shares=(0.25, 0.75)):
    values = 1.0, 5.0
    uploads = [
        Upload(k, share, {"weights": {"a": torch.tensor([value])}, "information": t})
        for k, (share, value, t) in enumerate(zip(shares, values, informations, strict=True))
    ]
    cohort = Cohort(1, (0, 1), tuple(shares))
    return FedAS().server_update(None, {}, Uploads(uploads), cohort, None)["weights"]["a"].item()


def test_clients_train_in_the_first_round_as_with_fedavg_bit_for_bit():
    clients = toy.toy_clients((9,))
    state, fleet = toy.run(FedAS(toy.LOCAL), clients, 1)
    plain = toy.weights_after(FedAvg(toy.LOCAL), clients, 1)
    assert toy.same(fleet.memories[0]["weights"], plain)
    assert toy.furthest(state.server["weights"], plain) < 1e-15


def test_clients_count_by_their_share_times_their_information():
    assert averaged([3.0, 1.0]) == pytest.approx((0.25 * 3 * 1 + 0.75 * 1 * 5) / 1.5)


@pytest.mark.parametrize("information", [2.0, 1e-9, 0.0])
def test_equal_information_is_the_mean_of_fedavg(information):
    assert averaged([information] * 2) == pytest.approx(4.0)


def test_a_client_without_any_gradient_hardly_counts_beside_others():
    assert averaged([0.0, 1.0]) == pytest.approx(5.0)


@pytest.mark.parametrize("size", [None, 1, 4])
def test_information_is_the_squared_norm_of_gradients_of_batches(size):
    task, (x, y) = toy.toy_task(), toy.toy_clients()[0].data
    found = squared_gradients(task, task.weights(), (x, y), size)
    expected = 0.0
    for rows in torch.arange(len(y)).split(size or len(y)):
        gradient = torch.autograd.grad(task.loss((x[rows], y[rows])), list(task.model.parameters()))
        expected += sum(float((g**2).sum()) for g in gradient)
    assert found == pytest.approx(expected / len(y), rel=1e-12)


def test_with_shares_by_size_clients_count_by_the_sum_over_their_batches():
    """The paper's weights are t_k alone; t_k / n_k times n_k / N says the same."""
    clients, local = toy.toy_clients((8, 4)), Training(1, 4, 0.1, "sgd")
    task = toy.toy_task()
    uploads = [
        FedAS(local).client_update(task, {"weights": task.weights()}, {}, client, rng)[0]
        for client, rng in zip(clients, (torch.Generator(), torch.Generator()), strict=True)
    ]
    sums = [u["information"] * len(c) for u, c in zip(uploads, clients, strict=True)]
    shares = (8 / 12, 4 / 12)
    answers = [Upload(k, shares[k], upload) for k, upload in enumerate(uploads)]
    cohort = Cohort(1, (0, 1), shares)
    found = FedAS(local).server_update(task, {}, Uploads(answers), cohort, None)["weights"]
    expected = {
        name: sum(t / sum(sums) * u["weights"][name] for t, u in zip(sums, uploads, strict=True))
        for name in found
    }
    assert toy.furthest(found, expected) < 1e-14


def test_the_second_round_equals_the_one_written_out():
    alignment, local = Training(1, None, 0.4, "sgd"), Training(1, None, 0.2, "sgd")
    algorithm, client = FedAS(local, alignment), toy.odd_clients()[0]
    task, (x, y) = toy.toy_task(), client.data
    former = toy.weights_after(algorithm, toy.toy_clients()[1:], 1)
    upload, memory = algorithm.client_update(
        task, {"weights": task.weights()}, {"weights": former}, client, torch.Generator()
    )
    own, model = copy.deepcopy(task.model), copy.deepcopy(task.model)
    own.load_state_dict(former)
    model[2].load_state_dict(own[2].state_dict())
    with torch.no_grad():
        prototypes = {c: own[:2](x[y == c]).mean(0) for c in y.unique().tolist()}
    loss = 0
    for c, prototype in prototypes.items():
        rows = model[:2](x[y == c])
        loss = loss + functional.mse_loss(rows, prototype.expand_as(rows))
    for rate, objective in (
        (0.4, lambda: loss),
        (0.2, lambda: functional.cross_entropy(model(x), y)),
    ):
        optimiser = torch.optim.SGD(model.parameters(), rate)
        optimiser.zero_grad()
        objective().backward()
        optimiser.step()
    assert toy.furthest(upload["weights"], dict(model.named_parameters())) < 1e-14
    assert toy.same(memory, {"weights": upload["weights"]})


def test_aligning_leaves_the_clients_head_as_it_is():
    """Training that hardly moves anything shows the weights it began with."""
    still = Training(1, None, 1e-12, "sgd")
    algorithm = FedAS(still, Training(3, None, 0.5, "sgd"))
    task, client = toy.toy_task(), toy.toy_clients()[0]
    former = toy.weights_after(FedAvg(toy.LOCAL), toy.toy_clients(), 1)
    upload, _ = algorithm.client_update(
        task, {"weights": task.weights()}, {"weights": former}, client, torch.Generator()
    )
    for name, value in upload["weights"].items():
        is_own = (value - former[name]).abs().max() < 1e-10
        assert is_own == (name in HEAD)
        assert (value - task.weights()[name]).abs().max() > 1e-3


def test_where_features_are_their_own_class_means_a_single_client_trains_alone():
    """One sample of each class: there is nothing to align."""
    clients = [Client((torch.randn(3, 4, dtype=torch.float64, generator=torch.Generator()),
                       torch.arange(3)))]  # fmt: skip
    local = Training(4, None, 0.3, "sgd")
    found = toy.weights_after(FedAS(local), clients)
    assert toy.furthest(found, toy.weights_after(FedAvg(local), clients)) < 1e-14


def test_personal_weights_are_those_after_the_clients_last_training():
    clients, task, algorithm = toy.toy_clients(), toy.toy_task(), FedAS(toy.LOCAL)
    state, fleet = toy.run(algorithm, clients, 2, task=task)
    memory = fleet.memories[1]
    found = algorithm.personal(task, state.server, memory, clients[1], torch.Generator())
    assert toy.same(found, memory["weights"])
    assert not toy.same(found, state.server["weights"])
    new = algorithm.personal(task, state.server, {}, clients[1], torch.Generator())
    assert toy.same(new, state.server["weights"])
