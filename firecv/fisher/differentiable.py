"""The trace and the diagonal of the Fisher of a batch, differentiable in the parameters.

For the forms of FIRE that are penalties: `trace` and `align`. The backward pass to the layers'
outputs is itself recorded, so a second backward pass gives the penalty's gradient. No per-sample
gradient of a linear layer is formed; convolutions take the cheaper of products between
positions and per-sample gradients. For plain perceptrons and the exact law the backward pass is
written out, all classes at once.
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
from firecv.fisher.perceptron import LayerSquares
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
    if (found := exact_squares(task, x, law, weights)) is not None:
        norms = [
            (layer.inputs.square().sum(1) + (bias is not None)) @ layer.squared.sum(1)
            for _, bias, layer in found.layers
        ]
        return LiveTrace(torch.stack(norms).sum() / len(x), found.scores)
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
    if (found := exact_squares(task, x, law, weights)) is not None:
        return LiveDiagonal(found.diagonal(), found.scores)
    passes, scores = _live(task, x, y, law, rng, weights)
    diagonals = [Diagonal.from_layers(layers).entries for layers in passes]
    total = diagonals[0]
    for entries in diagonals[1:]:
        total = tree.add(total, entries)
    return LiveDiagonal(tree.scale(total, 1 / len(x)), scores)


class ExactSquares(NamedTuple):
    """Scores, and inputs and E_y[delta^2] of every layer with the names of its parameters."""

    scores: Tensor
    layers: list[tuple[str, str | None, LayerSquares]]

    def diagonal(self) -> Tree:
        """Return the diagonal of F."""
        n, entries = len(self.scores), dict[str, Tensor]()
        with full_precision(self.scores):
            for weight, bias, (inputs, squared) in self.layers:
                entries[weight] = squared.T @ inputs.square() / n
                if bias is not None:
                    entries[bias] = squared.sum(0) / n
        return entries


def exact_squares(
    task: Task, x: Tensor, law: Law, weights: Tree | None = None
) -> ExactSquares | None:
    """Return what traces and diagonals of the exact law are made of; None if it is not this easy.

    Parameters
    ----------
    task
        The model; it is easy for plain perceptrons, in whichever mode.
    x
        Samples.
    law
        Law of the label.
    weights
        Weights to use instead of the model's own; gradients flow into them.
    """
    perceptron = plan_of(task).perceptron
    if law != "exact" or perceptron is None or not len(x) or not perceptron.applies(x):
        return None
    _check_live(task, weights)
    with full_precision(x):
        scores, squares = perceptron.exact_squares(x, weights)
    checks.check_finite_scores(scores, task, x, weights)
    names = [(weight, bias) for _, weight, bias in perceptron.layers]
    return ExactSquares(scores, [(*n, s) for n, s in zip(names, squares, strict=True)])


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
    _check_live(task, weights)
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


def _check_live(task: Task, weights: Tree | None) -> None:
    frozen = sorted(n for n in task.trainable if weights and not weights[n].requires_grad)
    if frozen:
        raise DataError(
            f"weights {frozen} do not require a gradient; call requires_grad_() on them"
        )
