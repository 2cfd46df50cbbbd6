"""Estimates of the Fisher information of a data set, in any structure.

F = mean over samples of E_y[g g'], g = gradient of log p(y|x) with respect to the trainable
parameters. Always a mean, never a sum.
"""

import math
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar, cast

import torch
from torch import Tensor
from torch.nn import functional

from firecv import tree
from firecv.errors import DataError
from firecv.fisher import checks
from firecv.fisher.base import Fisher, Structure
from firecv.fisher.capture import Pass, Plan, plan_of
from firecv.fisher.diagonal import Diagonal
from firecv.fisher.fallback import UnrepeatableLayer
from firecv.fisher.laws import Law
from firecv.fisher.layers.contract import LayerGradients
from firecv.fisher.perceptron import Perceptron
from firecv.fisher.recorder import eval_mode
from firecv.fisher.stream import Batches, full_precision, leaves, micro_batches
from firecv.models import Batch, Task
from firecv.tree import Tree

F = TypeVar("F", bound=Fisher)

SCALED_UP = 100.0
"""A loss multiplied by more than this has been scaled for the sake of small gradients."""


def estimate(
    structure: Structure[F],
    task: Task,
    batches: Batches,
    *,
    law: Law = "sampled",
    rng: torch.Generator | None = None,
    weights: Tree | None = None,
) -> F:
    """Return the Fisher of all samples in `batches`, in memory independent of their number.

    Parameters
    ----------
    structure
        ``Diagonal``, ``Kronecker``, ``LowRank``, ``LowRank.of(10)``, ``Block``, ``Dense`` or
        ``Scalar``.
    task
        The model, in eval mode, and its trainable parameters.
    batches
        ``(x, y)`` or ``(x,)`` batches, a `DataLoader` for example. Labels are used by the
        empirical law only.
    law
        ``"empirical"`` takes the given label, ``"sampled"`` one label drawn from the model,
        ``"exact"`` the expectation over all classes (one backward pass per class).
    rng
        Draws the labels of the sampled law.
    weights
        Weights to use instead of the model's own, which stay as they are.

    Returns
    -------
    Fisher
        The mean over all samples.

    Examples
    --------
    >>> from firecv.fisher import Diagonal
    >>> from firecv.models import batches
    >>> task = Task(torch.nn.Linear(2, 2).eval())
    >>> x, y = torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 1])
    >>> fisher = estimate(Diagonal, task, batches(x, y), law="empirical")
    >>> bool((fisher.diagonal()["weight"][:, 1] == 0).all())  # that feature is always zero
    True
    """
    total: F | None = None
    n_samples = 0
    for micro_batch in micro_batches(task, batches, law, rng, weights):
        n_samples += micro_batch.n_samples
        for layers in micro_batch.passes():
            with torch.no_grad(), full_precision(micro_batch.done.x):
                piece = structure.from_layers(layers)
                checks.check_finite_fisher(piece, layers, micro_batch.done.x)
                total = piece if total is None else total + piece
    assert total is not None  # an empty stream has raised
    return total * (1 / n_samples)


class Step(NamedTuple, Generic[F]):
    """What one training step needs, from one backward pass."""

    gradient: Tree
    fisher: F
    loss: Tensor


