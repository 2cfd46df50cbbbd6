"""The low-rank Fisher: its k leading eigenvectors.

The n x n matrix K of inner products of a batch's gradients has the eigenvalues of F = J'J, and
the eigenvectors of F are J'v for those of K. So a batch needs no gradient written out: it keeps
the layers' inputs and output gradients and the leading eigenvectors of K, and F v is two cheap
products. Written out, as vectors of the size of the model, it is only when saved or added to.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import torch
from torch import Tensor

from firecv import tree
from firecv.errors import StructureError
from firecv.fisher.base import check_factor, check_same
from firecv.fisher.dense import Dense
from firecv.fisher.layers.contract import LayerGradients
from firecv.fisher.layers.samples import SampleGradients, as_rows
from firecv.tree import Tree

RANK = 50


@dataclass(frozen=True)
class Ranked:
    """Builds low-rank Fishers of another rank: ``estimate(LowRank.of(10), ...)``."""

    rank: int

    def from_layers(self, layers: Sequence[LayerGradients]) -> "LowRank":
        """Return the leading eigenvectors of sum_i g_i g_i'."""
        size = sum(shape.numel() for layer in layers for shape in layer.shapes.values())
        if size < layers[0].n_samples:
            return self._of_small_model(layers)
        layers = [layer.for_products() for layer in layers]
        gram = torch.stack([layer.gram() for layer in layers]).sum(0)
        values, vectors = _leading(gram, self.rank)
        return LowRank(layers, vectors, values, self.rank)

    def _of_small_model(self, layers: Sequence[LayerGradients]) -> "LowRank":
        """Return the same for a model with fewer parameters than the batch has samples."""
        matrix = Dense.from_layers(layers)
        values, vectors = _leading(matrix.matrix, self.rank)
        columns = (vectors * values.sqrt()).T
        parts = columns.split([shape.numel() for shape in matrix.shapes.values()], dim=1)
        pairs = zip(matrix.shapes.items(), parts, strict=True)
        explicit = SampleGradients(
            {name: part.reshape(-1, *shape) for (name, shape), part in pairs}
        )
        return LowRank([explicit], torch.eye(len(values)).to(values), values, self.rank)


