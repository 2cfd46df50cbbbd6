"""What every structure needs to know of one layer: its per-sample gradients, in factored form.

Sample i contributes the gradient g_i of its log-likelihood with respect to the layer's
parameters. Nothing here holds all the g_i at once unless it must: a linear layer keeps its
inputs and output gradients, from which sums, squares, norms and inner products of the g_i follow
at the price of a matrix product.

The g_i come scaled: a Fisher is always the plain sum of g_i g_i' over what was captured, so
whoever captures multiplies output gradients by the square root of each sample's weight.
"""

from typing import Protocol, TypeVar

import torch
from torch import Tensor

from firecv.fisher.layers.factor import Factor
from firecv.tree import Tree

T = TypeVar("T")

CHUNK_ENTRIES = 1 << 22
"""Per-sample gradients held at once while they are being reduced (16 MB in float32)."""


class LayerGradients(Protocol):
    """Per-sample gradients g_i of the parameters of one layer."""

    @property
    def n_samples(self) -> int:
        """How many samples there are."""
        ...

    @property
    def shapes(self) -> dict[str, torch.Size]:
        """Names and shapes of the parameters."""
        ...

    def total(self, factor: float = 1.0) -> Tree:
        """Return `factor` times sum_i g_i."""
        ...

    def squares(self) -> Tree:
        """Return sum_i g_i * g_i, entry by entry."""
        ...

    def total_and_squares(self, factor: float) -> tuple[Tree, Tree]:
        """Return sum_i g_i, and `factor` times the sum of squares, from the same pass."""
        ...

    def norms(self) -> Tensor:
        """Return the squared norms g_i' g_i, shape (n_samples,)."""
        ...

    def gram(self) -> Tensor:
        """Return the inner products g_i' g_j, shape (n_samples, n_samples)."""
        ...

    def project(self, v: Tree) -> Tensor:
        """Return the inner products g_i' v, shape (n_samples,)."""
        ...

    def combine(self, coefficients: Tensor) -> Tree:
        """Return sum_i C_ij g_i, (n_sums, *parameter), for C of shape (n_samples, n_sums)."""
        ...

    def materialise(self) -> Tree:
        """Return all g_i, each entry of shape (n_samples, *parameter)."""
        ...

    def for_products(self) -> "LayerGradients":
        """Return the form in which `project` and `combine` are cheapest."""
        ...


class KroneckerFactors(Protocol):
    """What a layer with a weight matrix adds: the two factors of its Fisher, and its sketch."""

    @property
    def weight(self) -> str | None:
        """Name of the weight, if it is trainable."""
        ...

    @property
    def bias(self) -> str | None:
        """Name of the bias, if it is trainable."""
        ...

    @property
    def shapes(self) -> dict[str, torch.Size]:
        """Names and shapes of the parameters."""
        ...

    def factors(self) -> tuple[Factor, Factor, float] | None:
        """Return sum a a', sum delta delta' per position and the samples' mass.

        None where the layer has no single pair of factors (grouped convolutions).
        """
        ...

    def sketch(self, inputs: Tensor, outputs: Tensor, *, expanded: bool) -> Tensor:
        """Return squared gradients contracted with two random maps, (n_samples, n_numbers)."""
        ...


def named(
    weight: str | None, bias: str | None, of_weight: T | None, of_bias: T | None
) -> dict[str, T]:
    """Return what belongs to the trainable ones of weight and bias, by name."""
    pairs = ((weight, of_weight), (bias, of_bias))
    return {name: value for name, value in pairs if name and value is not None}
