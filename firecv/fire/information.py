"""Rule `information`: the average of the fragments' models that is most informative about V.

w maximises I_V(w) - rho KL(w || n/N) over the simplex, I_V(w) = H(mean_V p) - mean_V H(p), p the
predictions on V of the model averaged with w, H Shannon's entropy: the averaged model should be
sure of each sample and yet tell samples apart. Fragments report nothing beyond their weights, and
V's labels are not used.

*Symbols*: strength = 1 / rho.
"""

import math
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from firecv import tree
from firecv.errors import DataError
from firecv.fire.batch_norm import DifferentiableBatchNorm
from firecv.fire.shares import check_strength, proportions
from firecv.fire.summaries import Vector
from firecv.fisher.recorder import eval_mode
from firecv.models import Task
from firecv.tree import Tree

TOLERANCE = 1e-6
LEAST_RISE = 1e-8
MOST_STEPS = 500
LEAST_START = 1e-6
"""Of a weight to start from, so that no fragment is out for good."""
SAME = 1e-4
"""Weights that differ less are one place to start from."""

Predict = Callable[[Tensor], Tensor]
"""From weights of fragments, of shape (m,), to log-probabilities, of shape (n_V, n_classes)."""


def information(
    task: Task,
    fragment_weights: Sequence[Tree],
    x: Tensor,
    sizes: Sequence[int],
    *,
    strength: float = 2.0,
    also_from: Vector | None = None,
) -> Vector:
    """Return the weights with which the averaged model is most informative about V.

    Each step costs one pass forward and one back of the averaged model on V, in double precision,
    and O(m d) for the average; some tens of steps suffice.

    Parameters
    ----------
    task
        The model; it is run in eval mode.
    fragment_weights
        The model's weights as trained by each fragment.
    x
        Samples of V, two or more.
    sizes
        Samples of each fragment.
    strength
        How much information counts against staying at n/N; 0 gives n/N exactly.
    also_from
        Weights to start from beside n/N, such as those of the refresh before.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(1, 2, bias=False))
    >>> good, poor = ({"weight": torch.tensor([[-s], [s]])} for s in (2.0, 0.0))
    >>> x = torch.tensor([[-1.0], [1.0]])
    >>> information(task, [good, poor], x, [50, 50]).round(2)
    array([0.75, 0.25])
    """
    shares = proportions(sizes)
    check_strength(strength)
    if strength == 0 or len(shares) == 1:
        return shares
    if len(fragment_weights) != len(shares) or len(x) < 2:
        raise DataError(
            f"got the weights of {len(fragment_weights)} fragments, {len(shares)} sizes and "
            f"{len(x)} validation samples; give weights and size of each fragment and two samples "
            f"or more"
        )
    with eval_mode(task.model), DifferentiableBatchNorm():
        predict = averaged(task, fragment_weights, x)
        return most_informative(predict, sizes, strength=strength, also_from=also_from)


def averaged(task: Task, fragment_weights: Sequence[Tree], x: Tensor) -> Predict:
    """Return a function from weights of fragments to log-probabilities of the averaged model.

    Parameters
    ----------
    task
        The model, in eval mode.
    fragment_weights
        The model's weights as trained by each fragment.
    x
        Samples to predict.
    """
    for weights in fragment_weights[1:]:
        tree.check_match(fragment_weights[0], weights)
    rest = {name: value.double() for name, value in task.weights().items()}
    names = list(fragment_weights[0])
    parts = {name: [weights[name].detach() for weights in fragment_weights] for name in names}
    samples = x.double() if x.is_floating_point() else x

    def predict(w: Tensor) -> Tensor:
        mean = {name: _mean(w, values) for name, values in parts.items()}
        return torch.log_softmax(task.scores(samples, rest | mean), 1)

    return predict


def most_informative(
    predict: Predict,
    sizes: Sequence[int],
    *,
    strength: float = 2.0,
    also_from: Vector | None = None,
) -> Vector:
    """Return the w that maximises I_V(w) - KL(w || n/N) / strength, from n/N uphill.

    Mirror ascent in which the divergence is exact and information linearised; steps double after
    success and are halved until the value rises, so that no step lowers it. Stops when no entry
    of w * (gradient - mean gradient) exceeds 1e-6, when a step gains or promises no more than 1e-8
    (at a kink of a piecewise linear network the gradient does not vanish), or after 500 steps. The
    objective may have several maxima; this is the one uphill of n/N, or of other weights if that
    one is higher.

    Parameters
    ----------
    predict
        Log-probabilities on V of the model averaged with w, differentiable in w.
    sizes
        Samples of each fragment.
    strength
        How much information counts; 0 gives n/N exactly and `predict` is not called.
    also_from
        Weights to start from beside n/N.
    """
    return uphill(lambda w: informative(predict(w)), sizes, strength=strength, also_from=also_from)


