"""The local lemma: KL between a model's predictions at two weights, to second order.

For theta and theta + d,  mean_x KL(p(.|x; theta) || p(.|x; theta + d)) = 1/2 d' F(theta) d + R,
F the Fisher of the exact law. If the Hessian of log p(y|x; .) is beta-Lipschitz, Taylor's theorem
gives |R| <= beta |d|^3 / 6. The paper multiplies this by G, the largest score norm. That
makes it larger for G > 1 and false for G < 1; it cannot be right, since changing the unit of the
weights changes G but not R or beta |d|^3.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from firecv import tree
from firecv.errors import DataError
from firecv.fisher.checks import unpack
from firecv.fisher.recorder import eval_mode
from firecv.fisher.stream import Batches
from firecv.fisher.theory.marginal import check_not_negative
from firecv.models import Task
from firecv.tree import Tree


class Expansion(NamedTuple):
    """The two sides of the expansion, as means over all samples."""

    kl: float
    quadratic: float

    @property
    def remainder(self) -> float:
        """What the quadratic leaves over."""
        return self.kl - self.quadratic


class Constants(NamedTuple):
    """The constants of the paper's assumptions on a model."""

    score: float
    """G, the largest norm of the gradient of log p(y|x)."""

    fisher: float
    """M, the largest norm of the Fisher of one sample; the paper takes G^2."""

    beta: float
    """The Lipschitz constant of the Hessian of log p(y|x)."""


class Remainder(NamedTuple):
    """Bounds of the remainder: the paper's, and the one that Taylor's theorem gives."""

    printed: float
    proven: float


def expand_kl(task: Task, batches: Batches, direction: Tree) -> Expansion:
    """Return the mean KL from a model to the same model moved, and its quadratic term.

    The model is taken in eval mode and not changed.

    Parameters
    ----------
    task
        The model at the weights theta.
    batches
        ``(x, y)`` or ``(x,)`` batches; labels are not looked at.
    direction
        The move d of the trainable parameters.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(2, 3).double())
    >>> x = torch.tensor([[1.0, -1.0], [0.5, 2.0]], dtype=torch.float64)
    >>> small = {name: torch.full_like(p, 0.01) for name, p in task.parameters().items()}
    >>> small["weight"][0] *= 3
    >>> found = expand_kl(task, [x], small)
    >>> abs(found.remainder) < 0.05 * found.kl
    True
    """
    here = {name: value.detach() for name, value in task.parameters().items()}
    there = tree.add(here, direction)
    sums, n_samples = torch.zeros(2, dtype=torch.float64), 0
    with eval_mode(task.model):
        for batch in batches:
            x, _ = unpack(batch)
            n_samples += len(x)
            sums += _of_batch(task, x, here, there, direction)
    if not n_samples:
        raise DataError("there is no sample to expand on: batches is empty or used up")
    divergence, quadratic = (sums / n_samples).tolist()
    return Expansion(divergence, quadratic)


def bound_remainder(distance: float, constants: Constants) -> Remainder:
    """Return beta G |d|^3 / 6 as printed and beta |d|^3 / 6 as proven, for |d| = `distance`.

    Examples
    --------
    >>> bound_remainder(1.0, Constants(score=0.5, fisher=0.25, beta=6.0))
    Remainder(printed=0.5, proven=1.0)
    """
    check_not_negative("distance", distance)
    proven = constants.beta * distance**3 / 6
    return Remainder(constants.score * proven, proven)


def linear_constants(norm: float) -> Constants:
    """Return the smallest constants that hold for every linear softmax classifier.

    The score is (e_y - p) x', of norm at most sqrt(2) |x|. Along a unit direction D the Fisher
    and the third derivative are the variance and the third cumulant of the scores D x, whose range
    is at most R = sqrt(2) |x|: at most R^2 / 4 and R^3 / (6 sqrt(3)), both attained.

    Parameters
    ----------
    norm
        The largest norm of a sample, a 1 appended if the classifier has a bias.

    Examples
    --------
    >>> [round(value, 3) for value in linear_constants(1.0)]
    [1.414, 0.5, 0.272]
    """
    check_not_negative("norm", norm)
    spread = math.sqrt(2) * norm
    return Constants(spread, spread**2 / 4, spread**3 / (6 * math.sqrt(3)))


def _of_batch(task: Task, x: Tensor, here: Tree, there: Tree, direction: Tree) -> Tensor:
    """Return the sums over samples of KL and 1/2 d' F d."""
    scores, change = _scores_and_change(task, x, here, direction)
    with torch.no_grad():
        moved = task.scores(x, there)
        log_p, log_q = (functional.log_softmax(s.double(), 1) for s in (scores, moved))
        p = log_p.exp()
        # d' F_x d is the variance under p of the change of the scores.
        centred = change - (p * change).sum(1, keepdim=True)
        sums = (p * (log_p - log_q)).sum(), (p * centred.square()).sum() / 2
        return torch.stack(sums).cpu()


def _scores_and_change(task: Task, x: Tensor, here: Tree, direction: Tree) -> tuple[Tensor, Tensor]:
    """Return the scores and their derivative along `direction`, by two backward passes."""
    with torch.enable_grad():
        leaves = {name: value.detach().requires_grad_() for name, value in here.items()}
        scores = task.scores(x, leaves)
        weights = torch.zeros_like(scores, requires_grad=True)
        pulled = torch.autograd.grad(
            scores, list(leaves.values()), weights, create_graph=True, materialize_grads=True
        )
        slope = tree.dot(dict(zip(leaves, pulled, strict=True)), direction)
        (change,) = torch.autograd.grad(slope, weights)
    return scores.detach(), change.double()
