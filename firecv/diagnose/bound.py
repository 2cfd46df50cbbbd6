"""The terms of the paper's bound of KL(P_i || P_V), estimated for one fragment: no certificate.

KL <= Q + C1 g^2 + C1' g^3 + C2 g d^2 + C3 beta G d^3, with C1 = 1/(2 (1 - g)),
C1' = 1/(3 (1 - g)^2), C2 = M/2 and C3 = 1/6. The formulas are those of `firecv.fisher.theory`,
which also has constants that are proven and hold for any gamma; both are shown.

Estimated are: g, the 0.99 quantile of |r - 1| where the theorem wants the largest (from 1 on the
printed bound is infinite); d, the distance of the weights; G, the largest score norm seen over the
classes, rows of V and both ends of the segment between the weights, and M = G^2; beta, the largest
change of the mean loss's Hessian on V over a quarter of the segment, per length, by power
iteration. All but d come out too small rather than too large, and for ReLU networks there is no
finite beta in theory.
"""

import math
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor
from torch.func import grad, vmap  # pyright: ignore[reportUnknownVariableType]

from firecv import tree
from firecv.diagnose.fisher_distance import FisherDistance, Tuned
from firecv.fisher.theory import (
    BoundTerms,
    Constants,
    largest_eigenvalue,
    printed_bound,
    proven_bound,
)
from firecv.models import Task
from firecv.seeding import derive
from firecv.tree import Tree

AT_MOST: Final = 256
"""Rows of V that constants are estimated on."""
N_PIECES: Final = 4
"""Pieces of the segment between the weights."""
N_STEPS: Final = 20
"""Steps of a power iteration."""

NO_TERMS = BoundTerms(math.nan, math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class KLBound:
    """The terms of the bound for one fragment.

    Attributes
    ----------
    gamma
        g.
    gamma_below_one
        Whether the printed bound is finite at all.
    printed, proven
        What is added to the Fisher quadratic: as in the paper, and as can be proven. Without labels
        of V the terms in d are NaN.
    score, beta
        G and beta; NaN without labels of V.
    total
        The printed bound with the Fisher quadratic; NaN without labels of V.
    """

    gamma: float
    gamma_below_one: bool
    printed: BoundTerms = NO_TERMS
    proven: BoundTerms = NO_TERMS
    score: float = math.nan
    beta: float = math.nan
    total: float = math.nan


def marginal_bound(gamma: float) -> KLBound:
    """Return the terms in gamma alone, which need no labels.

    Examples
    --------
    >>> marginal_bound(0.5).printed.gamma_squared, marginal_bound(1.5).gamma_below_one
    (0.25, False)
    """
    if math.isnan(gamma):
        return KLBound(gamma, False)
    unmoved = gamma, 0.0, Constants(0.0, 0.0, 0.0)
    printed, proven = (
        bound(*unmoved)._replace(mixed=math.nan, cubic=math.nan)
        for bound in (printed_bound, proven_bound)
    )
    return KLBound(gamma, gamma < 1, printed, proven)


def kl_bound(gamma: float, apart: FisherDistance, found: Tuned, name: str, seed: int) -> KLBound:
    """Return all terms for one fragment.

    Parameters
    ----------
    gamma
        Quantile of |r - 1|.
    apart
        Fisher quadratic and distance of the fragment.
    found
        The fine-tuned networks.
    name
        Of the fragment.
    seed
        Of the power iterations.
    """
    if math.isnan(gamma) or apart.blank:
        return marginal_bound(gamma)
    task, x = found.network.task, found.network.validation[:AT_MOST]
    assert found.network.y_validation is not None
    y = found.network.y_validation[:AT_MOST]
    here, there = (
        task.keep_trainable(weights) for weights in (found.validation, found.fragments[name])
    )
    score = max(score_norm(task, here, x), score_norm(task, there, x))
    beta = hessian_change(task, (here, there), (x, y), seed)
    constants = Constants(score, score**2, beta)
    printed = printed_bound(gamma, apart.distance, constants)
    proven = proven_bound(gamma, apart.distance, constants)
    return KLBound(gamma, gamma < 1, printed, proven, score, beta, apart.q + printed.total)


def score_norm(task: Task, weights: Tree, x: Tensor) -> float:
    """Return the largest norm of the gradient of log p(y|x) over rows and classes.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(1, 2, bias=False))
    >>> found = score_norm(task, {"weight": torch.zeros(2, 1)}, torch.tensor([[2.0]]))
    >>> round(found, 4)  # |e_y - p| |x| with p = 1/2
    1.4142
    """

    def log_p(w: Tree, row: Tensor, label: Tensor) -> Tensor:
        return task.scores(row[None], w).log_softmax(1)[0].gather(0, label[None])[0]

    n_classes = task.scores(x[:1], weights).shape[1]
    rows = x.repeat_interleave(n_classes, 0)
    labels = torch.arange(n_classes).repeat(len(x))
    largest = 0.0
    for part in torch.arange(len(rows)).split(1024):
        gradients: Tree = vmap(grad(log_p), (None, 0, 0))(weights, rows[part], labels[part])
        squared = sum(g.double().flatten(1).square().sum(1) for g in gradients.values())
        largest = max(largest, float(torch.as_tensor(squared).max()))
    return math.sqrt(largest)


def hessian_change(
    task: Task, ends: tuple[Tree, Tree], data: tuple[Tensor, Tensor], seed: int
) -> float:
    """Return the largest change of the mean loss's Hessian along a segment, per length.

    Parameters
    ----------
    task
        The model.
    ends
        Weights at both ends.
    data
        Rows and labels.
    seed
        Of the starts of the power iterations.
    """
    apart = tree.sub(ends[1], ends[0])
    length = math.sqrt(float(tree.dot(apart, apart))) / N_PIECES
    if length == 0:
        return 0.0
    at = [tree.add(ends[0], tree.scale(apart, piece / N_PIECES)) for piece in range(N_PIECES + 1)]
    changes: list[float] = []
    for piece, (first, second) in enumerate(zip(at[:-1], at[1:], strict=True)):

        def matvec(v: Tree, first: Tree = first, second: Tree = second) -> Tree:
            return tree.sub(_curved(task, second, data, v), _curved(task, first, data, v))

        rng = derive(seed, "diagnose", "beta", piece)
        changes.append(largest_eigenvalue(matvec, apart, rng, n_steps=N_STEPS))
    return max(changes) / length


def _curved(task: Task, weights: Tree, data: tuple[Tensor, Tensor], v: Tree) -> Tree:
    """Return the Hessian of the mean loss at these weights, times v."""
    leaves = {name: value.detach().requires_grad_() for name, value in weights.items()}
    loss = task.loss(data, leaves)
    slopes = torch.autograd.grad(loss, list(leaves.values()), create_graph=True)
    along = tree.dot(dict(zip(leaves, slopes, strict=True)), v)
    product = torch.autograd.grad(along, list(leaves.values()), materialize_grads=True)
    return dict(zip(leaves, product, strict=True))
