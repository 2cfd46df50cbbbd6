from dataclasses import replace

import pytest
import torch
from torch import nn

from firecv.errors import ModelError
from firecv.federated.algorithms import FedAvg, FedFishr
from firecv.federated.algorithms.fedfishr import gradient_variance
from firecv.federated.outputs import features_at
from firecv.models import Task
from firecv.training import Training
from tests.federated.algorithms import toy
from tests.reference import gradient_of_log_likelihood

EARLY = FedFishr(toy.LOCAL, strength=10.0, n_rounds=4, warm_up_rate=0.0)


def test_no_strength_is_fedavg_bit_for_bit():
    clients = toy.odd_clients()
    found = toy.weights_after(replace(EARLY, strength=0.0), clients)
    assert toy.same(found, toy.weights_after(FedAvg(toy.LOCAL), clients))


@pytest.mark.parametrize(("warm_up_rate", "n_plain"), [(0.0, 1), (0.25, 1), (0.5, 2), (1.0, 4)])
def test_the_penalty_sets_in_after_a_share_of_the_rounds(warm_up_rate, n_plain):
    clients, algorithm = toy.toy_clients(), replace(EARLY, warm_up_rate=warm_up_rate)
    for n_rounds in (1, 2, 3, 4):
        found = toy.weights_after(algorithm, clients, n_rounds)
        plain = toy.weights_after(FedAvg(toy.LOCAL), clients, n_rounds)
        assert toy.same(found, plain) == (n_rounds <= n_plain)


def test_the_variance_is_that_of_gradients_of_single_samples():
    task, (x, y) = toy.toy_task(), toy.toy_clients()[2].data
    found = gradient_variance(*features_at(task, task.weights(), x), y)
    rows = [gradient_of_log_likelihood(task, *each) for each in zip(x, y.tolist(), strict=True)]
    for name in ("weight", "bias"):
        expected = torch.stack([row[f"2.{name}"] for row in rows]).var(0, correction=0)
        assert (found[name] - expected).abs().max() < 1e-15


def test_the_variance_of_one_sample_is_zero():
    task, (x, y) = toy.toy_task(), toy.odd_clients()[1].data
    found = gradient_variance(*features_at(task, task.weights(), x), y)
    assert all(value.abs().max() < 1e-15 for value in found.values())


def test_the_server_keeps_the_mean_variance_at_the_weights_that_clients_send():
    algorithm, clients, task = replace(EARLY, local=toy.ONE_STEP), toy.toy_clients(), toy.toy_task()
    state, _ = toy.run(algorithm, clients, 1, task=task)
    expected = {"weight": 0, "bias": 0}
    for client, share in zip(clients, state.weights, strict=True):
        x, y = client.data
        sent = toy.weights_after(FedAvg(toy.ONE_STEP), [client], 1, task=task)
        own = gradient_variance(*features_at(task, sent, x), y)
        expected = {name: total + share * own[name] for name, total in expected.items()}
    assert toy.furthest(state.server["variance"], expected) < 1e-15


def test_one_step_equals_that_of_the_loss_written_out():
    """v is taken over single samples by autograd, and the penalty through it."""
    algorithm = replace(EARLY, local=Training(1, None, 0.2, "sgd"), strength=50.0)
    task, client = toy.toy_task(), toy.toy_clients()[0]
    target = {"weight": torch.full((3, 6), 0.1).double(), "bias": torch.full((3,), 0.2).double()}
    server = {"weights": task.weights(), "variance": target, "round": 1.0}
    upload, _ = algorithm.client_update(task, server, {}, client, torch.Generator())

    params, (x, y) = task.parameters(), client.data
    head = {name: params[f"2.{name}"] for name in target}
    rows = []
    for i in range(len(y)):
        loss = task.loss((x[i : i + 1], y[i : i + 1]))
        rows.append(torch.autograd.grad(loss, list(head.values()), create_graph=True))
    total, size = task.loss(client.data), 21
    for column, goal in zip(zip(*rows, strict=True), target.values(), strict=True):
        variance = torch.stack(column).var(0, correction=0)
        total = total + 50.0 / size * (variance - goal).square().sum()
    gradient = torch.autograd.grad(total, list(params.values()))
    expected = {n: p - 0.2 * g for (n, p), g in zip(params.items(), gradient, strict=True)}
    assert toy.furthest(upload["weights"], expected) < 1e-14


def test_identical_clients_have_nothing_to_pay_at_the_weights_they_are_sent():
    algorithm = replace(EARLY, local=toy.ONE_STEP, strength=1000.0)
    clients = toy.same_clients(3)
    found = toy.weights_after(algorithm, clients)
    assert toy.furthest(found, toy.weights_after(FedAvg(toy.ONE_STEP), clients)) < 1e-12


def test_a_head_without_bias_has_no_variance_of_it():
    with torch.random.fork_rng():
        layers = nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3, bias=False)
        task = Task(nn.Sequential(*layers).double())
    state, _ = toy.run(EARLY, toy.toy_clients(), 2, task=task)
    assert state.server["variance"].keys() == {"weight"}


def test_a_model_that_does_not_end_in_its_last_linear_layer_is_refused():
    with torch.random.fork_rng():
        layers = nn.Linear(4, 4), nn.Unflatten(1, (2, 2)), nn.Linear(2, 2), nn.Flatten()
        task = Task(nn.Sequential(*layers).double())
    server = EARLY.init(task, None)
    with pytest.raises(ModelError, match="scores are the outputs of that layer"):
        EARLY.client_update(task, server, {}, toy.toy_clients()[0], torch.Generator())


@pytest.mark.parametrize(
    "settings", [{"strength": -1.0}, {"n_rounds": 0}, {"warm_up_rate": 1.1}], ids=str
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(ModelError, match=next(iter(settings))):
        FedFishr(**settings)
