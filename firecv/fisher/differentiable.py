"""The trace and the diagonal of the Fisher of a batch, differentiable in the parameters.

For the forms of FIRE that are penalties: `trace` and `align`. The backward pass to the layers'
outputs is itself recorded, so a second backward pass gives the penalty's gradient. No per-sample
gradient of a linear layer is formed; convolutions take the cheaper of products between
positions and per-sample gradients.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from firecv import tree
from firecv.errors import DataError
from firecv.fisher import checks
from firecv.fisher.capture import plan_of
from firecv.fisher.diagonal import Diagonal
from firecv.fisher.laws import Law, n_pulls, pulls
from firecv.fisher.layers.contract import LayerGradients
from firecv.fisher.stream import full_precision
from firecv.models import Task
from firecv.tree import Tree


class LiveTrace(NamedTuple):
    """tr F of a batch and the scores of the same forward pass."""

    trace: Tensor
    scores: Tensor


class LiveDiagonal(NamedTuple):
    """The diagonal of F of a batch and the scores of the same forward pass."""

    diagonal: Tree
    scores: Tensor


def differentiable_trace(
    task: Task,
    x: Tensor,
    y: Tensor | None = None,
    *,
    law: Law = "empirical",
    rng: torch.Generator | None = None,
    weights: Tree | None = None,
) -> LiveTrace:
    """Return tr F of a batch, the mean squared norm of its samples' gradients.

    Parameters
    ----------
    task
        The model and its trainable parameters.
    x, y
        Samples and, for the empirical law, labels.
    law
        Law of the label.
    rng
        Draws the labels of the sampled law.
    weights
        Weights to use instead of the model's own; gradients flow into them.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(3, 2).eval())
    >>> x, y = torch.randn(8, 3), torch.randint(2, (8,))
    >>> live = differentiable_trace(task, x, y)
    >>> loss = torch.nn.functional.cross_entropy(live.scores, y) + 0.1 * live.trace
    >>> loss.backward()  # the gradient of loss and penalty, one forward pass
    """
    passes, scores = _live(task, x, y, law, rng, weights)
    norms = [layer.norms().sum() for layers in passes for layer in layers]
    return LiveTrace(torch.stack(norms).sum() / len(x), scores)


def differentiable_diagonal(
    task: Task,
    x: Tensor,
    y: Tensor | None = None,
    *,
    law: Law = "empirical",
    rng: torch.Generator | None = None,
    weights: Tree | None = None,
) -> LiveDiagonal:
    """Return the diagonal of F of a batch.

    Parameters
    ----------
    task
        The model and its trainable parameters.
    x, y
        Samples and, for the empirical law, labels.
    law
        Law of the label.
    rng
        Draws the labels of the sampled law.
    weights
        Weights to use instead of the model's own; gradients flow into them.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(3, 2).eval())
    >>> live = differentiable_diagonal(task, torch.randn(8, 3), torch.randint(2, (8,)))
    >>> live.diagonal["weight"].requires_grad
    True
    """
    passes, scores = _live(task, x, y, law, rng, weights)
    diagonals = [Diagonal.from_layers(layers).entries for layers in passes]
    total = diagonals[0]
    for entries in diagonals[1:]:
        total = tree.add(total, entries)
    return LiveDiagonal(tree.scale(total, 1 / len(x)), scores)


def _live(
    task: Task,
    x: Tensor,
    y: Tensor | None,
    law: Law,
    rng: torch.Generator | None,
    weights: Tree | None,
) -> tuple[list[list[LayerGradients]], Tensor]:
    """Return differentiable per-sample gradients of every backward pass, and the scores."""
    checks.check_law(law)
    plan = plan_of(task)
    checks.check_per_sample(plan)
    x, y = checks.unpack((x,) if y is None else (x, y))
    if not x.shape[0]:
        raise DataError("the batch is empty; give at least one sample")
    frozen = sorted(n for n in task.trainable if weights and not weights[n].requires_grad)
    if frozen:
        raise DataError(
            f"weights {frozen} do not require a gradient; call requires_grad_() on them"
        )
    done = plan.run(task, x, weights)
    checks.check_scores(done.scores, x.shape[0])
    if y is not None and law == "empirical":
        checks.check_labels(y, done.scores.shape[1])
    checks.check_finite_scores(done.scores, task, x, weights)
    share = 1 / n_pulls(law, done.scores.shape[1])
    found = pulls(done.scores, y, law, rng)
    with full_precision(x):
        passes = [done.backward(done.scores, p, share, differentiable=True) for p in found]
    return [each.layers for each in passes], done.scores
