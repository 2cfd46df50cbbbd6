"""The diagonal Fisher: one number per parameter, exact and cheap."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

from torch import Tensor

from firecv import tree
from firecv.fisher.base import check_factor, check_same, metric
from firecv.fisher.layers.contract import LayerGradients
from firecv.fisher.layers.linear import LinearGradients
from firecv.tree import Tree


@final
@dataclass(frozen=True, eq=False)
class Diagonal:
    """The diagonal of the Fisher; off-diagonal entries are dropped.

    Examples
    --------
    >>> import torch
    >>> fisher = Diagonal({"w": torch.tensor([1.0, 3.0])})
    >>> fisher.resolvent({"w": torch.tensor([1.0, 1.0])}, 1.0)
    {'w': tensor([0.5000, 0.2500])}
    """

    entries: Tree
    name: ClassVar[str] = "diagonal"
    mixes_exactly: ClassVar[bool] = True

    @classmethod
    def zeros(cls, params: Tree) -> "Diagonal":
        """Return the zero matrix."""
        return cls(tree.zeros_like(params))

    @classmethod
    def from_layers(cls, layers: Sequence[LayerGradients]) -> "Diagonal":
        """Return the sum of squared gradients."""
        return cls({name: v for layer in layers for name, v in layer.squares().items()})

    @classmethod
    def with_gradient(
        cls, layers: Sequence[LayerGradients], factor: float, onto: "Diagonal | None" = None
    ) -> tuple[Tree, "Diagonal"]:
        """Return the sum of gradients, and `factor` times the sum of squares, added to `onto`."""
        pairs = [_total_and_squares(layer, factor, onto) for layer in layers]
        gradient = {name: value for total, _ in pairs for name, value in total.items()}
        return gradient, cls({name: v for _, squares in pairs for name, v in squares.items()})

    def matvec(self, v: Tree) -> Tree:
        """Return F v."""
        return tree.mul(self.entries, v)

    def resolvent(self, v: Tree, t: float | Tree) -> Tree:
        """Return (I + t F)^-1 v."""
        step = metric(t, v)
        return {name: v[name] / (1 + step[name] * f) for name, f in self.entries.items()}

    def diagonal(self) -> Tree:
        """Return the entries."""
        return self.entries

    def trace(self) -> Tensor:
        """Return the sum of the entries."""
        return self._trace

    @cached_property
    def _trace(self) -> Tensor:  # asked for more than once in a training step
        return tree.total(self.entries)

    def largest_eigenvalue(self) -> Tensor:
        """Return the largest entry."""
        return self._largest_entry

    @cached_property
    def _largest_entry(self) -> Tensor:  # asked for in every step, as the trace is
        return tree.largest(self.entries)

    def __add__(self, other: "Diagonal") -> "Diagonal":
        """Return the sum."""
        check_same(self, other)
        return Diagonal(tree.add(self.entries, other.entries))

    def __mul__(self, factor: float) -> "Diagonal":
        """Return the product with a number."""
        return Diagonal(tree.scale(self.entries, check_factor(factor)))

    def to_tree(self) -> Tree:
        """Return the entries by name."""
        return dict(self.entries)

    @classmethod
    def from_tree(cls, arrays: Tree) -> "Diagonal":
        """Return the Fisher with these entries."""
        return cls(dict(arrays))


def _total_and_squares(
    layer: LayerGradients, factor: float, onto: Diagonal | None
) -> tuple[Tree, Tree]:
    if onto is None:
        return layer.total_and_squares(factor)
    if isinstance(layer, LinearGradients):  # its product can add as it goes
        return layer.total(), layer.squares_onto(onto.entries, factor)
    total, squares = layer.total_and_squares(factor)
    return total, {name: onto.entries[name] + value for name, value in squares.items()}
