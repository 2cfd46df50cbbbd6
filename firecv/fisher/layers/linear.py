"""A linear layer: g_i = delta_i a_i', so that nothing of size n_samples x weight is ever needed.

Symbols: a input, delta output gradient, T positions the layer is applied to within one sample
(time steps, tokens, uses of a shared layer). With T > 1 the sum over positions comes before
the square.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from firecv import tree
from firecv.fisher.layers.contract import CHUNK_ENTRIES, named
from firecv.fisher.layers.factor import Factor
from firecv.tree import Tree


@dataclass(frozen=True)
class LinearGradients:
    """Per-sample gradients of a linear layer's trainable weight and bias.

    Parameters
    ----------
    weight, bias
        Names of the parameters, None where absent or frozen.
    a
        Inputs, (n_samples, n_inputs) or (n_samples, n_positions, n_inputs).
    delta
        Output gradients, (n_samples, n_outputs) or (n_samples, n_positions, n_outputs).
    share
        Weight of one sample in the factor of the inputs.
    """

    weight: str | None
    bias: str | None
    a: Tensor
    delta: Tensor
    share: float

    @classmethod
    def over_uses(cls, uses: Sequence["LinearGradients"]) -> "LinearGradients":
        """Return several uses of one layer as one layer with more positions."""
        first = uses[0]
        parts = [use._positions() for use in uses]
        a, delta = (torch.cat(values, 1) for values in zip(*parts, strict=True))
        return cls(first.weight, first.bias, a, delta, first.share)

    @property
    def n_samples(self) -> int:
        """How many samples there are."""
        return self.a.shape[0]

    @property
    def shapes(self) -> dict[str, torch.Size]:
        """Names and shapes of the parameters."""
        n_outputs, n_inputs = self.delta.shape[-1], self.a.shape[-1]
        return named(
            self.weight, self.bias, torch.Size([n_outputs, n_inputs]), torch.Size([n_outputs])
        )

    def total(self, factor: float = 1.0) -> Tree:
        """Return `factor` times sum_i g_i."""
        a, delta = self.a, self.delta if factor == 1 else self.delta * factor
        if a.ndim > 2:
            a, delta = a.flatten(0, 1), delta.flatten(0, 1)
        weight = delta.T @ a if self.weight else None
        return named(self.weight, self.bias, weight, delta.sum(0) if self.bias else None)

    def squares(self) -> Tree:
        """Return sum_i g_i * g_i."""
        if self.a.ndim == 2:
            return self._squares_of(self.delta.square())
        weight = self._weight_squares() if self.weight else None
        bias = self.delta.sum(1).square().sum(0) if self.bias else None
        return named(self.weight, self.bias, weight, bias)

    def total_and_squares(self, factor: float) -> tuple[Tree, Tree]:
        """Return both sums, the squares times `factor`."""
        if self.a.ndim == 2:
            return self.total(), self._squares_of(self.delta.square().mul_(factor))
        return self.total(), tree.scale(self.squares(), factor)

    def squares_onto(self, onto: Tree, factor: float) -> Tree:
        """Return `onto` plus `factor` times the sum of squares, in one product where possible."""
        if self.a.ndim != 2 or not self.weight:
            _, squares = self.total_and_squares(factor)
            return {name: onto[name] + value for name, value in squares.items()}
        squared = self.delta.square().mul_(factor)
        weight = torch.addmm(onto[self.weight], squared.T, self.a.square())
        bias = onto[self.bias] + squared.sum(0) if self.bias else None
        return named(self.weight, self.bias, weight, bias)

    def norms(self) -> Tensor:
        """Return g_i' g_i = (|a_i|^2 + 1) |delta_i|^2, or its sum over pairs of positions."""
        if self.a.ndim == 2:
            return self._input_products(self.a.square().sum(1)) * self.delta.square().sum(1)
        n_positions, n_inputs, n_outputs = *self.a.shape[1:], self.delta.shape[2]
        if n_positions * (n_inputs + n_outputs) < n_inputs * n_outputs or not self.weight:
            outputs = self.delta @ self.delta.mT
            inputs = self._input_products(self.a @ self.a.mT) if self.weight else 1.0
            return (outputs * inputs).sum((1, 2))
        weights = (self.delta.mT @ self.a).square().sum((1, 2))
        return weights + self.delta.sum(1).square().sum(1) if self.bias else weights

    def gram(self) -> Tensor:
        """Return g_i' g_j = (a_i' a_j + 1) delta_i' delta_j, or its sum over positions."""
        if self.a.ndim == 2:
            return self._input_products(self.a @ self.a.T) * (self.delta @ self.delta.T)
        n, n_positions, n_inputs = self.a.shape
        n_outputs = self.delta.shape[2]
        pairs = (n * n_positions) ** 2
        explicit = n * (n_positions + n) * n_inputs * n_outputs
        if pairs * (n_inputs + n_outputs) < explicit and pairs <= 4 * CHUNK_ENTRIES:
            a, delta = self.a.flatten(0, 1), self.delta.flatten(0, 1)
            products = self._input_products(a @ a.T) * (delta @ delta.T)
            return products.reshape(n, n_positions, n, n_positions).sum((1, 3))
        result = self.a.new_zeros(n, n)
        if self.bias:
            sums = self.delta.sum(1)
            result += sums @ sums.T
        if self.weight:
            rows = max(1, CHUNK_ENTRIES // (n * n_inputs))
            for delta in self.delta.split(rows, dim=2):  # a block of the weight's rows at a time
                block = (delta.mT @ self.a).flatten(1)
                result += block @ block.T
        return result

    def project(self, v: Tree) -> Tensor:
        """Return g_i' v = delta_i' (V a_i + v_bias)."""
        outputs = self.a @ v[self.weight].T if self.weight else torch.zeros_like(self.delta)
        if self.bias:
            outputs = outputs + v[self.bias]
        return (outputs * self.delta).flatten(1).sum(1)

    def combine(self, coefficients: Tensor) -> Tree:
        """Return sum_i C_ij g_i, all of them in one product."""
        a, delta = self._positions()
        scaled = (
            delta.unsqueeze(2) * coefficients[:, None, :, None]
        )  # (n, positions, sums, outputs)
        scaled = scaled.flatten(0, 1)
        weight = None
        if self.weight:
            weight = scaled.flatten(1).T @ a.flatten(0, 1)
            weight = weight.unflatten(0, (coefficients.shape[1], -1))
        return named(self.weight, self.bias, weight, scaled.sum(0) if self.bias else None)

    def materialise(self) -> Tree:
        """Return all g_i."""
        a, delta = self._positions()
        return named(
            self.weight,
            self.bias,
            delta.mT @ a if self.weight else None,
            delta.sum(1) if self.bias else None,
        )

    def for_products(self) -> "LinearGradients":
        """Return a copy that does not change when the caller's batch does."""
        a, delta = self.a.clone(), self.delta.clone()
        return LinearGradients(self.weight, self.bias, a, delta, self.share)

    def factors(self) -> tuple[Factor, Factor, float]:
        """Return the Kronecker factors: sum of a a' over positions, mean of delta delta'."""
        a, delta = self.a.flatten(0, -2), self.delta.flatten(0, -2)
        n, n_rows = self.a.shape[0], a.shape[0]
        columns = ([a] if self.weight else []) + ([a.new_ones(n_rows, 1)] if self.bias else [])
        inputs, outputs = Factor.of_rows(torch.cat(columns, 1)), Factor.of_rows(delta)
        return inputs * self.share, outputs * (n / n_rows), n * self.share

    def sketch(self, inputs: Tensor, outputs: Tensor, *, expanded: bool) -> Tensor:
        """Return (a^2 R1) * (delta^2 R2); over positions, of the summed gradient or expanded."""
        if self.a.ndim == 2 or expanded:
            a, delta = self._positions()
            left = a.square() @ inputs[: a.shape[2]] if self.weight else 0.0
            right = inputs[-1] if self.bias else 0.0
            return ((left + right) * (delta.square() @ outputs)).sum(1)
        return sketch_of_gradients(self.materialise(), self.weight, self.bias, inputs, outputs)

    def _squares_of(self, squared: Tensor) -> Tree:
        """Return sum_i g_i * g_i from squared output gradients, without positions."""
        weight = squared.T @ self.a.square() if self.weight else None
        return named(self.weight, self.bias, weight, squared.sum(0) if self.bias else None)

    def _weight_squares(self) -> Tensor:
        """Return the squares of the weight's gradients over positions, a few samples at a time."""
        n_inputs, n_outputs = self.a.shape[2], self.delta.shape[2]
        size = max(1, CHUNK_ENTRIES // (n_inputs * n_outputs))
        result = self.a.new_zeros(n_outputs, n_inputs)
        for a, delta in zip(self.a.split(size), self.delta.split(size), strict=True):
            result = result + (delta.mT @ a).square().sum(0)
        return result

    def _input_products(self, products: Tensor) -> Tensor:
        """Return inner products of inputs, the constant input of the bias included."""
        if not self.weight:
            return torch.ones_like(products)
        return products + 1 if self.bias else products

    def _positions(self) -> tuple[Tensor, Tensor]:
        """Return inputs and output gradients with a position axis."""
        if self.a.ndim == 3:
            return self.a, self.delta
        return self.a.unsqueeze(1), self.delta.unsqueeze(1)


def sketch_of_gradients(
    gradients: Tree, weight: str | None, bias: str | None, inputs: Tensor, outputs: Tensor
) -> Tensor:
    """Return sum over entries of R2[o] g[o, i]^2 R1[i], for given per-sample gradients."""
    result = torch.zeros((), dtype=inputs.dtype, device=inputs.device)
    if weight:
        squared = gradients[weight].flatten(2).square()  # (n, outputs, inputs)
        left = squared @ inputs[: squared.shape[2]]
        result = result + (left * outputs).sum(1)
    if bias:
        result = result + (gradients[bias].square() @ outputs) * inputs[-1]
    return result
