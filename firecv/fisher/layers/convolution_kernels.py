"""Kernels of convolutions: products of what the kernel sees with the output gradients.

Inputs are cut into windows along the width only, and each row of the kernel is one batched
product with row-shifted views of those windows; thin inputs and grouped convolutions go through a
plain unfold. Samples come a few at a time, so that what is in between stays in the cache.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.grad import conv2d_input, conv2d_weight

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


def weight_gradients(x: Tensor, delta: Tensor, geometry: Geometry) -> Tensor:
    """Return the weight gradient of every sample, (n, outputs, inputs per group, height, width)."""
    return cast(Tensor, _WeightGradients.apply(x, delta, geometry))


def weight_total(x: Tensor, delta: Tensor, geometry: Geometry) -> Tensor:
    """Return the sum of the samples' weight gradients, as autograd computes it."""
    shape = (delta.shape[1], x.shape[1] // geometry.groups, *geometry.kernel)
    settings = cast(Any, (geometry.stride, 0, geometry.dilation, geometry.groups))
    return conv2d_weight(x, shape, delta, *settings)


def weight_sums(x: Tensor, delta: Tensor, geometry: Geometry) -> tuple[Tensor, Tensor]:
    """Return the sum and the sum of squares of the samples' weight gradients."""
    kernel = _kernel_for(x, geometry)
    sums: list[Tensor] = []
    squares: list[Tensor] = []
    for start, index, gradients in kernel.pieces(x, delta, geometry):
        part, square = gradients.sum(0), gradients.square_().sum(0)
        if start == 0:
            sums.append(part)
            squares.append(square)
        else:
            sums[index] += part
            squares[index] += square
    return kernel.join(sums, geometry).contiguous(), kernel.join(squares, geometry).contiguous()


def input_products(x: Tensor, positions: torch.Size, geometry: Geometry) -> tuple[Tensor, Tensor]:
    """Return the sums of a a' and of a over samples and positions, a what the kernel sees."""
    if is_thin(x, geometry):
        patches = unfold(x, geometry)[:, 0].transpose(0, 1).flatten(1)
        return patches @ patches.T, patches.sum(1)
    rows, columns = geometry.kernel
    width, channels = columns * x.shape[1], x.shape[1]
    products = x.new_zeros(rows, width, rows, width)
    sums = x.new_zeros(rows, width)
    for _, lines in _windows(x, positions, geometry):
        ones = x.new_ones(*lines[0].shape[:2], 1).mT
        for row in range(rows):
            sums[row] += torch.bmm(ones, lines[row]).sum((0, 1))
            for other in range(row, rows):
                products[row, :, other] += torch.bmm(lines[row].mT, lines[other]).sum(0)
    for row in range(rows):
        for other in range(row):
            products[row, :, other] = products[other, :, row].T
    shape = (rows, columns, channels)
    ordered = products.reshape(*shape, *shape).permute(2, 0, 1, 5, 3, 4)  # as weights are
    side = rows * width
    return ordered.reshape(side, side), sums.reshape(shape).permute(2, 0, 1).flatten()


def output_products(delta: Tensor) -> Tensor:
    """Return the sum of delta delta' over samples and positions."""
    result = delta.new_zeros(delta.shape[1], delta.shape[1])
    for part in delta.split(CHUNK_SAMPLES):
        rows = part.flatten(2)
        result += torch.bmm(rows, rows.mT).sum(0)
    return result


class _WeightGradients(torch.autograd.Function):
    """All samples' weight gradients, (n, outputs, inputs per group, height, width).

    They are linear in the inputs and in the output gradients, so their derivatives are a
    convolution and a transposed one with one kernel per sample: grouped convolutions.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, delta: Tensor, geometry: Geometry) -> Tensor:
        ctx.save_for_backward(x, delta)
        ctx.geometry = geometry
        kernel = _kernel_for(x, geometry)
        return kernel.join(kernel.all_pieces(x, delta, geometry), geometry)

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        (x, delta), geometry = ctx.saved_tensors, ctx.geometry
        n, n_outputs = delta.shape[:2]
        # Kernels with channels last would make their results so, for which one sample is slow.
        kernels = outputs[0].reshape(n * n_outputs, -1, *geometry.kernel).contiguous()
        groups = n * geometry.groups
        of_x = of_delta = None
        if ctx.needs_input_grad[0]:
            shape = (1, n * x.shape[1], *x.shape[2:])
            pulled = delta.reshape(1, n * n_outputs, *delta.shape[2:])
            settings = cast(Any, (geometry.stride, 0, geometry.dilation, groups))
            of_x = _laid_out_like(
                x, conv2d_input(shape, kernels, pulled, *settings).reshape(x.shape)
            )
        if ctx.needs_input_grad[1] and geometry.groups == 1 and is_thin(x, geometry):
            patches, pulls = unfold(x, geometry)[:, 0], outputs[0].flatten(2)
            last = delta.stride(1) == 1  # channels are last
            products = (patches.mT @ pulls.mT).mT if last else pulls @ patches
            of_delta = products.unflatten(2, delta.shape[2:])
        elif ctx.needs_input_grad[1]:
            images = x.reshape(1, n * x.shape[1], *x.shape[2:])
            of_delta = functional.conv2d(
                images, kernels, None, geometry.stride, 0, geometry.dilation, groups
            ).reshape(delta.shape)
            of_delta = _laid_out_like(delta, of_delta)
        return of_x, of_delta, None


def _laid_out_like(values: Tensor, result: Tensor) -> Tensor:
    """Return `result` in the memory format of `values`, as mixed formats are slow downstream."""
    last = values.is_contiguous(memory_format=torch.channels_last)
    return result.contiguous(memory_format=torch.channels_last) if last else result


class _Kernel(NamedTuple):
    """A way to weight gradients of single samples, a few samples at a time.

    `pieces` yields the number of the first sample, the number of the piece and the piece, whose
    first axis runs over samples; it is overwritten when the next is asked for. `all_pieces` returns
    each piece for all samples. `join` makes pieces, or sums over their samples, one array
    (..., outputs, inputs, height, width).
    """

    pieces: Callable[[Tensor, Tensor, Geometry], Iterator[tuple[int, int, Tensor]]]
    all_pieces: Callable[[Tensor, Tensor, Geometry], list[Tensor]]
    join: Callable[[list[Tensor], Geometry], Tensor]


def _kernel_for(x: Tensor, geometry: Geometry) -> _Kernel:
    if geometry.groups > 1 or is_thin(x, geometry):
        return _Kernel(_by_unfold, _all_by_unfold, _join_groups)
    return _Kernel(_by_rows, _all_by_rows, _join_rows)


def _by_unfold(x: Tensor, delta: Tensor, geometry: Geometry) -> Iterator[tuple[int, int, Tensor]]:
    # Products are fast when their right side runs along memory: outputs if channels are last.
    channels_last = delta.stride(1) == 1
    for start in range(0, x.shape[0], CHUNK_SAMPLES):
        part = slice(start, start + CHUNK_SAMPLES)
        patches, pulled = unfold(x[part], geometry), by_group(delta[part], geometry)
        yield start, 0, (patches @ pulled.mT).mT if channels_last else pulled @ patches.mT


def _all_by_unfold(x: Tensor, delta: Tensor, geometry: Geometry) -> list[Tensor]:
    return [torch.cat([gradients for _, _, gradients in _by_unfold(x, delta, geometry)])]


def _join_groups(pieces: list[Tensor], geometry: Geometry) -> Tensor:
    (gradients,) = pieces  # (..., groups, outputs per group, inputs)
    return gradients.flatten(-3, -2).unflatten(-1, (-1, *geometry.kernel))


def _by_rows(x: Tensor, delta: Tensor, geometry: Geometry) -> Iterator[tuple[int, int, Tensor]]:
    pulled = delta.flatten(2)
    size, width = min(CHUNK_SAMPLES, x.shape[0]), geometry.kernel[1] * x.shape[1]
    gradients = x.new_empty(size, delta.shape[1], width)
    for start, lines in _windows(x, delta.shape[2:], geometry):
        m = lines[0].shape[0]
        for row, a in enumerate(lines):
            yield start, row, torch.bmm(pulled[start : start + m], a, out=gradients[:m])


def _windows(
    x: Tensor, positions: torch.Size, geometry: Geometry
) -> Iterator[tuple[int, list[Tensor]]]:
    """Yield what each row of the kernel sees of a few samples, (n, positions, width * inputs).

    Overwritten when the next are asked for.
    """
    (rows, columns), (stride, step) = geometry.kernel, geometry.stride
    down, across = geometry.dilation
    n, channels, height, _ = x.shape
    out_height, out_width = positions
    images = x.permute(0, 2, 3, 1)
    size, span = min(CHUNK_SAMPLES, n), (columns - 1) * across + 1
    windows = x.new_empty(size, height, out_width, columns, channels)
    for start in range(0, n, size):
        m = min(size, n - start)
        view = images[start : start + m].unfold(2, span, step)[:, :, :out_width]
        windows[:m].copy_(view[..., ::across].transpose(3, 4))
        tops = range(0, rows * down, down)
        lines = [windows[:m, t : t + (out_height - 1) * stride + 1 : stride] for t in tops]
        yield start, [line.reshape(m, out_height * out_width, -1) for line in lines]


def _all_by_rows(x: Tensor, delta: Tensor, geometry: Geometry) -> list[Tensor]:
    pulled, width = delta.flatten(2), geometry.kernel[1] * x.shape[1]
    result = x.new_empty(x.shape[0], geometry.kernel[0], delta.shape[1], width)
    for start, lines in _windows(x, delta.shape[2:], geometry):
        part = slice(start, start + lines[0].shape[0])
        for row, a in enumerate(lines):
            torch.bmm(pulled[part], a, out=result[part, row])
    return list(result.unbind(1))


def _join_rows(pieces: list[Tensor], geometry: Geometry) -> Tensor:
    stacked = torch.stack(pieces, -2)  # (..., outputs, height, width * inputs)
    return stacked.unflatten(-1, (geometry.kernel[1], -1)).movedim(-1, -3)


def is_thin(x: Tensor, geometry: Geometry) -> bool:
    """Tell whether a row of the kernel is too short for a product of its own."""
    return x.shape[1] * geometry.kernel[1] < THIN


def unfold(x: Tensor, geometry: Geometry) -> Tensor:
    """Return what the kernel sees, (n_samples, groups, inputs per group, positions)."""
    patches = functional.unfold(x, geometry.kernel, geometry.dilation, 0, geometry.stride)
    return patches.unflatten(1, (geometry.groups, -1))


def by_group(delta: Tensor, geometry: Geometry) -> Tensor:
    """Return output gradients as (n_samples, groups, outputs per group, positions)."""
    return delta.flatten(2).unflatten(1, (geometry.groups, -1))
