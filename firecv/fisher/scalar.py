"""The scalar Fisher: the mean of the diagonal times the identity."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor

from firecv import tree
from firecv.fisher.base import check_factor, check_same, metric
from firecv.fisher.layers.contract import LayerGradients
from firecv.fisher.shapes import check_shapes, shapes_from_tree, shapes_to_tree
from firecv.tree import Tree


@final
@dataclass(frozen=True, eq=False)
class Scalar:
    """One number, trace / d, standing for every direction alike.

    Parameters
    ----------
    value
        The number, a tensor without axes.
    shapes
        Names and shapes of the parameters.

    Examples
    --------
    >>> fisher = Scalar(torch.tensor(2.0), {"w": torch.Size([3])})
    >>> fisher.trace()
    tensor(6.)
    """

    value: Tensor
    shapes: dict[str, torch.Size]
    name: ClassVar[str] = "scalar"
    mixes_exactly: ClassVar[bool] = True

    @classmethod
    def zeros(cls, params: Tree) -> "Scalar":
        """Return the zero matrix."""
        shapes = {name: value.shape for name, value in params.items()}
        return cls(next(iter(params.values())).detach().new_zeros(()), shapes)

    @classmethod
    def from_layers(cls, layers: Sequence[LayerGradients]) -> "Scalar":
        """Return the sum of squared gradient norms, spread over all directions."""
        norms = torch.stack([layer.norms().sum() for layer in layers]).sum()
        shapes = {name: shape for layer in layers for name, shape in layer.shapes.items()}
        return cls(norms / sum(shape.numel() for shape in shapes.values()), shapes)

    def matvec(self, v: Tree) -> Tree:
        """Return F v."""
        check_shapes(self.shapes, v)
        return tree.scale(v, self.value)

    def resolvent(self, v: Tree, t: float | Tree) -> Tree:
        """Return (I + t F)^-1 v."""
        check_shapes(self.shapes, v)
        step = metric(t, v)
        return {name: value / (1 + step[name] * self.value) for name, value in v.items()}

    def diagonal(self) -> Tree:
        """Return the number for every parameter, as views without memory."""
        return {name: self.value.expand(shape) for name, shape in self.shapes.items()}

    def trace(self) -> Tensor:
        """Return the number times the number of parameters."""
        return self.value * sum(shape.numel() for shape in self.shapes.values())

    def largest_eigenvalue(self) -> Tensor:
        """Return the number."""
        return self.value

    def __add__(self, other: "Scalar") -> "Scalar":
        """Return the sum."""
        check_same(self, other)
        check_shapes(self.shapes, other.diagonal())
        return Scalar(self.value + other.value, self.shapes)

    def __mul__(self, factor: float) -> "Scalar":
        """Return the product with a number."""
        return Scalar(self.value * check_factor(factor), self.shapes)

    def to_tree(self) -> Tree:
        """Return the number and the shapes."""
        return {"value": self.value} | shapes_to_tree(self.shapes)

    @classmethod
    def from_tree(cls, arrays: Tree) -> "Scalar":
        """Return the Fisher of these arrays."""
        return cls(arrays["value"], shapes_from_tree(arrays))
