"""Rule `likelihood`: the average of the fragments' models under which V's labels are most likely.

w maximizes the mean log-likelihood of labeled V under the model averaged with w, less
rho KL(w || n/N), over the simplex. With D = [theta_i - theta], theta the average at n/N and dw the
change of weights, it is g' D dw - dw' D' F_V D dw / 2 to second order, g the gradient of V's
log-likelihood and F_V its Fisher information: V's Fisher is the metric in which fragments are
compared. Fragments send their weights and nothing else.

Learned weights of clients are also FedLAW's (Li, Lin, Shang, Wu, ICML 2023, arXiv 2302.10911),
which has a shrinking factor in place of the divergence and neither bounds nor restarts.

*Symbols*: strength = 1 / rho.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from torch import Tensor
from torch.nn import functional

from firecv.errors import DataError
from firecv.fire.averages import ascend, averaged
from firecv.fire.batch_norm import DifferentiableBatchNorm
from firecv.fire.shares import check_strength, proportions
from firecv.fire.summaries import Vector
from firecv.fisher.recorder import eval_mode
from firecv.models import Task
from firecv.tree import Tree

LEAST_RISE: Final = 1e-5
"""Nats, far below what sampling V does to a mean over some hundred labels. Under label skew, where
ascent is slow, weights are within 0.01 of those at 1e-8, for less than half of the steps."""


def likelihood(
    task: Task,
    fragment_weights: Sequence[Tree],
    x: Tensor,
    y: Tensor,
    sizes: Sequence[int],
    *,
    strength: float | None = None,
    also_from: Vector | None = None,
) -> Vector:
    """Return the weights with which the averaged model makes V's labels most likely.

    Each step costs one pass forward and one back of the averaged model on V, in double precision,
    and O(m d) for the average; some tens to two hundred steps suffice. A model with NaN or
    infinities gets no weight.

    Parameters
    ----------
    task
        The model; it is run in eval mode.
    fragment_weights
        The model's weights as trained by each fragment.
    x, y
        Samples of V and their labels.
    sizes
        Samples of each fragment.
    strength
        1 / rho: how much likelihood counts against staying at n/N; 0 gives n/N exactly. The root
        of the number of samples unless given: as a mean over V strays by about its inverse, few
        labels move weights less. In trials with other seeds than the tables', 10 labels lost to
        FedAvg under label skew at the rho of 0.1 that suits 50 to 200.
    also_from
        Weights to start from beside n/N, such as those of the refresh before; the better of the
        two maxima is kept.

    Examples
    --------
    >>> import torch
    >>> task = Task(torch.nn.Linear(1, 2, bias=False))
    >>> right, wrong = ({"weight": torch.tensor([[-s], [s]])} for s in (1.0, -1.0))
    >>> x, y = torch.tensor([[-1.0], [1.0]]), torch.tensor([0, 1])
    >>> likelihood(task, [right, wrong], x.repeat(50, 1), y.repeat(50), [50, 50]).round(2)
    array([0.99, 0.01])
    """
    shares = proportions(sizes)
    strength = default_strength(len(x)) if strength is None else strength
    check_strength(strength)
    if strength == 0 or len(shares) == 1:
        return shares
    if len(fragment_weights) != len(shares) or not 0 < len(x) == len(y):
        raise DataError(
            f"got the weights of {len(fragment_weights)} fragments, {len(shares)} sizes, "
            f"{len(x)} validation samples and {len(y)} labels; give weights and size of each "
            f"fragment and a label for each sample"
        )
    kept = [k for k, weights in enumerate(fragment_weights) if _is_finite(weights)]
    if not kept:
        raise DataError("the weights of all fragments hold NaN or infinite values")
    start = None if also_from is None else also_from[kept]
    if start is not None:
        start = start / start.sum() if start.sum() > 0 else None
    weights = np.zeros(len(shares))
    with eval_mode(task.model), DifferentiableBatchNorm():
        value_of = mean_log_likelihood(task, [fragment_weights[k] for k in kept], x, y)
        sizes = [sizes[k] for k in kept]
        weights[kept] = ascend(
            value_of, sizes, strength=strength, also_from=start, least_rise=LEAST_RISE
        )
    return weights


def default_strength(n_samples: int) -> float:
    """Return 1 / rho by the number of V's samples.

    Examples
    --------
    >>> default_strength(100)
    10.0
    """
    return math.sqrt(n_samples)


def mean_log_likelihood(
    task: Task, fragment_weights: Sequence[Tree], x: Tensor, y: Tensor
) -> Callable[[Tensor], Tensor]:
    """Return a function from weights of fragments to V's mean log-likelihood, differentiable.

    Parameters
    ----------
    task
        The model, in eval mode.
    fragment_weights, x, y
        As for `likelihood`.
    """
    predict = averaged(task, fragment_weights, x)
    return lambda w: -functional.nll_loss(predict(w), y)


def _is_finite(weights: Tree) -> bool:
    """Return whether there is no NaN or infinity, which a finite sum says soonest."""
    return all(
        math.isfinite(value.sum().item()) or bool(value.isfinite().all())
        for value in weights.values()
    )
