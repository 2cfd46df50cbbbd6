"""The dense Fisher: every entry, for small models and as the reference."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import torch
from torch import Tensor

from firecv import tree
from firecv.fisher.base import check_factor, check_same, check_size, metric
from firecv.fisher.layers.contract import LayerGradients
from firecv.fisher.shapes import (
    Shapes,
    check_shapes,
    flatten,
    shapes_from_tree,
    shapes_to_tree,
    unflatten,
)
from firecv.fisher.spectrum import largest_eigenvalue
from firecv.tree import Tree

LARGEST_SIDE = 10_000
"""A dense matrix has at most this many rows (400 MB in float32)."""


@final
@dataclass(frozen=True, eq=False)
class Dense:
    """The whole matrix, parameters sorted by name.

    Examples
    --------
    >>> from firecv.fisher import from_gradients
    >>> from_gradients(Dense, {"w": torch.tensor([[1.0, 2.0], [3.0, 0.0]])}).matrix
    tensor([[5., 1.],
            [1., 2.]])
    """

    matrix: Tensor
    shapes: Shapes
    name: ClassVar[str] = "dense"
    mixes_exactly: ClassVar[bool] = True

    @classmethod
    def zeros(cls, params: Tree) -> "Dense":
        """Return the zero matrix."""
        check_size(cls.name, tree.size(params), LARGEST_SIDE)
        shapes = {name: params[name].shape for name in sorted(params)}
        side = tree.size(params)
        return cls(next(iter(params.values())).detach().new_zeros(side, side), shapes)

    @classmethod
    def from_layers(cls, layers: Sequence[LayerGradients]) -> "Dense":
        """Return the sum of outer products."""
        found = {name: shape for layer in layers for name, shape in layer.shapes.items()}
        check_size(cls.name, sum(shape.numel() for shape in found.values()), LARGEST_SIDE)
        shapes = {name: found[name] for name in sorted(found)}
        rows = {name: g for layer in layers for name, g in layer.materialise().items()}
        flat = flatten(rows, shapes, n_leading=1)
        return cls(flat.T @ flat, shapes)

    def matvec(self, v: Tree) -> Tree:
        """Return F v."""
        return unflatten(self.matrix @ flatten(v, self.shapes), self.shapes)

    def resolvent(self, v: Tree, t: float | Tree) -> Tree:
        """Return (I + t F)^-1 v by Cholesky."""
        step = flatten(metric(t, v), self.shapes)
        return unflatten(solve(self.matrix, flatten(v, self.shapes), step), self.shapes)

    def diagonal(self) -> Tree:
        """Return the diagonal."""
        return unflatten(self.matrix.diagonal(), self.shapes)

    def trace(self) -> Tensor:
        """Return the trace."""
        return self.matrix.trace()

    def largest_eigenvalue(self) -> Tensor:
        """Return the largest eigenvalue."""
        return self._largest_eigenvalue

    @cached_property
    def _largest_eigenvalue(self) -> Tensor:
        return largest_eigenvalue(self.matrix)

    def __add__(self, other: "Dense") -> "Dense":
        """Return the sum."""
        check_same(self, other)
        check_shapes(self.shapes, other.diagonal())
        return Dense(self.matrix + other.matrix, self.shapes)

    def __mul__(self, factor: float) -> "Dense":
        """Return the product with a number."""
        return Dense(self.matrix * check_factor(factor), self.shapes)

    def to_tree(self) -> Tree:
        """Return the matrix and the shapes."""
        return {"matrix": self.matrix} | shapes_to_tree(self.shapes)

    @classmethod
    def from_tree(cls, arrays: Tree) -> "Dense":
        """Return the Fisher of these arrays."""
        return cls(arrays["matrix"], shapes_from_tree(arrays))


def solve(matrix: Tensor, v: Tensor, step: Tensor) -> Tensor:
    """Return (I + T F)^-1 v for T = diag(step) by Cholesky.

    With S = T^(1/2) the symmetric matrix I + S F S is positive definite, and
    (I + T F)^-1 v = v - S (I + S F S)^-1 S F v, which also holds where a step is zero.
    """
    root = step.sqrt()
    symmetric = root[:, None] * matrix * root[None, :]
    symmetric.diagonal().add_(1)
    factor = torch.linalg.cholesky(symmetric)
    right = root * (matrix @ v)
    return v - root * torch.cholesky_solve(right[:, None], factor)[:, 0]
