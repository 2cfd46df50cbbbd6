"""What a loss is beside the mean cross-entropy, seen from its gradient at the scores.

Reduction, gradient accumulation, a gradient scaler's factor, class weights and sample weights all
show there: for the mean cross-entropy the gradient is q = (p - one_hot(y)) / n, and each of them
multiplies its rows. So nobody has to be asked.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

TOLERANCE = {torch.float64: 1e-8, torch.float32: 1e-4}


class Scale(NamedTuple):
    """How a loss relates to the mean cross-entropy of its batch.

    Attributes
    ----------
    factor
        What the mean cross-entropy is multiplied with; for weighted samples, the sum of what each
        is multiplied with. None if the loss is none of these.
    is_plain
        Whether all samples have the same weight.
    """

    factor: float | None
    is_plain: bool


def scale_of(gradient: Tensor, scores: Tensor, y: Tensor) -> Scale:
    """Return what a loss is beside the mean cross-entropy.

    Parameters
    ----------
    gradient
        Of the loss with respect to the scores.
    scores
        Class scores, (n_samples, n_classes).
    y
        Labels.

    Examples
    --------
    >>> scores, y = torch.randn(8, 3, requires_grad=True), torch.arange(8) % 3
    >>> loss = functional.cross_entropy(scores, y, reduction="sum") / 2
    >>> found = scale_of(*torch.autograd.grad(loss, scores), scores, y)
    >>> round(found.factor, 4), found.is_plain
    (4.0, True)
    """
    kind = torch.promote_types(torch.float32, scores.dtype)
    with torch.no_grad():
        found = gradient.to(kind)
        wanted = functional.softmax(scores.to(kind), 1)
        wanted.scatter_add_(1, y[:, None], wanted.new_full((len(y), 1), -1.0))
        flat, aim = found.flatten(), wanted.flatten()
        mass = float(torch.dot(aim, aim)) / len(y)
        if not mass > 0:  # every sample fits perfectly: there is no gradient at all
            return Scale(1.0, is_plain=True)
        factor = float(torch.dot(flat, aim)) / mass
        tolerance = TOLERANCE.get(scores.dtype, 0.05) * float(flat.norm())
        if factor > 0 and float(flat.sub(aim, alpha=factor / len(y)).norm()) <= tolerance:
            return Scale(factor, is_plain=True)
        return _weighted(found, wanted, tolerance)


def _weighted(found: Tensor, wanted: Tensor, tolerance: float) -> Scale:
    """Return the scale of a loss whose samples have weights, if that is what it is."""
    mass = wanted.square().sum(1).clamp_min(torch.finfo(wanted.dtype).tiny)
    rows = (found * wanted).sum(1) / mass
    if float((found - rows[:, None] * wanted).norm()) <= tolerance:
        return Scale(float(rows.sum()), is_plain=False)
    return Scale(None, is_plain=False)


def is_still(scale: Scale, gradient: Tensor, scores: Tensor, y: Tensor, row: int) -> bool:
    """Tell by one sample whether a loss is the same multiple of the mean as it was; cheap.

    Parameters
    ----------
    scale
        What it was; only a plain one can be told.
    gradient, scores, y
        As for `scale_of`.
    row
        The sample to look at; take another one each time.
    """
    if not scale.is_plain or scale.factor is None:
        return False
    found, own, label = gradient[row].tolist(), scores[row].tolist(), int(y[row])
    most = max(own)
    weights = [math.exp(value - most) for value in own]
    total = sum(weights)
    wanted = [scale.factor * w / total / len(y) for w in weights]
    wanted[label] -= scale.factor / len(y)
    size = math.hypot(*wanted)
    tolerance = 10 * TOLERANCE.get(scores.dtype, 0.05)
    return math.hypot(*(a - b for a, b in zip(found, wanted, strict=True))) <= tolerance * size