def gradient_and_fisher(
    structure: Structure[F], task: Task, batch: Batch, *, weights: Tree | None = None
) -> Step[F]:
    """Return the gradient of the mean loss and the empirical Fisher from one backward pass.

    The model is taken in the mode it is in. With active dropout the Fisher is that of the same
    pass. Batch norms in train mode give a sample no gradient of its own, so there the Fisher comes
    from a second pass in eval mode, which about doubles the cost; both are said once per task.

    Parameters
    ----------
    structure
        ``Diagonal``, ``Kronecker``, ``LowRank``, ``LowRank.of(10)``, ``Block``, ``Dense`` or
        ``Scalar``.
    task
        The model and its trainable parameters.
    batch
        Samples and labels.
    weights
        Weights to use instead of the model's own, which stay as they are.

    Returns
    -------
    Step
        ``(gradient, fisher, loss)``; nothing is written to ``.grad``.

    Examples
    --------
    >>> from firecv.fisher import Diagonal
    >>> task = Task(torch.nn.Linear(3, 2))
    >>> batch = torch.randn(8, 3), torch.randint(2, (8,))
    >>> gradient, fisher, loss = gradient_and_fisher(Diagonal, task, batch)
    >>> gradient["weight"].shape == fisher.diagonal()["weight"].shape
    True
    """
    plan = plan_of(task)
    x, y = checks.unpack(batch)
    if y is None:
        raise DataError("gradient_and_fisher needs labels; give (x, y)")
    if not x.shape[0]:
        raise DataError("the batch is empty; give at least one sample")
    weights = leaves(task, weights)
    if any(norm.training for norm in plan.batch_norms):
        plan.say(
            "a batch norm in train mode mixes samples: the Fisher comes from a second pass in eval "
            "mode, at about twice the cost"
        )
        return _in_two_passes(structure, task, x, y, weights)
    if any(module.training for module in plan.dropouts):
        plan.say("dropout is active: the Fisher is that of the same pass, dropped units included")
    if task.model.training and plan.falls_back is None:
        plan.learn(task, x, weights)
    if not (task.model.training and plan.falls_back):
        try:
            return _in_one_pass(structure, task, plan, x, y, weights)
        except UnrepeatableLayer:
            plan.falls_back = True
    plan.say(
        "a layer without closed form is in train mode, where it may draw at random: the Fisher "
        "comes from a second pass in eval mode, at about twice the cost"
    )
    return _in_two_passes(structure, task, x, y, weights)


def _in_one_pass(
    structure: Structure[F], task: Task, plan: Plan, x: Tensor, y: Tensor, weights: Tree | None
) -> Step[F]:
    checks.check_per_sample(plan)
    n = x.shape[0]
    if plan.perceptron is not None and plan.perceptron.applies(x):
        pull, share = _pull(structure, n)
        with torch.no_grad():
            loss, layers = _written_out(plan.perceptron, x, y, weights, pull, share)
        checks.check_finite_loss(loss, task, x, weights)
        return _written_out_step(structure, task, layers, x, loss)
    with torch.enable_grad():
        done = plan.run(task, x, weights)
        checks.check_scores(done.scores, n)
        checks.check_labels(y, done.scores.shape[1])
        loss = functional.cross_entropy(done.scores, y)
    checks.check_finite_loss(loss, task, x, weights)
    look = look_at_pass(structure, done, loss, lambda _: 1.0)
    assert look.fisher is not None
    return Step(look.gradient, look.fisher, loss.detach())


class Look(NamedTuple, Generic[F]):
    """What a look at the Fisher of a step gave.

    Attributes
    ----------
    gradient
        Of the loss.
    fisher
        What was given plus the empirical Fisher of the batch; None if the pass has none to give.
    overflowed
        Whether a loss that was scaled up made gradients infinite, as gradient scalers do until they
        have found their scale; they skip such a step.
    """

    gradient: Tree
    fisher: F | None
    overflowed: bool = False


def look_at_pass(
    structure: Structure[F],
    done: Pass,
    loss: Tensor,
    judge: Callable[[Tensor], float | None],
    onto: F | None = None,
) -> Look[F]:
    """Return the gradient of any loss and the empirical Fisher from one backward pass.

    Parameters
    ----------
    structure
        The structure of the Fisher.
    done
        A forward pass.
    loss
        A loss of its scores.
    judge
        Given the gradient at the scores, says what the loss is a multiple of the mean cross-entropy
        by; None if it is none, and the pass has no Fisher to give.
    onto
        A Fisher to add the batch's to; for a diagonal this costs less than adding it afterwards.
    """
    n = done.x.shape[0]
    pull, share = _pull(structure, n)
    with full_precision(done.x):
        found = done.backward(loss, torch.full_like(loss, pull), share)
    too_large = bool(found.at_scores.isinf().any())  # NaN has another cause
    scale = None if too_large else judge(found.at_scores / pull)
    factor = 1.0 if scale is None else 1 / scale**2
    with torch.no_grad(), full_precision(done.x):
        if cast(object, structure) is Diagonal:
            kept = cast("Diagonal | None", onto) if scale is not None else None
            gradient, diagonal = Diagonal.with_gradient(found.layers, n * factor, kept)
            fisher = cast(F, diagonal)
        else:
            gradient, fisher = _gradient(found.layers, pull), structure.from_layers(found.layers)
            fisher = fisher if factor == 1 else fisher * factor
            fisher = fisher if onto is None else onto + fisher
        gradient = _completed(gradient, found.totals, pull, done.task, loss)
        if scale is None:
            return Look(gradient, None, too_large)
        if scale > SCALED_UP and not math.isfinite(fisher.trace().item()):
            return Look(gradient, None, overflowed=True)
        checks.check_finite_fisher(fisher, found.layers, done.x)
        return Look(gradient, fisher)


