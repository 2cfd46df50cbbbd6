"""The block Fisher: one dense block per layer, nothing between layers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar, final

import torch
from torch import Tensor

from firecv.errors import StructureError
from firecv.fisher.base import check_factor, check_same, check_size
from firecv.fisher.dense import Dense
from firecv.fisher.layers.contract import LayerGradients
from firecv.fisher.layers.samples import SampleGradients
from firecv.tree import Tree

V = TypeVar("V")

SEPARATOR = "\n"
"""Between a layer and what is saved of it; names of modules may hold any visible character."""

LARGEST_SIDE = 10_000
"""A block has at most this many rows (400 MB in float32)."""


@final
@dataclass(frozen=True, eq=False)
class Block:
    """A dense matrix for the parameters of each module.

    Examples
    --------
    >>> from firecv.fisher import from_gradients
    >>> g = {"a.weight": torch.tensor([[1.0], [3.0]]), "b.weight": torch.tensor([[2.0], [0.0]])}
    >>> {layer: block.matrix.item() for layer, block in from_gradients(Block, g).blocks.items()}
    {'a': 5.0, 'b': 2.0}
    """

    blocks: dict[str, Dense]
    name: ClassVar[str] = "block"
    mixes_exactly: ClassVar[bool] = True

    @classmethod
    def zeros(cls, params: Tree) -> "Block":
        """Return the zero matrix."""
        groups = _by_layer(params)
        for group in groups.values():
            check_size(cls.name, sum(value.numel() for value in group.values()), LARGEST_SIDE)
        return cls({layer: Dense.zeros(group) for layer, group in groups.items()})

    @classmethod
    def from_layers(cls, layers: Sequence[LayerGradients]) -> "Block":
        """Return the sum of outer products within each layer."""
        found = {name: shape for layer in layers for name, shape in layer.shapes.items()}
        for names in _by_layer(found).values():
            check_size(cls.name, sum(shape.numel() for shape in names.values()), LARGEST_SIDE)
        rows = {name: g for layer in layers for name, g in layer.materialise().items()}
        groups = _by_layer(rows)
        return cls({n: Dense.from_layers([SampleGradients(g)]) for n, g in groups.items()})

    def matvec(self, v: Tree) -> Tree:
        """Return F v."""
        parts = self._parts(v)
        return _joined(block.matvec(parts[layer]) for layer, block in self.blocks.items())

    def resolvent(self, v: Tree, t: float | Tree) -> Tree:
        """Return (I + t F)^-1 v, block by block."""
        parts = self._parts(v)
        steps = self._parts(t) if isinstance(t, dict) else {layer: t for layer in self.blocks}
        return _joined(b.resolvent(parts[layer], steps[layer]) for layer, b in self.blocks.items())

    def diagonal(self) -> Tree:
        """Return the diagonal."""
        return _joined(block.diagonal() for block in self.blocks.values())

    def trace(self) -> Tensor:
        """Return the trace."""
        return torch.stack([block.trace() for block in self.blocks.values()]).sum()

    def largest_eigenvalue(self) -> Tensor:
        """Return the largest eigenvalue of any block."""
        return torch.stack([block.largest_eigenvalue() for block in self.blocks.values()]).max()

    def __add__(self, other: "Block") -> "Block":
        """Return the sum."""
        check_same(self, other)
        if self.blocks.keys() != other.blocks.keys():
            raise StructureError(
                f"cannot add block Fishers of different layers: {sorted(self.blocks)} and "
                f"{sorted(other.blocks)}; both must come from the same model"
            )
        return Block({layer: b + other.blocks[layer] for layer, b in self.blocks.items()})

    def __mul__(self, factor: float) -> "Block":
        """Return the product with a number."""
        check_factor(factor)
        return Block({layer: block * factor for layer, block in self.blocks.items()})

    def to_tree(self) -> Tree:
        """Return the arrays of every block behind its layer's name."""
        return {
            f"{layer}{SEPARATOR}{key}": value
            for layer, block in self.blocks.items()
            for key, value in block.to_tree().items()
        }

    @classmethod
    def from_tree(cls, arrays: Tree) -> "Block":
        """Return the Fisher of these arrays."""
        groups: dict[str, Tree] = {}
        for name, value in arrays.items():
            layer, _, key = name.partition(SEPARATOR)
            groups.setdefault(layer, {})[key] = value
        return cls({layer: Dense.from_tree(groups[layer]) for layer in sorted(groups)})

    def _parts(self, v: Tree) -> dict[str, Tree]:
        """Return the entries of each layer."""
        parts = _by_layer(v)
        if parts.keys() != self.blocks.keys():
            raise StructureError(
                f"this Fisher has layers {sorted(self.blocks)}, but the vector has "
                f"{sorted(parts)}; both must come from the same model"
            )
        return parts


def _by_layer(values: dict[str, V]) -> dict[str, dict[str, V]]:
    """Return entries grouped by the module they belong to."""
    groups: dict[str, dict[str, V]] = {}
    for name in sorted(values):
        groups.setdefault(name.rpartition(".")[0], {})[name] = values[name]
    return groups


def _joined(parts: Iterable[Tree]) -> Tree:
    """Return several trees as one."""
    return {name: value for part in parts for name, value in part.items()}
