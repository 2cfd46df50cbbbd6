"""Spectral norms from products alone, and the step size of the convergence theorem.

The theorem asks for eta <= 1 / (L (1 + lambda G)^2), L the smoothness of the loss and G the norm
of the averaged Fisher. Both come from power iteration, which approaches a norm from below, and L
here is that of the loss at the current weights: the theorem wants the largest over all weights.
"""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch

from firecv import tree
from firecv.errors import DataError, NumericalError
from firecv.fisher.base import Fisher
from firecv.fisher.recorder import eval_mode
from firecv.fisher.theory.marginal import check_not_negative
from firecv.models import Batch, Task
from firecv.tree import Tree

TOLERANCE = 1e-9
"""Power iteration stops once a step adds less than this share.

So small because a start that happens to lack the leading direction rests for a while at the
next eigenvalue.
"""


def largest_eigenvalue(
    matvec: Callable[[Tree], Tree], like: Tree, rng: np.random.Generator, *, n_steps: int = 300
) -> float:
    """Return the largest absolute eigenvalue of a symmetric matrix, by power iteration.

    The value grows from step to step and never passes the true one.

    Parameters
    ----------
    matvec
        The product of the matrix with a tree, such as ``fisher.matvec``.
    like
        A tree of the names, shapes and type of the vectors.
    rng
        Draws the start.
    n_steps
        At most this many products.

    Examples
    --------
    >>> entries = {"w": torch.tensor([1.0, -7.0, 3.0])}
    >>> rng = np.random.default_rng(0)
    >>> round(largest_eigenvalue(lambda v: tree.mul(entries, v), entries, rng), 3)
    7.0
    """
    v = {
        name: torch.from_numpy(rng.standard_normal(tuple(p.shape))).to(p.device, p.dtype)
        for name, p in like.items()
    }
    length, value = _norm(v), 0.0
    for _ in range(n_steps):
        v = matvec(tree.scale(v, 1 / length))
        length = _norm(v)
        if not math.isfinite(length):
            raise NumericalError(
                "a product in the power iteration is NaN or infinite; check the weights, the "
                "inputs and the Fisher"
            )
        if length <= value * (1 + TOLERANCE):
            return max(length, value)
        value = length
    return value


def smoothness(task: Task, batches: Iterable[Batch], rng: np.random.Generator) -> float:
    """Return the norm of the Hessian of the mean loss at the current weights, in eval mode.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(1, 2, bias=False))
    >>> with torch.no_grad():
    ...     _ = task.model.weight.zero_()
    >>> batch = torch.tensor([[2.0]]), torch.tensor([0])
    >>> round(smoothness(task, [batch], np.random.default_rng(0)), 4)  # |x|^2 / 2
    2.0
    """
    held = list(batches)
    n_samples = sum(len(x) for x, _ in held)
    if not n_samples:
        raise DataError("there is no sample to measure the loss on: batches is empty or used up")
    params = task.parameters()
    leaves = list(params.values())

    def matvec(v: Tree) -> Tree:
        total = tree.zeros_like(v)
        for batch in held:
            loss = task.loss(batch) * (len(batch[0]) / n_samples)
            gradient = torch.autograd.grad(loss, leaves, create_graph=True, materialize_grads=True)
            slope = tree.dot(dict(zip(params, gradient, strict=True)), v)
            product = torch.autograd.grad(slope, leaves, materialize_grads=True)
            total = tree.add(total, dict(zip(params, product, strict=True)))
        return total

    with eval_mode(task.model), torch.enable_grad():
        return largest_eigenvalue(matvec, {n: p.detach() for n, p in params.items()}, rng)


def safe_step_size(
    task: Task,
    batches: Iterable[Batch],
    fisher: Fisher,
    strength: float,
    rng: np.random.Generator,
) -> float:
    """Return 1 / (L (1 + lambda G)^2) for a model, a Fisher and lambda = `strength`.

    Parameters
    ----------
    task
        The model at its current weights.
    batches
        Labelled batches of the training loss.
    fisher
        The averaged Fisher, in any structure.
    strength
        lambda.
    rng
        Draws the starts of the power iterations.

    Examples
    --------
    >>> from firecv.fisher import Diagonal
    >>> task = Task(torch.nn.Linear(1, 2, bias=False))
    >>> with torch.no_grad():
    ...     _ = task.model.weight.zero_()
    >>> batch = torch.tensor([[2.0]]), torch.tensor([0])
    >>> fisher = Diagonal({"weight": torch.tensor([[1.0], [5.0]])})
    >>> step = safe_step_size(task, [batch], fisher, 0.2, np.random.default_rng(0))
    >>> round(step, 4)  # 1 / (2 * 2^2)
    0.125
    """
    check_not_negative("strength", strength)
    params = {name: p.detach() for name, p in task.parameters().items()}
    curvature = smoothness(task, batches, rng)
    with torch.no_grad():
        norm = largest_eigenvalue(fisher.matvec, params, rng)
    return step_limit(curvature, norm, strength)


def step_limit(curvature: float, fisher_norm: float, strength: float) -> float:
    """Return the theorem's largest step, 1 / (L (1 + lambda G)^2); infinite for a flat loss.

    Examples
    --------
    >>> step_limit(2.0, 5.0, 0.2)
    0.125
    """
    scale = curvature * (1 + strength * fisher_norm) ** 2
    return 1 / scale if scale else math.inf


def averaged_norm_bound(norms: Sequence[float], decay: float, start: float = 0.0) -> float:
    """Return a bound of the norm of I_G after as many steps as there are norms.

    I_G <- alpha I_G + (1 - alpha) I_i keeps I_G positive semi-definite, and
    |I_G| <= alpha^t |I_G at the start| + (1 - alpha^t) max |I_i|.

    Parameters
    ----------
    norms
        The norms |I_i|, one per step.
    decay
        alpha.
    start
        The norm of I_G before the first step.

    Examples
    --------
    >>> averaged_norm_bound([4.0, 2.0], 0.5)
    3.0
    """
    if not 0 <= decay < 1:
        raise DataError(f"the decay of an average lies in [0, 1), got {decay}")
    kept = decay ** len(norms)
    return kept * start + (1 - kept) * max(norms, default=0.0)


def _norm(v: Tree) -> float:
    return math.sqrt(float(tree.dot(v, v)))
