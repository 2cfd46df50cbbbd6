"""A convolution: per-sample weight gradients cost what the weight gradient itself costs.

So they replace it: a few samples at a time, both their sum and the sum of their squares are
reduced. One-dimensional convolutions are two-dimensional ones of height one.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from firecv import tree
from firecv.fisher.layers.contract import CHUNK_ENTRIES, LayerGradients, named
from firecv.fisher.layers.convolution_kernels import (
    Geometry,
    by_group,
    input_products,
    output_products,
    unfold,
    weight_gradients,
    weight_sums,
    weight_total,
)
from firecv.fisher.layers.factor import Factor
from firecv.fisher.layers.linear import sketch_of_gradients
from firecv.fisher.layers.samples import SampleGradients
from firecv.tree import Tree


@dataclass(frozen=True)
class ConvolutionGradients:
    """Per-sample gradients of a convolution's trainable weight and bias.

    Parameters
    ----------
    weight, bias
        Names of the parameters, None where absent or frozen.
    x
        Inputs with their padding, (n_samples, channels, height, width).
    delta
        Output gradients, (n_samples, n_outputs, out_height, out_width).
    geometry
        Kernel, stride, dilation and groups.
    weight_shape
        Shape of the weight as the layer has it.
    share
        Weight of one sample in the factor of the inputs.
    """

    weight: str | None
    bias: str | None
    x: Tensor
    delta: Tensor
    geometry: Geometry
    weight_shape: torch.Size
    share: float

    @property
    def n_samples(self) -> int:
        """How many samples there are."""
        return self.x.shape[0]

    @property
    def shapes(self) -> dict[str, torch.Size]:
        """Names and shapes of the parameters."""
        return named(self.weight, self.bias, self.weight_shape, torch.Size([self.weight_shape[0]]))

    def total(self, factor: float = 1.0) -> Tree:
        """Return `factor` times sum_i g_i."""
        return tree.scale(self._sum(self.delta), factor)

    def squares(self) -> Tree:
        """Return sum_i g_i * g_i."""
        if torch.is_grad_enabled() and (self.delta.requires_grad or self.x.requires_grad):
            return SampleGradients(self.materialise()).squares()
        return self.total_and_squares(1.0)[1]

    def total_and_squares(self, factor: float) -> tuple[Tree, Tree]:
        """Return both sums from the same per-sample products, the squares times `factor`."""
        total = squares = None
        if self.weight:
            sums = weight_sums(self.x, self.delta, self.geometry)
            total, squares = (values.reshape(self.weight_shape) for values in sums)
        pulled = self.delta.sum((2, 3)) if self.bias else self.delta.new_zeros(1, 1)
        totals = named(self.weight, self.bias, total, pulled.sum(0))
        return totals, tree.scale(
            named(self.weight, self.bias, squares, pulled.square().sum(0)), factor
        )

    def norms(self) -> Tensor:
        """Return g_i' g_i, by products of positions or of the gradients, the cheaper."""
        n_outputs, n_inputs = self.weight_shape[0], self.weight_shape[1:].numel()
        n_positions = self.delta.shape[2:].numel()
        narrow = n_positions * (n_inputs + n_outputs) < n_inputs * n_outputs
        if not (narrow and self.geometry.groups == 1 and self.weight):
            return SampleGradients(self.materialise()).norms()
        patches, delta = unfold(self.x, self.geometry)[:, 0], self.delta.flatten(2)
        inputs = patches.mT @ patches  # (n, positions, positions)
        return ((inputs + 1 if self.bias else inputs) * (delta.mT @ delta)).sum((1, 2))

    def gram(self) -> Tensor:
        """Return g_i' g_j, a block of output channels at a time."""
        result = self.x.new_zeros(self.x.shape[0], self.x.shape[0])
        if self.bias:
            sums = self.delta.sum((2, 3))
            result += sums @ sums.T
        if not self.weight:
            return result
        n, n_groups, n_inputs, _ = (patches := unfold(self.x, self.geometry)).shape
        rows = max(1, CHUNK_ENTRIES // (n * n_groups * n_inputs))
        for delta in by_group(self.delta, self.geometry).split(rows, dim=2):
            block = (delta @ patches.mT).flatten(1)
            result += block @ block.T
        return result

    def project(self, v: Tree) -> Tensor:
        """Return g_i' v: the convolution of the inputs with v, times the output gradients."""
        geometry = self.geometry
        result = self.x.new_zeros(self.x.shape[0])
        if self.weight:
            kernel = v[self.weight].reshape(self._kernel_shape())
            outputs = functional.conv2d(
                self.x, kernel, None, geometry.stride, 0, geometry.dilation, geometry.groups
            )
            result = result + (outputs * self.delta).sum((1, 2, 3))
        if self.bias:
            result = result + self.delta.sum((2, 3)) @ v[self.bias]
        return result

    def combine(self, coefficients: Tensor) -> Tree:
        """Return sum_i C_ij g_i."""
        columns = [self._sum(self.delta * c[:, None, None, None]) for c in coefficients.T]
        return {name: torch.stack([column[name] for column in columns]) for name in self.shapes}

    def materialise(self) -> Tree:
        """Return all g_i; differentiable at the price of two convolutions."""
        weight = None
        if self.weight:
            found = weight_gradients(self.x, self.delta, self.geometry)
            weight = found.reshape(self.n_samples, *self.weight_shape)
        return named(self.weight, self.bias, weight, self.delta.sum((2, 3)) if self.bias else None)

    def for_products(self) -> LayerGradients:
        """Return the gradients themselves where they are few, since they cost no more."""
        small = self.x.shape[0] * self.weight_shape.numel() <= 4 * CHUNK_ENTRIES
        return SampleGradients(self.materialise()) if small else self

    def factors(self) -> tuple[Factor, Factor, float] | None:
        """Return the Kronecker factors: sum over positions of a a', mean of delta delta'."""
        if self.geometry.groups != 1:
            return None
        n, n_positions = self.x.shape[0], self.delta.shape[2:].numel()
        side = (self.weight_shape[1:].numel() if self.weight else 0) + (1 if self.bias else 0)
        inputs = self.x.new_zeros(side, side)
        if self.weight:
            products, sums = input_products(self.x, self.delta.shape[2:], self.geometry)
            inputs[: sums.shape[0], : sums.shape[0]] = products
            if self.bias:
                inputs[-1, :-1] = inputs[:-1, -1] = sums
        if self.bias:
            inputs[-1, -1] = n * n_positions
        outputs = output_products(self.delta)
        return Factor(inputs * self.share), Factor(outputs / n_positions), n * self.share

    def sketch(self, inputs: Tensor, outputs: Tensor, *, expanded: bool) -> Tensor:
        """Return R2[o] g[o, i]^2 R1[i] summed over entries, or position by position."""
        if not expanded or self.geometry.groups != 1:
            return sketch_of_gradients(self.materialise(), self.weight, self.bias, inputs, outputs)
        right = self.delta.flatten(2).mT.square() @ outputs  # (n, positions, numbers)
        left = inputs[-1] if self.bias else 0.0
        if self.weight:
            patches = unfold(self.x, self.geometry)[:, 0].mT.square()
            left = left + patches @ inputs[: patches.shape[2]]
        return (left * right).sum(1)

    def _sum(self, delta: Tensor) -> Tree:
        """Return the sum of all gradients with these output gradients."""
        weight = None
        if self.weight:
            weight = weight_total(self.x, delta, self.geometry).reshape(self.weight_shape)
        return named(self.weight, self.bias, weight, delta.sum((0, 2, 3)) if self.bias else None)

    def _kernel_shape(self) -> tuple[int, ...]:
        return (*self.weight_shape[:2], *self.geometry.kernel)
