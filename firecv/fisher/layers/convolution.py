"""A convolution: per-sample weight gradients cost what the weight gradient itself costs.

So they replace it: a few samples at a time, both their sum and the sum of their squares are
reduced. Inputs are cut into windows along the width only, and each row of the kernel is one
batched product with row-shifted views of those windows; thin inputs and grouped convolutions go
through a plain unfold. One-dimensional convolutions are two-dimensional ones of height one.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from firecv import tree
from firecv.fisher.layers.contract import CHUNK_ENTRIES, LayerGradients, named
from firecv.fisher.layers.linear import sketch_of_gradients
from firecv.fisher.layers.samples import SampleGradients
from firecv.tree import Tree

CHUNK_SAMPLES = 32
THIN = 16
"""Below this many entries a kernel row is too short for a product of its own."""


@dataclass(frozen=True)
class Geometry:
    """Kernel size, stride and dilation as (height, width), and the number of groups."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    groups: int


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
    def shapes(self) -> dict[str, torch.Size]:
        """Names and shapes of the parameters."""
        return named(self.weight, self.bias, self.weight_shape, torch.Size([self.weight_shape[0]]))

    def total(self) -> Tree:
        """Return sum_i g_i."""
        return self._sum(self.delta)

    def squares(self) -> Tree:
        """Return sum_i g_i * g_i."""
        if torch.is_grad_enabled() and self.delta.requires_grad:
            return SampleGradients(self.materialise()).squares()
        return self.total_and_squares(1.0)[1]

    def total_and_squares(self, factor: float) -> tuple[Tree, Tree]:
        """Return both sums from the same per-sample products, the squares times `factor`."""
        total, squares = self._weight_sums() if self.weight else (None, None)
        sums = self.delta.sum((2, 3)) if self.bias else self.delta.new_zeros(1, 1)
        totals = named(self.weight, self.bias, total, sums.sum(0))
        return totals, tree.scale(
            named(self.weight, self.bias, squares, sums.square().sum(0)), factor
        )

    def norms(self) -> Tensor:
        """Return g_i' g_i, by products of positions or of the gradients, the cheaper."""
        n_outputs, n_inputs = self.weight_shape[0], self.weight_shape[1:].numel()
        n_positions = self.delta.shape[2:].numel()
        narrow = n_positions * (n_inputs + n_outputs) < n_inputs * n_outputs
        if not (narrow and self.geometry.groups == 1 and self.weight):
            return SampleGradients(self.materialise()).norms()
        patches, delta = self._patches()[:, 0], self.delta.flatten(2)
        inputs = patches.mT @ patches  # (n, positions, positions)
        return ((inputs + 1 if self.bias else inputs) * (delta.mT @ delta)).sum((1, 2))

    def gram(self) -> Tensor:
        """Return g_i' g_j, a block of output channels at a time."""
        result = self.x.new_zeros(len(self.x), len(self.x))
        if self.bias:
            sums = self.delta.sum((2, 3))
            result += sums @ sums.T
        if not self.weight:
            return result
        n, n_groups, n_inputs, _ = (patches := self._patches()).shape
        rows = max(1, CHUNK_ENTRIES // (n * n_groups * n_inputs))
        for delta in self._grouped(self.delta).split(rows, dim=2):
            block = (delta @ patches.mT).flatten(1)
            result += block @ block.T
        return result

    def project(self, v: Tree) -> Tensor:
        """Return g_i' v: the convolution of the inputs with v, times the output gradients."""
        geometry = self.geometry
        result = self.x.new_zeros(len(self.x))
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
        """Return sum_i c_i g_i."""
        return self._sum(self.delta * coefficients[:, None, None, None])

    def materialise(self) -> Tree:
        """Return all g_i."""
        weight = None
        if self.weight:
            weight = self._grouped(self.delta) @ self._patches().mT
            weight = weight.reshape(len(self.x), *self.weight_shape)
        return named(self.weight, self.bias, weight, self.delta.sum((2, 3)) if self.bias else None)

    def for_products(self) -> LayerGradients:
        """Return the gradients themselves where they are few, since they cost no more."""
        small = len(self.x) * self.weight_shape.numel() <= 4 * CHUNK_ENTRIES
        return SampleGradients(self.materialise()) if small else self

    def factors(self) -> tuple[Tensor, Tensor, float] | None:
        """Return the Kronecker factors: sum over positions of a a', mean of delta delta'."""
        if self.geometry.groups != 1:
            return None
        delta = self.delta.flatten(2)
        n, n_outputs, n_positions = delta.shape
        n_inputs = self.weight_shape[1:].numel()
        side = (n_inputs if self.weight else 0) + (1 if self.bias else 0)
        inputs = self.x.new_zeros(side, side)
        outputs = self.x.new_zeros(n_outputs, n_outputs)
        for start in range(0, n, CHUNK_SAMPLES):
            part = slice(start, start + CHUNK_SAMPLES)
            d = delta[part].transpose(0, 1).flatten(1)  # (outputs, samples * positions)
            outputs.addmm_(d, d.T)
            if self.weight:
                patches = self._patches(part)[:, 0].transpose(0, 1).flatten(1)
                inputs[:n_inputs, :n_inputs].addmm_(patches, patches.T)
                if self.bias:
                    inputs[-1, :-1] += patches.sum(1)
        if self.bias:
            inputs[:-1, -1] = inputs[-1, :-1]
            inputs[-1, -1] = n * n_positions
        return inputs.mul_(self.share), outputs.div_(n_positions), n * self.share

    def sketch(self, inputs: Tensor, outputs: Tensor, *, expanded: bool) -> Tensor:
        """Return R2[o] g[o, i]^2 R1[i] summed over entries, or position by position."""
        if not expanded or self.geometry.groups != 1:
            return sketch_of_gradients(self.materialise(), self.weight, self.bias, inputs, outputs)
        right = self.delta.flatten(2).mT.square() @ outputs  # (n, positions, numbers)
        left = inputs[-1] if self.bias else 0.0
        if self.weight:
            patches = self._patches()[:, 0].mT.square()
            left = left + patches @ inputs[: patches.shape[2]]
        return (left * right).sum(1)

    def _weight_sums(self) -> tuple[Tensor, Tensor]:
        """Return sum and sum of squares of the weight's gradients."""
        geometry = self.geometry
        if geometry.groups > 1 or self.x.shape[1] * geometry.kernel[1] < THIN:
            return self._sums_by_unfold()
        return self._sums_by_rows()

    def _sums_by_unfold(self) -> tuple[Tensor, Tensor]:
        total = squares = None
        for start in range(0, len(self.x), CHUNK_SAMPLES):
            part = slice(start, start + CHUNK_SAMPLES)
            gradients = self._grouped(self.delta[part]) @ self._patches(part).mT
            sums, square_sums = gradients.sum(0), gradients.square_().sum(0)
            total = sums if total is None else total.add_(sums)
            squares = square_sums if squares is None else squares.add_(square_sums)
        assert total is not None and squares is not None
        return total.reshape(self.weight_shape), squares.reshape(self.weight_shape)

    def _sums_by_rows(self) -> tuple[Tensor, Tensor]:
        (rows, columns), (stride, step) = self.geometry.kernel, self.geometry.stride
        down, across = self.geometry.dilation
        n, channels, height, _ = self.x.shape
        n_outputs, out_height, out_width = self.delta.shape[1:]
        images, delta = self.x.permute(0, 2, 3, 1), self.delta.flatten(2)
        size = min(CHUNK_SAMPLES, n)
        windows = self.x.new_empty(size, height, out_width, columns, channels)
        gradients = self.x.new_empty(size, n_outputs, columns * channels)
        total = self.x.new_zeros(rows, n_outputs, columns * channels)
        squares = torch.zeros_like(total)
        span = (columns - 1) * across + 1
        for start in range(0, n, size):
            d = delta[start : start + size]
            m = len(d)
            view = images[start : start + size].unfold(2, span, step)[:, :, :out_width]
            windows[:m].copy_(view[..., ::across].transpose(3, 4))
            for row in range(rows):
                top = row * down
                lines = windows[:m, top : top + (out_height - 1) * stride + 1 : stride]
                a = lines.reshape(m, out_height * out_width, columns * channels)
                g = torch.bmm(d, a, out=gradients[:m])
                total[row] += g.sum(0)
                squares[row] += g.square_().sum(0)

        def as_weight(sums: Tensor) -> Tensor:
            parts = sums.reshape(rows, n_outputs, columns, channels).permute(1, 3, 0, 2)
            return parts.reshape(self.weight_shape)

        return as_weight(total), as_weight(squares)

    def _sum(self, delta: Tensor) -> Tree:
        """Return the sum of all gradients with these output gradients."""
        weight = None
        if self.weight:
            geometry = self.geometry
            weight = torch.nn.grad.conv2d_weight(
                self.x,
                self._kernel_shape(),
                delta,
                geometry.stride,
                0,
                geometry.dilation,
                geometry.groups,
            ).reshape(self.weight_shape)
        return named(self.weight, self.bias, weight, delta.sum((0, 2, 3)) if self.bias else None)

    def _patches(self, part: slice = slice(None)) -> Tensor:
        """Return what the kernel sees, (n_samples, groups, inputs per group, positions)."""
        geometry = self.geometry
        patches = functional.unfold(
            self.x[part], geometry.kernel, geometry.dilation, 0, geometry.stride
        )
        return patches.unflatten(1, (geometry.groups, -1))

    def _grouped(self, delta: Tensor) -> Tensor:
        """Return output gradients as (n_samples, groups, outputs per group, positions)."""
        return delta.flatten(2).unflatten(1, (self.geometry.groups, -1))

    def _kernel_shape(self) -> tuple[int, ...]:
        return (*self.weight_shape[:2], *self.geometry.kernel)
