"""An embedding: a sample touches few rows, so its gradient is kept by (sample, row).

Positions of one sample that use the same row are summed before anything is squared.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from firecv.tree import Tree


@dataclass(frozen=True)
class EmbeddingGradients:
    """Per-sample gradients of an embedding's table.

    Parameters
    ----------
    weight
        Name of the table.
    n_samples, n_rows
        Number of samples and of rows of the table.
    samples, rows
        Which sample and which row each value belongs to; pairs are distinct.
    values
        Gradients, (n_pairs, width).
    """

    weight: str
    n_samples: int
    n_rows: int
    samples: Tensor
    rows: Tensor
    values: Tensor

    @classmethod
    def of(
        cls, weight: str, n_rows: int, index: Tensor, delta: Tensor, padding: int | None
    ) -> "EmbeddingGradients":
        """Return the gradients for indices (n_samples, n_positions) and output gradients."""
        n_samples, n_positions = index.shape
        samples = torch.arange(n_samples, device=index.device).repeat_interleave(n_positions)
        keys, values = samples * n_rows + index.flatten(), delta.flatten(0, 1)
        if padding is not None:
            used = index.flatten() != padding
            keys, values = keys[used], values[used]
        pairs, place = keys.unique(return_inverse=True)
        sums = values.new_zeros(len(pairs), values.shape[1]).index_add(0, place, values)
        return cls(weight, n_samples, n_rows, pairs // n_rows, pairs % n_rows, sums)

    @property
    def shapes(self) -> dict[str, torch.Size]:
        """Name and shape of the table."""
        return {self.weight: torch.Size([self.n_rows, self.values.shape[1]])}

    def total(self, factor: float = 1.0) -> Tree:
        """Return `factor` times sum_i g_i."""
        return self._scatter(self.values * factor)

    def squares(self) -> Tree:
        """Return sum_i g_i * g_i."""
        return self._scatter(self.values.square())

    def total_and_squares(self, factor: float) -> tuple[Tree, Tree]:
        """Return both sums, the squares times `factor`."""
        return self.total(), self._scatter(self.values.square().mul_(factor))

    def norms(self) -> Tensor:
        """Return g_i' g_i."""
        zeros = self.values.new_zeros(self.n_samples)
        return zeros.index_add(0, self.samples, self.values.square().sum(1))

    def gram(self) -> Tensor:
        """Return g_i' g_j over the rows that occur."""
        used, place = self.rows.unique(return_inverse=True)
        width = self.values.shape[1]
        dense = self.values.new_zeros(self.n_samples, len(used), width)
        flat = dense.index_put((self.samples, place), self.values).flatten(1)
        return flat @ flat.T

    def project(self, v: Tree) -> Tensor:
        """Return g_i' v."""
        zeros = self.values.new_zeros(self.n_samples)
        products = (self.values * v[self.weight][self.rows]).sum(1)
        return zeros.index_add(0, self.samples, products)

    def combine(self, coefficients: Tensor) -> Tree:
        """Return sum_i C_ij g_i."""
        columns = [self.values * column[self.samples, None] for column in coefficients.T]
        return {self.weight: torch.stack([self._scatter(c)[self.weight] for c in columns])}

    def materialise(self) -> Tree:
        """Return all g_i."""
        zeros = self.values.new_zeros(self.n_samples, *self.shapes[self.weight])
        return {self.weight: zeros.index_put((self.samples, self.rows), self.values)}

    def for_products(self) -> "EmbeddingGradients":
        """Return itself."""
        return self

    def _scatter(self, values: Tensor) -> Tree:
        """Return values summed into their rows."""
        zeros = values.new_zeros(self.shapes[self.weight])
        return {self.weight: zeros.index_add(0, self.rows, values)}
