"""The Kronecker-factored Fisher (K-FAC): per layer the product of two small matrices.

Reference: Martens and Grosse, "Optimizing neural networks with Kronecker-factored approximate
curvature", ICML 2015, arXiv 1503.05671; convolutions after Grosse and Martens, ICML 2016,
arXiv 1602.01407.

Symbols: A = sum a a' over samples and positions (a with a 1 appended for the bias), G = sum of
delta delta' over samples, averaged over positions, m = mass of the samples;
F = (A kron G) / m, acting on a weight matrix V as G V A / m.

Departures: parameters without a pair of factors (norms, embeddings, grouped convolutions, other
layers) keep their exact diagonal. Adding two adds factors and masses, which pools the samples of
each factor; it is not the sum of the matrices, so `mixes_exactly` is false.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, cast, final

import torch
from torch import Tensor

from firecv import tree
from firecv.errors import StructureError
from firecv.fisher.base import check_factor, check_same, resolvent_by_gradients
from firecv.fisher.layers.contract import KroneckerFactors, LayerGradients
from firecv.fisher.layers.factor import Factor
from firecv.fisher.shapes import Shapes, check_shapes, shapes_from_tree, shapes_to_tree
from firecv.tree import Tree

SEPARATOR = "\n"
"""Between the names of weight and bias, which may hold any visible character."""


@dataclass(frozen=True, eq=False)
class Pair:
    """The two factors of one layer, A and G, and the names they belong to."""

    weight: str | None
    bias: str | None
    inputs: Factor
    outputs: Factor

    @property
    def key(self) -> str:
        """Names of weight and bias in one."""
        return f"{self.weight or ''}{SEPARATOR}{self.bias or ''}"

    @cached_property
    def eigenbases(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Eigenvalues and eigenvectors of both factors."""
        a, u = torch.linalg.eigh(self.inputs.matrix)
        g, w = torch.linalg.eigh(self.outputs.matrix)
        return a.clamp_min(0), u, g.clamp_min(0), w

    @cached_property
    def largest_eigenvalue(self) -> Tensor:
        """Product of the factors' largest eigenvalues."""
        return self.inputs.largest_eigenvalue() * self.outputs.largest_eigenvalue()

    def pack(self, v: Tree) -> Tensor:
        """Return weight and bias as one matrix, the bias as last column."""
        columns = [v[self.weight].flatten(1)] if self.weight else []
        columns += [v[self.bias].unsqueeze(1)] if self.bias else []
        return torch.cat(columns, 1)

    def unpack(self, matrix: Tensor, shapes: Shapes) -> Tree:
        """Return weight and bias of one matrix."""
        result: Tree = {}
        if self.weight:
            columns = matrix[:, :-1] if self.bias else matrix
            result[self.weight] = columns.reshape(shapes[self.weight])
        if self.bias:
            result[self.bias] = matrix[:, -1]
        return result