@final
@dataclass(frozen=True, eq=False)
class LowRank:
    """F = sum_j u_j u_j' with orthogonal u_j = sum_i C_ij g_i, |u_j|^2 the eigenvalues.

    Parameters
    ----------
    layers
        The gradients g_i.
    coefficients
        The matrix C, (n_samples, n_vectors).
    values
        Eigenvalues, largest first.
    rank
        How many eigenvectors are kept when two are added.

    Examples
    --------
    >>> from firecv.fisher import from_gradients
    >>> g = {"w": torch.tensor([[2.0, 0.0], [0.0, 2.0], [0.0, 2.0]])}
    >>> from_gradients(LowRank.of(1), g).diagonal()["w"].round(decimals=4)
    tensor([0.0000, 2.6667])
    """

    layers: Sequence[LayerGradients]
    coefficients: Tensor
    values: Tensor
    rank: int = RANK
    name: ClassVar[str] = "lowrank"
    mixes_exactly: ClassVar[bool] = False

    @staticmethod
    def of(rank: int) -> Ranked:
        """Return a builder of Fishers of this rank."""
        if rank < 1:
            raise StructureError(f"a low-rank Fisher needs a rank of at least 1, got {rank}")
        return Ranked(rank)

    @classmethod
    def zeros(cls, params: Tree) -> "LowRank":
        """Return the zero matrix."""
        empty = {n: v.detach().new_zeros(0, *v.shape) for n, v in params.items()}
        return cls._explicit(empty, RANK)

    @classmethod
    def from_layers(cls, layers: Sequence[LayerGradients]) -> "LowRank":
        """Return the 50 leading eigenvectors of sum_i g_i g_i'."""
        return Ranked(RANK).from_layers(layers)

    @cached_property
    def vectors(self) -> Tree:
        """The u_j written out, each entry of shape (n_vectors, *parameter)."""
        return self._combine(torch.eye(self.coefficients.shape[1]).to(self.coefficients))

    def matvec(self, v: Tree) -> Tree:
        """Return F v."""
        return self._sum(self._project(v))

    def resolvent(self, v: Tree, t: float | Tree) -> Tree:
        """Return (I + t F)^-1 v by the Woodbury identity."""
        if not isinstance(t, dict):
            return tree.sub(v, self._sum(self._project(v) * (t / (1 + t * self.values))))
        tree.check_match(v, t)
        scaled = SampleGradients({name: u * t[name].sqrt() for name, u in self.vectors.items()})
        inner = scaled.gram() + torch.eye(len(self.values)).to(self.values)
        coefficients = torch.linalg.solve(inner, self._project(v))
        return tree.sub(v, tree.mul(t, self._sum(coefficients)))

    def diagonal(self) -> Tree:
        """Return the diagonal."""
        return SampleGradients(self.vectors).squares()

    def trace(self) -> Tensor:
        """Return the sum of the eigenvalues."""
        return self.values.sum()

    def largest_eigenvalue(self) -> Tensor:
        """Return the largest of the eigenvalues."""
        return self.values.max() if len(self.values) else self.values.sum()

    def __add__(self, other: "LowRank") -> "LowRank":
        """Return the leading eigenvectors of the sum; the rest is dropped."""
        check_same(self, other)
        mine, others = self.vectors, other.vectors
        tree.check_match(*({n: u[:0] for n, u in vectors.items()} for vectors in (mine, others)))
        cross = torch.stack([as_rows(u) @ as_rows(others[n]).T for n, u in mine.items()]).sum(0)
        gram = torch.cat(
            [
                torch.cat([self.values.diag(), cross], 1),
                torch.cat([cross.T, other.values.diag()], 1),
            ]
        )
        rank = max(self.rank, other.rank)
        _, vectors = _leading(gram, rank)
        first, second = vectors.split([self.values.shape[0], other.values.shape[0]])
        joint: Tree = {}
        for name, u in mine.items():
            rows = torch.addmm(second.T @ as_rows(others[name]), first.T, as_rows(u))
            joint[name] = rows.reshape(rows.shape[0], *u.shape[1:])
        return LowRank._explicit(joint, rank)

    def __mul__(self, factor: float) -> "LowRank":
        """Return the product with a number."""
        root = check_factor(factor) ** 0.5
        return LowRank(self.layers, self.coefficients * root, self.values * factor, self.rank)

    def to_tree(self) -> Tree:
        """Return the vectors u_j by name, and the rank."""
        vectors = {f"vectors/{name}": value for name, value in self.vectors.items()}
        return {"rank": torch.tensor(self.rank)} | vectors

    @classmethod
    def from_tree(cls, arrays: Tree) -> "LowRank":
        """Return the Fisher of these vectors, which are orthogonal."""
        vectors = {
            name.removeprefix("vectors/"): value
            for name, value in arrays.items()
            if name.startswith("vectors/")
        }
        return cls._explicit(vectors, int(arrays["rank"]))

    @classmethod
    def _explicit(cls, vectors: Tree, rank: int) -> "LowRank":
        """Return the Fisher of orthogonal vectors written out."""
        rows = SampleGradients(vectors)
        values = rows.norms()
        return cls([rows], torch.eye(len(values)).to(values), values, rank)

    def _project(self, v: Tree) -> Tensor:
        """Return the inner products u_j' v."""
        names = {name for layer in self.layers for name in layer.shapes}
        if names != v.keys():
            raise StructureError(
                f"this Fisher is over {sorted(names)}, but the vector has {sorted(v)}; both must "
                f"come from the same model and trainable names"
            )
        products = torch.stack([layer.project(v) for layer in self.layers]).sum(0)
        return self.coefficients.T @ products

    def _sum(self, coefficients: Tensor) -> Tree:
        """Return sum_j c_j u_j."""
        return {n: value[0] for n, value in self._combine(coefficients.unsqueeze(1)).items()}

    def _combine(self, coefficients: Tensor) -> Tree:
        """Return sums of the u_j, one for every column of coefficients."""
        parts = [layer.combine(self.coefficients @ coefficients) for layer in self.layers]
        return {name: value for part in parts for name, value in part.items()}


def _leading(gram: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """Return the largest eigenvalues and their eigenvectors, largest first."""
    if not math.isfinite(gram.sum().item()):  # eigenvectors would fail obscurely; traces will tell
        return torch.full_like(gram[0, :rank], math.nan), gram[:, :rank]
    values, vectors = torch.linalg.eigh(gram)
    return values.flip(0)[:rank].clamp_min(0), vectors.flip(1)[:, :rank]
