"""The server step: the average of clients' models, trained on V as far as that helps.

A few gradient steps on V's loss from the average, held by the proximal term of the form
`quadratic` with the identity as metric: theta <- (theta - lr g + lr h anchor) / (1 + lr h), the
anchor being the average and h the hold. Few labels overfit, so the hold, which may be infinite (no
step at all), is chosen by cross-fitting: the step is taken without a fifth of V and scored on it.
A gain within its standard error is no gain: without this guard 10 labels cost 3 points in the world
bands and 50 labels half a point where clients are alike, on four seeds that no table has.

In prototypes V's Fisher and the clients' accumulated Fisher as metric did no better than the
identity, which needs no estimate.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from firecv import tree
from firecv.errors import DataError
from firecv.fisher.recorder import eval_mode
from firecv.models import LeadingLinear, Task, leading_linear
from firecv.tree import Tree

NO_STEP: Final = math.inf
"""The hold under which the average stays as it is."""
HOLDS: Final = (10.0, 3.0, 1.0, 0.3, 0.1, 0.0)
"""From strong over half a decade each to free. With 20 steps at rate 0.05, of which the product is
one, a hold of 1 is where pull and gradient have acted for as long."""
N_STEPS: Final = 20
LR: Final = 0.05
"""The clients' learning rate in the worlds of the tables. 5 and 50 steps, and a rate of 0.1, were
tried beside these on two seeds that no table has, in four worlds with 50 labels. Steps that are too
long for a model lose to none in cross-fitting."""
N_FOLDS: Final = 5
"""As `firecv.fire.weigh.crossfit`."""
EVERY: Final = 5
"""Rounds from one choice of the hold to the next, as refreshes of Fishers in the paper."""


def chosen_hold(
    task: Task,
    weights: Tree,
    x: Tensor,
    y: Tensor,
    *,
    rng: np.random.Generator,
    holds: Sequence[float] = HOLDS,
) -> float:
    """Return the hold whose step has the least cross-fitted loss on V; the strongest of equals.

    There is no step unless it lowers that loss by more than the standard error of the difference,
    the guard that FIRE's weights have in one process too.

    Parameters
    ----------
    task
        The model; it is run in eval mode.
    weights
        The average to start from.
    x, y
        Samples of V and their labels.
    rng
        Draws the folds.
    holds
        Those to choose from, beside no step.

    Examples
    --------
    >>> from firecv.seeding import derive
    >>> task, x = Task(torch.nn.Linear(2, 2, bias=False)), torch.eye(2).repeat(10, 1)
    >>> unlearned = {"weight": torch.zeros(2, 2)}
    >>> for y in (x.argmax(1), torch.tensor([0, 0, 1, 1]).repeat(5)):  # all to learn, or nothing
    ...     print(chosen_hold(task, unlearned, x, y, rng=derive(0, "folds"), holds=(0.0,)))
    0.0
    inf
    """
    losses = crossfitted(task, weights, x, y, rng=rng, holds=(NO_STEP, *holds))
    unmoved, losses = losses[0], losses[1:]
    means = [float(loss.mean()) for loss in losses]
    strongest_first = sorted(range(len(holds)), key=lambda k: -holds[k])
    best = min(strongest_first, key=lambda k: means[k] if math.isfinite(means[k]) else math.inf)
    gain = unmoved - losses[best]
    error = float(gain.std()) / math.sqrt(len(gain)) if len(gain) > 1 else math.inf
    return holds[best] if float(gain.mean()) > error else NO_STEP


def crossfitted(
    task: Task,
    weights: Tree,
    x: Tensor,
    y: Tensor,
    *,
    rng: np.random.Generator,
    holds: Sequence[float] = HOLDS,
) -> list[Tensor]:
    """Return for each hold the losses of V's samples after steps that were taken without them.

    Parameters
    ----------
    task, weights, x, y, rng, holds
        As for `chosen_hold`.
    """
    _check(x, y)
    n_folds = min(N_FOLDS, len(x))
    fold = torch.from_numpy(rng.permutation(len(x)) % n_folds)
    losses = [torch.zeros(len(x), dtype=torch.float64) for _ in holds]
    for hold, loss in zip(holds, losses, strict=True):
        for k in range(n_folds if len(x) > 1 else 0):
            rest, out = (fold != k).to(x.device), (fold == k).to(x.device)
            stepped = server_step(task, weights, x[rest], y[rest], hold)
            with torch.no_grad(), eval_mode(task.model):
                scores = task.scores(x[out], stepped)
                each = functional.cross_entropy(scores, y[out], reduction="none")
            loss[fold == k] = each.cpu().double()
    return losses


def server_step(task: Task, weights: Tree, x: Tensor, y: Tensor, hold: float) -> Tree:
    """Return weights after steps on V's loss, held to where they began; those given stay.

    Buffers stay as they are, as does everything if the steps lead to NaN or infinities.

    Parameters
    ----------
    task
        The model; it is run in eval mode.
    weights
        The average to start from.
    x, y
        Samples of V and their labels.
    hold
        How strongly the step is held; `NO_STEP` returns `weights`.

    Examples
    --------
    >>> task, x, y = Task(torch.nn.Linear(1, 2, bias=False)), torch.ones(5, 1), torch.ones(5).long()
    >>> start = {"weight": torch.zeros(2, 1)}
    >>> for hold in (0.0, 3.0, NO_STEP):
    ...     stepped = server_step(task, start, x, y, hold)
    ...     print(hold, task.scores(x[:1], stepped).softmax(1)[0, 1].detach().numpy().round(2))
    0.0 0.69
    3.0 0.57
    inf 0.5
    """
    _check(x, y)
    if hold == NO_STEP:
        return weights
    anchor = {name: value.detach() for name, value in weights.items()}
    first = leading_linear(task, x)
    with eval_mode(task.model), torch.enable_grad():
        if first is not None and _pays(task, first):
            moved = _moved_by_outputs(task, first, anchor, y, hold)
        else:
            moved = _moved(task, anchor, x, y, hold)
    is_finite = all(bool(value.isfinite().all()) for value in moved.values())
    return anchor | moved if is_finite else weights


def _moved(task: Task, anchor: Tree, x: Tensor, y: Tensor, hold: float) -> Tree:
    """Return the trainable weights after all steps."""
    moved = tree.copies(task.keep_trainable(anchor))
    for _ in range(N_STEPS):
        live = {name: value.requires_grad_() for name, value in moved.items()}
        loss = functional.cross_entropy(task.scores(x, anchor | live), y)
        slopes = torch.autograd.grad(loss, list(live.values()), materialize_grads=True)
        for (name, value), slope in zip(moved.items(), slopes, strict=True):
            _hold(value, slope, hold, anchor[name])
    return {name: value.detach() for name, value in moved.items()}


def _moved_by_outputs(
    task: Task, first: LeadingLinear, anchor: Tree, y: Tensor, hold: float
) -> Tree:
    """Return the same, computed with the outputs of the first layer instead of its weights.

    A step changes the layer's weights by C' X, with a row of C for each sample, and its outputs by
    (X X' + 1) C, the 1 being the bias; both steps and hold act on C as they do on weights.
    """
    x, trains_bias = first.inputs, first.bias in task.trainable
    bias = None if first.bias is None else anchor[first.bias]
    start = functional.linear(x, anchor[first.weight], bias)
    gram, change = x @ x.T + float(trains_bias), torch.zeros_like(start)
    rest = {name: value for name, value in anchor.items() if name not in first.names}
    moved = {n: rest[n].clone().requires_grad_() for n in task.trainable if n in rest}
    for _ in range(N_STEPS):
        outputs = torch.addmm(start, gram, change).requires_grad_()
        loss = functional.cross_entropy(first.scores(outputs, rest | moved), y)
        slopes = torch.autograd.grad(loss, [outputs, *moved.values()], materialize_grads=True)
        _hold(change, slopes[0], hold)
        for (name, value), slope in zip(moved.items(), slopes[1:], strict=True):
            _hold(value, slope, hold, anchor[name])
    found = {name: value.detach() for name, value in moved.items()}
    found[first.weight] = anchor[first.weight] + change.T @ x
    if first.bias is not None and trains_bias:
        found[first.bias] = anchor[first.bias] + change.sum(0)
    return {name: found[name] for name in task.trainable}


def _pays(task: Task, first: LeadingLinear) -> bool:
    """Return whether outputs are fewer numbers than weights, so that steps on them cost less."""
    n, n_inputs = first.inputs.shape
    return n <= n_inputs and first.weight in task.trainable


@torch.no_grad()
def _hold(value: Tensor, slope: Tensor, hold: float, anchor: Tensor | None = None) -> None:
    """Take a proximal step in place; the anchor is zero if there is none."""
    share = LR * hold / (1 + LR * hold)
    if anchor is None:
        value.mul_(1 - share)
    elif hold:
        value.lerp_(anchor, share)
    value.sub_(slope, alpha=LR * (1 - share))


def _check(x: Tensor, y: Tensor) -> None:
    if not 0 < len(x) == len(y):
        raise DataError(f"got {len(x)} samples and {len(y)} labels; expected as many, at least one")
