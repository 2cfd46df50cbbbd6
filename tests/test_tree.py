"""Arithmetic on trees, and its refusal of trees that do not match."""

import pytest
import torch

from firecv import tree
from firecv.errors import StructureError


def test_weighted_mean_by_hand() -> None:
    trees = [{"a": torch.tensor([1.0, 2.0])}, {"a": torch.tensor([5.0, 6.0])}]
    assert torch.equal(tree.weighted_mean(trees, [3, 1])["a"], torch.tensor([2.0, 3.0]))


def test_dot_is_differentiable_in_both() -> None:
    a = {"w": torch.tensor([1.0, 2.0], requires_grad=True)}
    b = {"w": torch.tensor([3.0, 4.0], requires_grad=True)}
    tree.dot(a, b).backward()
    assert torch.equal(a["w"].grad, b["w"].detach())
    assert torch.equal(b["w"].grad, a["w"].detach())


def test_a_missing_name_is_an_error_that_names_it() -> None:
    with pytest.raises(StructureError, match="missing in the second.*'b'"):
        tree.add({"a": torch.zeros(1), "b": torch.zeros(1)}, {"a": torch.zeros(1)})


def test_another_shape_is_an_error_not_a_broadcast() -> None:
    with pytest.raises(StructureError, match=r"'a' has shape \(2,\).*\(1,\)"):
        tree.sub({"a": torch.zeros(2)}, {"a": torch.zeros(1)})


@pytest.mark.parametrize("weights", [[1.0], [0.0, 0.0], []])
def test_weighted_mean_refuses_bad_weights(weights: list[float]) -> None:
    with pytest.raises(StructureError):
        tree.weighted_mean([{"a": torch.zeros(1)}] * 2 if weights else [], weights)


def test_operations_leave_their_inputs_alone() -> None:
    a, b = {"w": torch.tensor([1.0])}, {"w": torch.tensor([2.0])}
    for operation in (tree.add, tree.sub, tree.mul, tree.squared_distance):
        operation(a, b)
    tree.scale(a, 3)
    assert a["w"].item() == 1 and b["w"].item() == 2
