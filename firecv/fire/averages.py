"""Averages of fragments' models, and the weights of fragments that make such an average best.

The averaged model sum_i w_i theta_i is differentiated in w without stacking the theta_i: a pass
holds one average and one gradient beside the models themselves, however many these are. Where the
first layer is linear its outputs are averaged in place of its weights, which comes to the same and
is less to read in every pass, if samples are few. Weights are found by mirror ascent on the
simplex (Beck and Teboulle, Operations Research Letters 2003).

*Symbols*: strength = 1 / rho.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final, cast

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx
from torch.nn import functional

from firecv import tree
from firecv.fire.shares import check_strength, proportions
from firecv.fire.summaries import Vector
from firecv.models import LeadingLinear, Task, leading_linear
from firecv.tree import Tree

TOLERANCE: Final = 1e-6
"""Where no weight times its derivative exceeds it, nothing is left to gain: weights are reported
with three digits."""
LEAST_RISE: Final = 1e-8
"""At a kink of a piecewise linear network the derivative does not vanish; the gain does."""
MOST_STEPS: Final = 500
"""Some tens are usual."""
LEAST_START: Final = 1e-6
"""Of a weight to start from, so that no fragment is out for good."""
SAME: Final = 1e-4
"""Weights that differ less are one place to start from."""
FEW_MODELS: Final = 20
FEW_SAMPLES: Final = 100
"""Outputs of the first layer pay if FEW_MODELS / m + FEW_SAMPLES / n exceeds one, for m models and
n samples. They cost m n products per weight, once. A pass without them costs 4 n (forward and back
in double precision) and as much time as 20 m (weights are read twice), as measured on one machine;
there are five passes or more."""

Predict = Callable[[Tensor], Tensor]
"""From weights of fragments, of shape (m,), to log-probabilities, of shape (n_V, n_classes)."""


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
    first = leading_linear(task, x)
    if first is not None and parts.keys() >= {*first.names} and _pays(first, parts[first.weight]):
        outputs = _outputs(first, parts)
        parts = {name: parts[name] for name in names if name not in first.names}

        def predict_rest(w: Tensor) -> Tensor:
            mean = {name: _mean(w, values) for name, values in parts.items()}
            return torch.log_softmax(first.scores(_mean(w, outputs), rest | mean), 1)

        return predict_rest
    samples = x.double() if x.is_floating_point() else x

    def predict(w: Tensor) -> Tensor:
        mean = {name: _mean(w, values) for name, values in parts.items()}
        return torch.log_softmax(task.scores(samples, rest | mean), 1)

    return predict


def ascend(
    value_of: Callable[[Tensor], Tensor],
    sizes: Sequence[int],
    *,
    strength: float,
    also_from: Vector | None = None,
    least_rise: float = LEAST_RISE,
) -> Vector:
    """Return the w that maximizes a value - KL(w || n/N) / strength.

    Mirror ascent in which the divergence is exact and the value linearized; steps double after
    success and are halved until the value rises, so that no step lowers it. Stops when no entry
    of w * (gradient - mean gradient) exceeds 1e-6, when a step gains or promises no more than
    `least_rise`, or after 500 steps. There may be several maxima; this is the one that ascent from
    n/N leads to, or from other weights if that one is higher.

    Parameters
    ----------
    value_of
        A number, differentiable in w; where it is not finite, steps are shortened.
    sizes
        Samples of each fragment.
    strength
        How much the value counts; 0 gives n/N exactly and `value_of` is not called.
    also_from
        Weights to start from beside n/N.
    least_rise
        What a step has to gain, in units of the value.

    Examples
    --------
    >>> ascend(lambda w: 2 * w[0], [10, 30], strength=1.0).round(2)  # odds 1/3 exp(2)
    array([0.71, 0.29])
    """
    shares = proportions(sizes)
    check_strength(strength)
    if strength == 0 or len(shares) == 1:
        return shares
    log_shares, rho = np.log(shares), 1 / strength
    best, value = _climbed(value_of, log_shares, rho, log_shares, least_rise)
    if also_from is not None and not np.allclose(also_from, shares, rtol=0, atol=SAME):
        start = np.log(np.maximum(also_from, LEAST_START))
        start = start - np.logaddexp.reduce(start)
        other, reached = _climbed(value_of, log_shares, rho, start, least_rise)
        best = other if reached > value else best
    return np.exp(best)


def _climbed(
    value_of: Callable[[Tensor], Tensor],
    log_shares: Vector,
    rho: float,
    log_w: Vector,
    least_rise: float,
) -> tuple[Vector, float]:
    """Return the logarithm of the maximum that ascent leads to, and what is reached there."""
    found, gradient_of = _value(value_of, log_w)
    value, length = found - rho * float(np.exp(log_w) @ (log_w - log_shares)), 1.0
    for _ in range(MOST_STEPS):
        w = np.exp(log_w)
        slope = gradient_of() - rho * (log_w - log_shares)
        slope = slope - w @ slope
        if np.abs(w * slope).max() <= TOLERANCE:
            break
        while True:
            trial = log_w + length / (1 + length * rho) * slope
            trial = trial - np.logaddexp.reduce(trial)
            hoped = float(np.exp(trial) @ slope)
            if not hoped > least_rise:  # nor if it is NaN
                return log_w, value
            found, new_gradient_of = _value(value_of, trial)
            new = found - rho * float(np.exp(trial) @ (trial - log_shares))
            if math.isfinite(new) and new >= value + 0.1 * hoped:
                break
            length /= 2
        rise = new - value
        log_w, value, gradient_of, length = trial, new, new_gradient_of, 2 * length
        if rise <= least_rise:
            break
    return log_w, value


def _pays(first: LeadingLinear, weights: Sequence[Tensor]) -> bool:
    """Return whether to average the outputs of the first layer in place of its weights."""
    n, n_inputs = first.inputs.shape
    same = all(value.dtype == first.inputs.dtype for value in weights)
    return same and 2 * n <= n_inputs and FEW_MODELS / len(weights) + FEW_SAMPLES / n > 1


def _outputs(first: LeadingLinear, parts: dict[str, list[Tensor]]) -> list[Tensor]:
    """Return the outputs of every fragment's first layer."""
    biases = [None] * len(parts[first.weight]) if first.bias is None else parts[first.bias]
    pairs = zip(parts[first.weight], biases, strict=True)
    with torch.no_grad():
        return [functional.linear(first.inputs, weight, bias) for weight, bias in pairs]


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
        found = torch.stack([torch.dot(value.flatten(), flat) for value in values]).double()
        if not bool(found.isfinite().all()):  # a model so large that single precision overflows
            flat = slope.flatten()
            found = torch.stack([torch.dot(value.flatten().double(), flat) for value in values])
        return found.cpu(), *(None for _ in values)


def _mean(w: Tensor, values: Sequence[Tensor]) -> Tensor:
    """Return sum_i w_i v_i, differentiable in w; whole numbers, such as counts, as they are."""
    if not values[0].is_floating_point():
        return values[0]
    return cast(Tensor, _Mean.apply(w, *values))


def _value(
    value_of: Callable[[Tensor], Tensor], log_w: Vector
) -> tuple[float, Callable[[], Vector]]:
    """Return the value, and a function that returns its gradient in w: not every one is needed."""
    w = torch.from_numpy(np.exp(log_w)).requires_grad_()
    with torch.enable_grad():
        value = value_of(w)
    return value.item(), lambda: torch.autograd.grad(value, w)[0].numpy()
