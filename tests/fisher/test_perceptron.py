"""The written-out pass is the general one, and is taken only where it is."""

import pytest
import torch
from torch import nn

from firecv.fisher import (
    STRUCTURES,
    differentiable_diagonal,
    differentiable_trace,
    gradient_and_fisher,
)
from firecv.fisher.capture import plan_of
from firecv.fisher.differentiable import exact_squares
from firecv.fisher.perceptron import Perceptron
from firecv.fisher.watch import Watch
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


def slopes(task: Task, *values: torch.Tensor) -> list[torch.Tensor]:
    params = list(task.parameters().values())
    masks = [torch.linspace(0.5, 1.5, v.numel(), dtype=v.dtype).view_as(v) for v in values]
    total = torch.stack([(v * mask).sum() for v, mask in zip(values, masks, strict=True)]).sum()
    return list(torch.autograd.grad(total, params, materialize_grads=True))


@pytest.mark.parametrize("scale", [1.0, 1e3])
@pytest.mark.parametrize(("build", "shape"), PLAIN)
def test_live_exact_squares_equal_the_general_pass(build, shape, scale, monkeypatch) -> None:
    task = Task(build().double())
    with torch.no_grad():
        task.model[-1].weight.mul_(scale)  # large scores make probabilities 0
    x = torch.randn(*shape, generator=derive_torch(0, "x"), dtype=torch.float64)
    watch = Watch(task)  # looks, and is no reason to take the general pass
    assert exact_squares(task, x, "exact") is not None
    fast = differentiable_trace(task, x, law="exact").trace
    diagonal = differentiable_diagonal(task, x, law="exact").diagonal
    fast_slopes = slopes(task, fast, *(diagonal[name] for name in sorted(diagonal)))
    monkeypatch.setattr(Perceptron, "applies", lambda self, x: False)
    slow = differentiable_trace(task, x, law="exact").trace
    torch.testing.assert_close(fast, slow)
    general = differentiable_diagonal(task, x, law="exact").diagonal
    for name, value in general.items():
        torch.testing.assert_close(diagonal[name], value)
    slow_slopes = slopes(task, slow, *(general[name] for name in sorted(general)))
    for found, wanted in zip(fast_slopes, slow_slopes, strict=True):
        torch.testing.assert_close(found, wanted, atol=1e-9, rtol=1e-7)
    watch.stop()


def test_other_laws_and_touched_models_are_left_to_the_general_pass() -> None:
    task, x = Task(table_mlp(5, 3, derive_torch(0, "w"))), torch.zeros(4, 5)
    assert exact_squares(task, x, "empirical") is None
    hook = task.model.register_forward_hook(lambda model, args, output: 2 * output)
    assert exact_squares(task, x, "exact") is None
    hook.remove()
    assert exact_squares(task, x, "exact") is not None


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
