"""Whether two passes of a model agree: which axis grew with the samples, which gradients match."""

import torch
from torch import Tensor

MISSING = -1
"""Axis of the samples in something that has none."""


def grown(x: Tensor | None, more: Tensor | None, n: int) -> int:
    """Return the axis along which a layer's input grew by one sample, the others unchanged."""
    if x is None or more is None or x.ndim != more.ndim:
        return MISSING
    pairs = list(zip(x.shape, more.shape, strict=True))
    grown = [axis for axis, (before, after) in enumerate(pairs) if before != after]
    if len(grown) != 1 or pairs[grown[0]] != (n, n + 1):
        return MISSING
    first = more.detach().narrow(grown[0], 0, n).double()
    same = torch.allclose(x.detach().double(), first, rtol=1e-3, atol=1e-5, equal_nan=True)
    return grown[0] if same else MISSING  # or the model moves samples about


def agree(total: Tensor, gradient: Tensor | None, squared_size: Tensor, *, coarse: bool) -> bool:
    """Tell whether two gradients are equal up to rounding, of terms of this size."""
    if gradient is None:
        return not bool(total.any())
    tolerance = {torch.float64: 1e-8, torch.float32: 1e-3}.get(gradient.dtype, 0.1)
    tolerance = 0.1 if coarse else tolerance
    largest = max(float(squared_size.max()) ** 0.5, float(gradient.abs().max()))
    difference = (total - gradient.to(total)).abs().max()
    return not float(difference) > tolerance * largest  # NaN is somebody else's business
