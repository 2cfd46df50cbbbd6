"""How good weights are, by the slow way too."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from firecv.errors import DataError
from firecv.federated import Client
from firecv.federated.algorithms import FedAvg, FedBN
from firecv.federated.evaluation import (
    JUDGED,
    check_sets,
    client_scores,
    for_judging,
    judged,
    plausible,
    score,
)
from firecv.models import Task
from tests.federated.small import data, network, same


@pytest.mark.parametrize("n", [1, 7, 1024, 2500])
def test_scores_are_those_of_one_pass(n):
    task = Task(network().double())
    x, y = data(n)
    x = x.double()
    with torch.no_grad():
        scores = task.model(x)
    found = score(task, task.weights(), (x, y))
    assert found.accuracy == pytest.approx(float((scores.argmax(1) == y).double().mean()))
    assert found.loss == pytest.approx(float(functional.cross_entropy(scores, y)), rel=1e-12)


def test_batch_norm_uses_its_statistics_and_keeps_them():
    task = Task(network(batch_norm=True).train())
    weights = task.weights() | {
        "1.running_mean": torch.full((6,), 0.3),
        "1.running_var": torch.full((6,), 2.0),
    }
    own, kept = task.weights(), {n: v.clone() for n, v in weights.items()}
    x, y = data(30)
    one_by_one = [score(task, weights, (x[i : i + 1], y[i : i + 1])).loss for i in range(30)]
    assert score(task, weights, (x, y)).loss == pytest.approx(sum(one_by_one) / 30, rel=1e-5)
    assert same(weights, kept) and same(task.weights(), own)
    assert task.model.training


def test_the_models_own_weights_do_not_matter():
    one, other = Task(network()), Task(nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)))
    weights = one.weights()
    assert score(one, weights, data(20)) == score(other, weights, data(20))


def test_what_an_algorithm_wants_judged_is_judged():
    class Other(FedAvg):
        def judged(self, server):
            return server["mean"]

    weights, mean = {"a": torch.zeros(1)}, {"a": torch.ones(1)}
    server = {"weights": weights, "mean": mean}
    assert judged(FedAvg(), server) is weights and judged(Other(), server) is mean
    assert for_judging(FedAvg(), server, server) is server
    assert for_judging(Other(), server, {"weights": weights})[JUDGED] is mean


def test_a_client_judges_on_its_own_test_set():
    task = Task(network())
    client = Client(data(20), test=data(50, 3))
    other = {name: value * 0 for name, value in task.weights().items()}
    rng = torch.Generator()
    server = {"weights": task.weights(), JUDGED: other}
    found = client_scores(FedAvg(), task, server, {}, client, rng)
    wanted = score(task, other, client.test)
    assert found == {"accuracy": wanted.accuracy, "loss": wanted.loss, "n": 50.0}
    assert client_scores(FedAvg(), task, server, {}, Client(data(20)), rng) == {}


def test_a_client_with_weights_of_its_own_judges_those_too():
    task = Task(network(batch_norm=True).eval())
    client = Client(data(20), test=data(50, 3))
    algorithm, server = FedBN(), {"weights": task.weights()}
    _, memory = algorithm.client_update(task, server, {}, client, torch.Generator())
    found = client_scores(algorithm, task, server, memory, client, torch.Generator())
    personal = algorithm.personal(task, server, memory, client, torch.Generator())
    assert found["personal_loss"] == score(task, personal, client.test).loss != found["loss"]


def test_scores_that_cannot_be_true_are_dropped():
    told = {"accuracy": 2.0, "loss": -1.0, "personal_accuracy": 0.5, "n": float("inf"), "x": {}}
    assert plausible(told) == {"personal_accuracy": 0.5}


@pytest.mark.parametrize("n", [0, 3])
def test_sets_without_samples_or_labels_are_named(n):
    x, y = data(5)
    with pytest.raises(DataError, match=f"'test' has {n} samples and 5 labels"):
        check_sets({"test": (x[:n], y)})
    with pytest.raises(DataError, match="no samples"):
        score(Task(network()), Task(network()).weights(), (x[:0], y[:0]))
