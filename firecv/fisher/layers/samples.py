"""Per-sample gradients as they are: for small layers, other layers, and as the reference."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from firecv import tree
from firecv.tree import Tree


@dataclass(frozen=True)
class SampleGradients:
    """Gradients given one by one, each entry of shape (n_samples, *parameter)."""

    gradients: Tree

    @property
    def n_samples(self) -> int:
        """How many samples there are."""
        return next(iter(self.gradients.values())).shape[0]

    @property
    def shapes(self) -> dict[str, torch.Size]:
        """Names and shapes of the parameters."""
        return {name: value.shape[1:] for name, value in self.gradients.items()}

    def total(self, factor: float = 1.0) -> Tree:
        """Return `factor` times sum_i g_i."""
        return {name: value.sum(0) * factor for name, value in self.gradients.items()}

    def squares(self) -> Tree:
        """Return sum_i g_i * g_i."""
        return {name: value.square().sum(0) for name, value in self.gradients.items()}

    def total_and_squares(self, factor: float) -> tuple[Tree, Tree]:
        """Return both sums, the squares times `factor`."""
        return self.total(), tree.scale(self.squares(), factor)

    def norms(self) -> Tensor:
        """Return g_i' g_i."""
        squares = [g.square() for g in self.gradients.values()]
        parts = [s.sum(tuple(range(1, s.ndim))) if s.ndim > 1 else s for s in squares]
        return torch.stack(parts).sum(0)

    def gram(self) -> Tensor:
        """Return g_i' g_j."""
        flat = [as_rows(g) for g in self.gradients.values()]
        return torch.stack([g @ g.T for g in flat]).sum(0)

    def project(self, v: Tree) -> Tensor:
        """Return g_i' v."""
        products = [as_rows(g) @ v[name].flatten() for name, g in self.gradients.items()]
        return torch.stack(products).sum(0)

    def combine(self, coefficients: Tensor) -> Tree:
        """Return sum_i C_ij g_i."""
        return {n: torch.tensordot(coefficients.T, g, dims=1) for n, g in self.gradients.items()}

    def materialise(self) -> Tree:
        """Return all g_i."""
        return self.gradients

    def for_products(self) -> "SampleGradients":
        """Return itself."""
        return self


def as_rows(gradients: Tensor) -> Tensor:
    """Return one row per sample, also of no samples and of parameters without axes."""
    return gradients.reshape(gradients.shape[0], math.prod(gradients.shape[1:]))