def uphill(
    value_of: Callable[[Tensor], Tensor],
    sizes: Sequence[int],
    *,
    strength: float,
    also_from: Vector | None = None,
) -> Vector:
    """Return the w that maximises a value - KL(w || n/N) / strength, as `most_informative` does.

    Parameters
    ----------
    value_of
        A number, differentiable in w.
    sizes
        Samples of each fragment.
    strength
        How much the value counts; 0 gives n/N exactly and `value_of` is not called.
    also_from
        Weights to start from beside n/N.
    """
    shares = proportions(sizes)
    check_strength(strength)
    if strength == 0 or len(shares) == 1:
        return shares
    log_shares, rho = np.log(shares), 1 / strength
    best, value = _climbed(value_of, log_shares, rho, log_shares)
    if also_from is not None and not np.allclose(also_from, shares, rtol=0, atol=SAME):
        start = np.log(np.maximum(also_from, LEAST_START))
        other, reached = _climbed(value_of, log_shares, rho, start - np.logaddexp.reduce(start))
        best = other if reached > value else best
    return np.exp(best)


def _climbed(
    value_of: Callable[[Tensor], Tensor], log_shares: Vector, rho: float, log_w: Vector
) -> tuple[Vector, float]:
    """Return the logarithm of the maximum uphill of given weights, and what is reached there."""
    found, gradient = _value(value_of, log_w)
    value, length = found - rho * float(np.exp(log_w) @ (log_w - log_shares)), 1.0
    for _ in range(MOST_STEPS):
        w = np.exp(log_w)
        slope = gradient - rho * (log_w - log_shares)
        slope = slope - w @ slope
        if np.abs(w * slope).max() <= TOLERANCE:
            break
        while True:
            trial = log_w + length / (1 + length * rho) * slope
            trial = trial - np.logaddexp.reduce(trial)
            hoped = float(np.exp(trial) @ slope)
            if hoped <= LEAST_RISE:
                return log_w, value
            found, new_gradient = _value(value_of, trial)
            new = found - rho * float(np.exp(trial) @ (trial - log_shares))
            if new >= value + 0.1 * hoped:
                break
            length /= 2
        rise = new - value
        log_w, value, gradient, length = trial, new, new_gradient, 2 * length
        if rise <= LEAST_RISE:
            break
    return log_w, value


class _Mean(torch.autograd.Function):
    """sum_i w_i v_i in the precision of the values, which are read where they are, not stacked."""

    @staticmethod
    def forward(ctx: FunctionCtx, w: Tensor, *values: Tensor) -> Tensor:  # pyright: ignore
        """Return the mean in double precision."""
        ctx.values = values  # pyright: ignore[reportAttributeAccessIssue]
        mean = torch.zeros_like(values[0])
        for share, value in zip(w.tolist(), values, strict=True):
            mean.add_(value, alpha=share)
        return mean.double()

    @staticmethod
    def backward(ctx: FunctionCtx, slope: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore
        """Return the inner products of the slope with every value."""
        values: tuple[Tensor, ...] = ctx.values  # pyright: ignore[reportAttributeAccessIssue]
        flat = slope.to(values[0].dtype).flatten()
        found = torch.stack([torch.dot(value.flatten(), flat) for value in values])
        return found.double().cpu(), *(None for _ in values)


def _mean(w: Tensor, values: Sequence[Tensor]) -> Tensor:
    """Return sum_i w_i v_i, differentiable in w; whole numbers, such as counts, as they are."""
    if not values[0].is_floating_point():
        return values[0]
    return cast(Tensor, _Mean.apply(w, *values))


def _value(value_of: Callable[[Tensor], Tensor], log_w: Vector) -> tuple[float, Vector]:
    """Return the value and its gradient in w."""
    w = torch.from_numpy(np.exp(log_w)).requires_grad_()
    with torch.enable_grad():
        value = value_of(w)
        (gradient,) = torch.autograd.grad(value, w)
    return value.item(), gradient.numpy()


def informative(log_p: Tensor) -> Tensor:
    """Return I_V of log-probabilities of shape (n_V, n_classes), from 0 to the log of n_classes.

    Examples
    --------
    >>> sure_of_different_classes = torch.tensor([[1.0, 1e-9], [1e-9, 1.0]]).log()
    >>> round(float(informative(sure_of_different_classes)), 3)
    0.693
    """
    if not bool(log_p.isfinite().all()):
        raise DataError(
            "predictions of the averaged model on the validation set are not finite; a "
            "fragment's weights or a sample holds NaN or infinite values"
        )
    log_mean = torch.logsumexp(log_p, 0) - math.log(len(log_p))
    return (log_p.exp() * (log_p - log_mean)).sum(1).mean()