def _pull(structure: Structure[F], n: int) -> tuple[float, float]:
    """Return what the backward pass starts with, and a sample's weight in Kronecker factors."""
    if cast(object, structure) is Diagonal:  # its kernels give the gradient along the way
        return 1.0, 1.0  # of g_i / n
    return math.sqrt(n), 1 / n  # of g_i / sqrt(n)


def _gradient(layers: list[LayerGradients], pull: float) -> Tree:
    parts = [layer.total(1 / pull) for layer in layers]
    return {name: value for part in parts for name, value in part.items()}


def _completed(gradient: Tree, totals: Tree, pull: float, task: Task, loss: Tensor) -> Tree:
    """Return the gradient with what went through the whole-model fallback, in the task's order."""
    gradient = gradient | tree.scale(totals, 1 / pull)
    if loss.dtype.itemsize < 4:  # sums were taken in single precision
        return {name: gradient[name].to(p.dtype) for name, p in task.parameters().items()}
    return {name: gradient[name] for name in task.trainable}


def _written_out_step(
    structure: Structure[F], task: Task, layers: list[LayerGradients], x: Tensor, loss: Tensor
) -> Step[F]:
    n = x.shape[0]
    with torch.no_grad(), full_precision(x):
        if cast(object, structure) is Diagonal:
            gradient, diagonal = Diagonal.with_gradient(layers, n)
            fisher = cast(F, diagonal)
        else:
            gradient, fisher = _gradient(layers, math.sqrt(n)), structure.from_layers(layers)
        checks.check_finite_fisher(fisher, layers, x)
        return Step(_completed(gradient, {}, 1.0, task, loss), fisher, loss.detach())


def _written_out(
    perceptron: Perceptron, x: Tensor, y: Tensor, weights: Tree | None, pull: float, share: float
) -> tuple[Tensor, list[LayerGradients]]:
    n_classes = perceptron.layers[-1][0].out_features
    if not y.is_cpu:
        checks.check_labels(y, n_classes)
    try:
        return perceptron.run(x, y, weights, pull, share)
    except (IndexError, RuntimeError):
        checks.check_labels(y, n_classes)  # the likely reason, said better
        raise


def _in_two_passes(
    structure: Structure[F], task: Task, x: Tensor, y: Tensor, weights: Tree | None
) -> Step[F]:
    own = weights
    if own is not None:  # batch norms write to their buffers: to copies of them
        buffers = {name: value.clone() for name, value in task.model.named_buffers()}
        own = buffers | {n: v.clone() if n in buffers else v for n, v in own.items()}
    with torch.enable_grad():
        scores = task.scores(x, own)
        checks.check_scores(scores, x.shape[0])
        checks.check_labels(y, scores.shape[1])
        loss = functional.cross_entropy(scores, y)
        checks.check_finite_loss(loss, task, x, own)
        used = task.parameters() if own is None else task.keep_trainable(own)
        gradient = torch.autograd.grad(loss, list(used.values()), materialize_grads=True)
    with eval_mode(task.model):
        fisher = estimate(structure, task, [(x, y)], law="empirical", weights=weights)
    return Step(dict(zip(used, gradient, strict=True)), fisher, loss.detach())
