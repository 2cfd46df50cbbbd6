"""The written-out pass is the general one, and is taken only where it is."""

import pytest
import torch
from torch import nn

from firecv.fisher import STRUCTURES, gradient_and_fisher
from firecv.fisher.capture import plan_of
from firecv.fisher.perceptron import Perceptron
from firecv.models import Task, federated_mlp, table_mlp
from firecv.seeding import derive_torch

PLAIN = [
    (lambda: table_mlp(5, 3, derive_torch(0, "w")), (7, 5)),
    (lambda: federated_mlp((1, 3, 3), 4, derive_torch(0, "w")), (6, 1, 3, 3)),
    (lambda: nn.Sequential(nn.Linear(4, 3, bias=False), nn.ReLU(), nn.Linear(3, 2)), (5, 4)),
    (lambda: nn.Sequential(nn.Linear(4, 2)), (5, 4)),
]
OTHER = [
    lambda: nn.Linear(4, 2),
    lambda: nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)),
    lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU()),
    lambda: nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2)),
    lambda: nn.Sequential(nn.Flatten(2), nn.Linear(4, 2)),
    lambda: nn.Sequential(nn.Linear(4, 3), nn.Dropout(), nn.Linear(3, 2)),
]


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
@pytest.mark.parametrize(("build", "shape"), PLAIN)
def test_it_equals_the_general_pass(build, shape, structure, monkeypatch) -> None:
    if structure.name in ("dense", "block") and shape[0] == 6:
        pytest.skip("too large for a dense matrix")
    task = Task(build().double())
    x = torch.randn(*shape, generator=derive_torch(0, "x"), dtype=torch.float64)
    y = torch.arange(len(x)) % 2
    assert plan_of(task).perceptron is not None
    fast = gradient_and_fisher(structure, task, (x, y))
    monkeypatch.setattr(Perceptron, "applies", lambda self, x: False)
    slow = gradient_and_fisher(structure, task, (x, y))
    torch.testing.assert_close(fast.loss, slow.loss)
    for name, value in slow.gradient.items():
        torch.testing.assert_close(fast.gradient[name], value)
    for name, value in slow.fisher.diagonal().items():
        torch.testing.assert_close(fast.fisher.diagonal()[name], value, atol=1e-14, rtol=1e-8)


@pytest.mark.parametrize("build", OTHER)
def test_anything_else_is_left_to_the_general_pass(build) -> None:
    assert plan_of(Task(build())).perceptron is None


def test_frozen_or_repeated_layers_are_left_to_the_general_pass() -> None:
    frozen = table_mlp(5, 2, derive_torch(0, "w"))
    frozen[0].bias.requires_grad_(False)
    assert plan_of(Task(frozen)).perceptron is None
    layer = nn.Linear(4, 4)
    assert plan_of(Task(nn.Sequential(layer, nn.ReLU(), layer))).perceptron is None


def test_inputs_of_another_kind_are_left_to_the_general_pass() -> None:
    perceptron = plan_of(Task(table_mlp(5, 2, derive_torch(0, "w")))).perceptron
    assert perceptron is not None and perceptron.applies(torch.zeros(3, 5))
    assert not perceptron.applies(torch.zeros(3, 5, dtype=torch.float64))
    assert not perceptron.applies(torch.zeros(3, 2, 5))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not perceptron.applies(torch.zeros(3, 5))