@final
@dataclass(frozen=True, eq=False)
class Kronecker:
    """Two factors for every linear and convolutional layer, a diagonal for the rest.

    Parameters
    ----------
    pairs
        Factors by layer.
    rest
        Diagonal entries of the other parameters.
    mass
        Total weight of the samples in the factors, 1 for a mean.
    shapes
        Names and shapes of all parameters.
    """

    pairs: dict[str, Pair]
    rest: Tree
    mass: float
    shapes: Shapes
    name: ClassVar[str] = "kronecker"
    mixes_exactly: ClassVar[bool] = False

    @classmethod
    def zeros(cls, params: Tree) -> "Kronecker":
        """Return the zero matrix, to which anything over the same parameters can be added."""
        return cls({}, {}, 0.0, {name: params[name].shape for name in sorted(params)})

    @classmethod
    def from_layers(cls, layers: Sequence[LayerGradients]) -> "Kronecker":
        """Return the factors of every layer that has them."""
        pairs: dict[str, Pair] = {}
        rest: Tree = {}
        mass = 0.0
        for layer in layers:
            found = None
            if hasattr(layer, "factors"):
                factored = cast(KroneckerFactors, layer)
                found = factored.factors()
                if found is not None:
                    inputs, outputs, mass = found
                    pair = Pair(factored.weight, factored.bias, inputs, outputs)
                    pairs[pair.key] = pair
            if found is None:
                rest |= layer.squares()
        shapes = {name: shape for layer in layers for name, shape in layer.shapes.items()}
        return cls(pairs, rest, mass, {name: shapes[name] for name in sorted(shapes)})

    def matvec(self, v: Tree) -> Tree:
        """Return F v."""
        check_shapes(self.shapes, v)
        result = {name: entries * v[name] for name, entries in self.rest.items()}
        for pair in self.pairs.values():
            product = pair.inputs.times(pair.outputs.times(pair.pack(v)).T).T
            result |= pair.unpack(product / self.mass if self.mass else product * 0, self.shapes)
        return self._complete(result, v)

    def resolvent(self, v: Tree, t: float | Tree) -> Tree:
        """Return (I + t F)^-1 v, by the two eigenbases, or iteratively if t is a tree."""
        if isinstance(t, dict):
            return resolvent_by_gradients(self.matvec, v, t)
        check_shapes(self.shapes, v)
        result = {name: v[name] / (1 + t * entries) for name, entries in self.rest.items()}
        for pair in self.pairs.values():
            a, u, g, w = pair.eigenbases
            scale = t / self.mass if self.mass else 0.0
            turned = (w.T @ pair.pack(v) @ u) / (1 + scale * torch.outer(g, a))
            result |= pair.unpack(w @ turned @ u.T, self.shapes)
        return self._complete(result, v, zero=False)

    def diagonal(self) -> Tree:
        """Return the diagonal."""
        result = dict(self.rest)
        for pair in self.pairs.values():
            entries = torch.outer(pair.outputs.diagonal(), pair.inputs.diagonal())
            result |= pair.unpack(entries / self.mass if self.mass else entries * 0, self.shapes)
        return self._complete(result, {n: torch.zeros(shape) for n, shape in self.shapes.items()})

    def trace(self) -> Tensor:
        """Return the trace."""
        parts = [
            p.inputs.trace() * p.outputs.trace() / (self.mass or 1) for p in self.pairs.values()
        ]
        parts += [entries.sum() for entries in self.rest.values()]
        return torch.stack(parts).sum() if parts else torch.zeros(())

    def largest_eigenvalue(self) -> Tensor:
        """Return the largest eigenvalue of any layer: the product of those of its factors."""
        parts = [p.largest_eigenvalue / (self.mass or 1) for p in self.pairs.values()]
        parts += [tree.largest(self.rest)] if self.rest else []
        return torch.stack(parts).max() if parts else torch.zeros(())

    def __add__(self, other: "Kronecker") -> "Kronecker":
        """Return the factors of the pooled samples."""
        check_same(self, other)
        if self.shapes != other.shapes:
            check_shapes(self.shapes, other.diagonal())
        if not self.pairs and not self.rest:
            return other
        if not other.pairs and not other.rest:
            return self
        if self.pairs.keys() != other.pairs.keys():
            raise StructureError(
                f"cannot add Kronecker Fishers with factors for different layers: "
                f"{sorted(self.pairs)} and {sorted(other.pairs)}"
            )
        pairs = {
            key: Pair(p.weight, p.bias, p.inputs + q.inputs, p.outputs + q.outputs)
            for key, p in self.pairs.items()
            for q in [other.pairs[key]]
        }
        rest = tree.add(self.rest, other.rest)
        return Kronecker(pairs, rest, self.mass + other.mass, self.shapes)

    def __mul__(self, factor: float) -> "Kronecker":
        """Return the product with a number: factors and mass alike."""
        check_factor(factor)
        pairs = {
            key: Pair(p.weight, p.bias, p.inputs * factor, p.outputs * factor)
            for key, p in self.pairs.items()
        }
        return Kronecker(pairs, tree.scale(self.rest, factor), self.mass * factor, self.shapes)

    def to_tree(self) -> Tree:
        """Return factors, diagonal entries, mass and shapes."""
        arrays = {"mass": torch.tensor(self.mass, dtype=torch.float64)} | shapes_to_tree(
            self.shapes
        )
        for key, pair in self.pairs.items():
            arrays[f"inputs/{key}"] = pair.inputs.matrix
            arrays[f"outputs/{key}"] = pair.outputs.matrix
        return arrays | {f"diagonal/{name}": entries for name, entries in self.rest.items()}

    @classmethod
    def from_tree(cls, arrays: Tree) -> "Kronecker":
        """Return the Fisher of these arrays."""
        pairs: dict[str, Pair] = {}
        for name in sorted(arrays):
            kind, _, key = name.partition("/")
            if kind == "inputs":
                weight, _, bias = key.partition(SEPARATOR)
                inputs, outputs = Factor(arrays[name]), Factor(arrays[f"outputs/{key}"])
                pairs[key] = Pair(weight or None, bias or None, inputs, outputs)
        rest = {
            n.removeprefix("diagonal/"): v for n, v in arrays.items() if n.startswith("diagonal/")
        }
        return cls(pairs, rest, float(arrays["mass"]), shapes_from_tree(arrays))

    def _complete(self, result: Tree, v: Tree, *, zero: bool = True) -> Tree:
        """Return `result` in the order of `v`; of parameters it lacks, zeros or v itself."""
        return {
            name: result.get(name, torch.zeros_like(value) if zero else value)
            for name, value in v.items()
        }
