"""Arithmetic on ``dict[str, Tensor]``: parameters, gradients, diagonals.

Functions are total and keyed by name: a missing or extra key is an error, not a skip.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from firecv.errors import StructureError

Tree = dict[str, Tensor]


def add(a: Tree, b: Tree) -> Tree:
    """Return ``a + b``, entry by entry.

    Examples
    --------
    >>> add({"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([10.0, 20.0])})
    {'w': tensor([11., 22.])}
    """
    return combine(torch.add, a, b)


def sub(a: Tree, b: Tree) -> Tree:
    """Return ``a - b``, entry by entry."""
    return combine(torch.sub, a, b)


def mul(a: Tree, b: Tree) -> Tree:
    """Return the entrywise product of `a` and `b`."""
    return combine(torch.mul, a, b)


def scale(a: Tree, factor: float | Tensor) -> Tree:
    """Return `a` times one number.

    Examples
    --------
    >>> scale({"w": torch.tensor([1.0, 2.0])}, 3)
    {'w': tensor([3., 6.])}
    """
    return {name: value * factor for name, value in a.items()}


def dot(a: Tree, b: Tree) -> Tensor:
    """Return the inner product over all entries, differentiable in both.

    Examples
    --------
    >>> dot({"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([3.0, 4.0])})
    tensor(11.)
    """
    return total(mul(a, b))


def total(a: Tree) -> Tensor:
    """Return the sum of all entries."""
    return torch.stack([value.sum() for value in a.values()]).sum()


def squared_distance(a: Tree, b: Tree) -> Tensor:
    """Return the squared Euclidean distance between `a` and `b`.

    Examples
    --------
    >>> squared_distance({"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([4.0, 6.0])})
    tensor(25.)
    """
    difference = sub(a, b)
    return dot(difference, difference)


def zeros_like(a: Tree) -> Tree:
    """Return zeros of the same names, shapes, dtypes and devices."""
    return {name: torch.zeros_like(value) for name, value in a.items()}


def copies(a: Tree) -> Tree:
    """Return copies of all entries, cut off from any graph."""
    return {name: value.detach().clone() for name, value in a.items()}


def weighted_mean(trees: Sequence[Tree], weights: Sequence[float]) -> Tree:
    """Return the mean of `trees` with `weights`, which need not sum to one.

    Examples
    --------
    >>> weighted_mean([{"w": torch.tensor([0.0])}, {"w": torch.tensor([4.0])}], [1, 3])
    {'w': tensor([3.])}
    """
    if len(trees) != len(weights) or not trees:
        raise StructureError(
            f"weighted_mean needs one weight per tree and at least one tree; "
            f"got {len(trees)} trees and {len(weights)} weights"
        )
    mass = float(sum(weights))
    if not mass > 0:
        raise StructureError(f"weighted_mean needs weights with a positive sum, got {mass}")
    result = scale(trees[0], weights[0] / mass)
    for tree, weight in zip(trees[1:], weights[1:], strict=True):
        result = add(result, scale(tree, weight / mass))
    return result


def largest(a: Tree) -> Tensor:
    """Return the largest entry of all.

    Examples
    --------
    >>> largest({"w": torch.tensor([1.0, 5.0]), "b": torch.tensor([3.0])})
    tensor(5.)
    """
    return torch.stack([value.max() for value in a.values() if value.numel()]).max()


def size(a: Tree) -> int:
    """Return the number of entries.

    Examples
    --------
    >>> size({"w": torch.zeros(3, 2), "b": torch.zeros(3)})
    9
    """
    return sum(value.numel() for value in a.values())


def combine(function: Callable[[Tensor, Tensor], Tensor], a: Tree, b: Tree) -> Tree:
    """Return ``function`` of each pair of entries of the same name and shape."""
    check_match(a, b)
    return {name: function(value, b[name]) for name, value in a.items()}


def check_match(a: Tree, b: Tree) -> None:
    """Raise `StructureError` unless both have the same names and shapes."""
    if a.keys() != b.keys():
        missing, extra = sorted(a.keys() - b.keys()), sorted(b.keys() - a.keys())
        raise StructureError(
            f"two trees with different names: missing in the second {missing}, "
            f"only in the second {extra}; both must come from the same model and trainable names"
        )
    for name, value in a.items():
        if value.shape != b[name].shape:
            raise StructureError(
                f"entry {name!r} has shape {tuple(value.shape)} in the first tree and "
                f"{tuple(b[name].shape)} in the second; both must come from the same model"
            )
