"""A network taken apart after its first linear layer, and networks that cannot be."""

import pytest
import torch
from torch import nn

from firecv.models import Task, cnn, federated_mlp, leading_linear
from firecv.seeding import derive_torch

X = torch.randn(5, 2, 3, generator=derive_torch(0, "x"))


@pytest.mark.parametrize("bias", [True, False])
def test_the_parts_together_are_the_network(bias):
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(6, 4, bias=bias), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 3)
    ).eval()
    first = leading_linear(Task(model), X)
    assert first is not None
    assert first.names == (("1.weight", "1.bias") if bias else ("1.weight",))
    weights = {name: value + 0.1 for name, value in Task(model).weights().items()}
    outputs = first.inputs @ weights["1.weight"].T + (weights["1.bias"] if bias else 0)
    expected = Task(model).scores(X, weights)
    torch.testing.assert_close(first.scores(outputs, weights), expected)


def test_a_layer_that_stands_at_two_places_counts_at_both():
    relu, flatten = nn.ReLU(), nn.Flatten()
    layers = [nn.Linear(6, 4), relu, nn.Linear(4, 4), relu, nn.Linear(4, 3)]
    model = nn.Sequential(flatten, flatten, *layers)
    first = leading_linear(Task(model), X)
    assert first is not None and first.weight == "2.weight"
    outputs = model[2](first.inputs)
    assert torch.equal(first.scores(outputs, Task(model).weights()), model(X))


def test_the_network_for_clients_begins_with_a_linear_layer():
    task = Task(federated_mlp((2, 3), 3, derive_torch(0, "weights")))
    first = leading_linear(task, X)
    assert first is not None and first.inputs.shape == (5, 6)


def test_a_single_layer_has_nothing_after_it():
    model = nn.Sequential(nn.Linear(3, 2))
    first = leading_linear(Task(model), X[:, 0])
    assert first is not None
    outputs = model(X[:, 0])
    assert torch.equal(first.scores(outputs, Task(model).weights()), outputs)


class Doubled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


def hooked(place):
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))
    module = model if place == "model" else model[0]
    module.register_forward_hook(lambda module, inputs, output: 2 * output)
    return model


def shared():
    layer = nn.Linear(3, 3)
    other = nn.Linear(3, 3)
    other.weight = layer.weight
    return nn.Sequential(layer, nn.ReLU(), other)


def repeated():
    layer = nn.Linear(3, 3)
    return nn.Sequential(layer, nn.ReLU(), layer)


@pytest.mark.parametrize(
    "model",
    [
        nn.Linear(3, 2),
        nn.Sequential(nn.ReLU(), nn.Linear(3, 2)),
        nn.Sequential(Doubled(3, 2)),
        nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))),
        hooked("model"),
        hooked("layer"),
        shared(),
        repeated(),
    ],
    ids=["bare", "relu", "subclass", "parametrized", "hook", "layer hook", "shared", "repeated"],
)
def test_whatever_else_could_happen_to_the_layer_it_is_left_alone(model):
    assert leading_linear(Task(model), X[:, 0]) is None


def test_convolutions_and_sequences_are_left_alone():
    images = torch.zeros(2, 1, 28, 28)
    assert leading_linear(Task(cnn((1, 28, 28), 10, derive_torch(0, "weights"))), images) is None
    assert leading_linear(Task(nn.Sequential(nn.Linear(3, 2))), X) is None
