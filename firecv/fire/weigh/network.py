"""Fragment weights by influence through a network's own curvature, an option beside the probe.

The objective and its derivative - g_f' H^-1 g_i are those of `firecv.fire.weigh.influence`, with
the network in the place of the probe: it is trained on the weighted parts with every fold of V left
out in turn, from the same initial weights and in the same order, so that only the weights differ.
H is the generalized Gauss-Newton matrix of the mixture, for cross-entropy the Fisher information
accumulated over it (Martens, JMLR 2020), plus a damping. It enters through products with vectors;
H^-1 g is taken by conjugate gradients.

*Departures*: a network that is trained for some epochs is at no minimum, so that the derivative is
approximate; the damping stands for the directions in which training has not arrived.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from firecv import tree
from firecv.errors import DataError
from firecv.fire.weigh.influence import PULL, SHARES
from firecv.fire.weigh.probe import Floats
from firecv.fire.weigh.simplex import minimize_on_simplex
from firecv.models import Batch, Task, batches
from firecv.seeding import derive_torch
from firecv.training import Training, train_from
from firecv.tree import Tree

DAMPING = 0.1
"""Added to the curvature. On rotated images (seed 9000) 0.01 and 0.1 came closest to the change of
loss that retraining gave; 0.1 takes a third of the products."""
N_FOLDS = 5
N_ROUNDS = 6
"""Of the search: each trains a network per fold; the first steps change the weights most."""
CONJUGATE_STEPS, RESIDUAL = 50, 0.1
"""When conjugate gradients end. Weights of the next round correct the error of the last."""
CHUNK = 2048
"""Samples that pass through the network together, which bounds the memory."""


@dataclass(frozen=True)
class NetworkInfluence:
    """What each fragment does for the validation set, according to a network, and the weights.

    Attributes
    ----------
    weights
        Weight of each fragment; with `validation_weight` they sum to one.
    validation_weight
        Weight of V's own samples together.
    influence
        How much the held-out log loss on V falls per unit of weight moved to each fragment from
        the pooled mixture. Positive helps.
    loss, pooled_loss
        Cross-fitted log loss on V with the weights of the search, and with pooling.
    margin
        Standard error of the difference of the two.
    is_pooled
        Whether pooling was kept, because the weights were not better by more than `margin`.
    path
        Objective in every round of the search.
    """

    weights: Floats
    validation_weight: float
    influence: Floats
    loss: float
    pooled_loss: float
    margin: float
    is_pooled: bool
    path: tuple[float, ...]


def weigh_by_network(
    task: Task,
    parts: Sequence[Batch],
    validation: Batch,
    training: Training,
    *,
    strength: float = 1.0,
    damping: float = DAMPING,
    n_rounds: int = N_ROUNDS,
    seed: int = 0,
) -> NetworkInfluence:
    """Return the weight of each fragment and of V, by what a network makes of them.

    It takes up to ``5 * (n_rounds + 2)`` trainings, each followed by up to 50 products with the
    curvature. The model keeps its weights.

    Parameters
    ----------
    task
        The model with its initial weights.
    parts
        Samples and labels of each fragment.
    validation
        Samples and labels of V; at least two.
    training
        Epochs, batches and steps of every training.
    strength
        How far the weights may follow V: rho is 10 / (strength n_V).
    damping
        Added to the curvature.
    n_rounds
        Rounds of the search.
    seed
        Seed of V's folds and of shuffling.

    Examples
    --------
    >>> rng = torch.Generator().manual_seed(0)
    >>> x, x_val = torch.randn(400, 2, generator=rng), torch.randn(60, 2, generator=rng)
    >>> y, y_val = (x[:, 0] > 0).long(), (x_val[:, 0] > 0).long()
    >>> parts = [(x[:200], y[:200]), (x[200:], 1 - y[200:])]  # the second is upside down
    >>> task, training = Task(torch.nn.Linear(2, 2)), Training(n_epochs=10, rate=0.05)
    >>> result = weigh_by_network(task, parts, (x_val, y_val), training)
    >>> bool(result.influence[0] > 0 > result.influence[1]), bool(result.weights[1] < 0.1)
    (True, True)
    """
    if len(validation[1]) < 2:
        raise DataError(
            f"the validation set has {len(validation[1])} labeled samples; expected at least 2, so "
            f"that what is learned on some can be checked on others; label more"
        )
    folds = _Folds(task, parts, validation, training, damping, seed)
    sizes, n_val = np.array([len(y) for _, y in parts], float), len(validation[1])
    shares = [n_val / (sizes.sum() + n_val)]
    shares += [share for share in SHARES if share > shares[0]]
    priors = [np.append((1 - share) * sizes / sizes.sum(), share) for share in shares]
    scores = [folds.score(prior) for prior in priors]
    chosen = int(np.argmin([losses.mean() for losses, _ in scores]))
    prior, rho = priors[chosen], PULL / (max(strength, 1e-12) * n_val)
    known = {w.tobytes(): score for w, score in zip(priors, scores, strict=True)}

    def objective(w: Floats) -> tuple[float, Floats]:
        if w.tobytes() not in known:
            known[w.tobytes()] = folds.score(w)
        losses, derivative = known[w.tobytes()]
        ratio = np.log(w / prior)
        return float(losses.mean() + rho * w @ ratio), derivative + rho * (ratio + 1.0)

    best = minimize_on_simplex(objective, prior, n_rounds)
    (losses, derivative), own = scores[0], known[best.weights.tobytes()][0]
    gain = losses - own
    margin = float(gain.std(ddof=1) / np.sqrt(n_val))
    is_pooled = strength == 0 or not gain.mean() > margin
    weights = priors[0] if is_pooled else best.weights
    influence = (priors[0] @ derivative - derivative)[:-1]
    figures = float(own.mean()), float(losses.mean()), margin
    return NetworkInfluence(
        weights[:-1], float(weights[-1]), influence, *figures, is_pooled, best.path
    )


@dataclass(frozen=True)
class _Folds:
    """A network trained without each fold of V in turn."""

    task: Task
    parts: Sequence[Batch]
    validation: Batch
    training: Training
    damping: float
    seed: int

    def score(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the held-out loss of every sample of V, and the derivative of their mean."""
        x, y = self.validation
        n_folds, derivative = min(N_FOLDS, len(y)), np.zeros(len(weights))
        order = torch.randperm(len(y), generator=derive_torch(self.seed, "folds"))
        losses = np.empty(len(y))
        for fold in range(n_folds):
            held = order[fold::n_folds]
            kept = order[torch.arange(len(y)) % n_folds != fold]
            parts = [*self.parts, (x[kept], y[kept])]
            trained = self._trained(parts, weights)
            with torch.no_grad():
                scores = self.task.scores(x[held], trained)
                own = functional.cross_entropy(scores, y[held], reduction="none")
            losses[held.numpy()] = own.double().numpy()
            change = influence_on(
                self.task, trained, parts, weights, (x[held], y[held]), damping=self.damping
            )
            derivative += len(held) / len(y) * change
        return losses, derivative

    def _trained(self, parts: Sequence[Batch], weights: Floats) -> Tree:
        x, y, weight = _stacked(parts, weights)
        weight *= len(y)

        def objective(batch: Batch, rows: Tensor) -> Tensor:
            scores = self.task.scores(batch[0])
            losses = functional.cross_entropy(scores, batch[1], reduction="none")
            return (losses * weight[rows]).mean()

        rng = derive_torch(self.seed, "shuffle", 0)
        start = self.task.weights()
        return train_from(self.task, start, (x, y), self.training, rng, objective=objective).weights


def influence_on(
    task: Task,
    trained: Tree,
    parts: Sequence[Batch],
    weights: Floats,
    held: Batch,
    *,
    damping: float = DAMPING,
    n_steps: int = CONJUGATE_STEPS,
    residual: float = RESIDUAL,
) -> Floats:
    """Return the derivative of the loss on held-out samples in the weight of each part.

    Parameters
    ----------
    task
        The model.
    trained
        Its parameters and buffers after training on the weighted parts.
    parts, weights
        Samples and labels of each part, and their weights.
    held
        Held-out samples and labels.
    damping
        Added to the curvature; at a minimum with an L2 penalty, its factor makes this exact.
    n_steps, residual
        When conjugate gradients end: steps, and the residual relative to the gradient.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(1, 2, bias=False))
    >>> x, held = torch.ones(4, 1), (torch.ones(1, 1), torch.tensor([1]))
    >>> parts = [(x, torch.tensor([0, 0, 0, 1])), (x, torch.tensor([1, 1, 1, 0]))]
    >>> zeros = {"weight": torch.zeros(2, 1)}
    >>> influence_on(task, zeros, parts, np.array([0.5, 0.5]), held, damping=0.5).round(3)
    array([ 0.25, -0.25])
    """
    x, y, row_weight = _stacked(parts, weights)

    def product(v: Tree) -> Tree:
        times = curvature_times(task, trained, (x, row_weight), v)
        return tree.add(times, tree.scale(v, damping))

    gradient = _Linearized.of(task, trained, held[0]).gradient(held[1])
    solved = _conjugate_gradients(product, gradient, n_steps, residual)
    slopes = torch.cat(
        [
            _Linearized.of(task, trained, each).slopes(own, solved)
            for each, own in batches(x, y, CHUNK)
        ]
    )
    reach = [part.double().mean() for part in slopes.split([len(y) for _, y in parts])]
    return -torch.stack(reach).numpy()


def curvature_times(task: Task, at: Tree, samples: tuple[Tensor, Tensor], v: Tree) -> Tree:
    """Return the generalized Gauss-Newton matrix of the weighted cross-entropy times a vector.

    Parameters
    ----------
    task
        The model.
    at
        Parameters and buffers at which the matrix is taken.
    samples
        Inputs and their weights.
    v
        The vector, by name of the trainable parameters.
    """
    total = tree.zeros_like(v)
    for x, weight in batches(*samples, CHUNK):
        linear = _Linearized.of(task, at, x)
        chances, move = linear.scores.softmax(1), linear.push(v)  # J v
        move = chances * (move - (chances * move).sum(1, keepdim=True))  # (diag(p) - p p') J v
        total = tree.add(total, linear.pull(weight[:, None] * move))
    return total


@dataclass(frozen=True)
class _Linearized:
    """Class scores of samples as a linear function of the trainable parameters, J."""

    leaves: Tree
    graph: Tensor
    dummy: Tensor
    pulled: Tree

    @classmethod
    def of(cls, task: Task, at: Tree, x: Tensor) -> "_Linearized":
        leaves = {name: at[name].detach().requires_grad_() for name in task.trainable}
        with torch.enable_grad():
            graph = task.scores(x, at | leaves)
            dummy = torch.zeros_like(graph, requires_grad=True)
            pulled = torch.autograd.grad(
                graph, list(leaves.values()), dummy, create_graph=True, materialize_grads=True
            )
        return cls(leaves, graph, dummy, dict(zip(leaves, pulled, strict=True)))

    @property
    def scores(self) -> Tensor:
        """The class scores themselves."""
        return self.graph.detach()

    def push(self, v: Tree) -> Tensor:
        """Return J v, the derivative of J' u along v in u."""
        with torch.enable_grad():
            return torch.autograd.grad(tree.dot(self.pulled, v), self.dummy, retain_graph=True)[0]

    def pull(self, u: Tensor) -> Tree:
        """Return J' u."""
        back = torch.autograd.grad(
            self.graph, list(self.leaves.values()), u, retain_graph=True, materialize_grads=True
        )
        return dict(zip(self.leaves, back, strict=True))

    def gradient(self, y: Tensor) -> Tree:
        """Return the gradient of the mean loss."""
        return self.pull(self._residuals(y) / len(y))

    def slopes(self, y: Tensor, v: Tree) -> Tensor:
        """Return the derivative of every sample's loss along v."""
        return (self._residuals(y) * self.push(v)).sum(1)

    def _residuals(self, y: Tensor) -> Tensor:
        chances = self.scores.softmax(1)
        return chances - functional.one_hot(y, chances.shape[1])


def _conjugate_gradients(
    product: Callable[[Tree], Tree], b: Tree, n_steps: int, residual: float
) -> Tree:
    """Solve A x = b for a positive definite A, from zero."""
    x, r, direction = tree.zeros_like(b), b, b
    remaining = enough = tree.dot(b, b)
    for _ in range(n_steps):
        if remaining <= residual**2 * enough or remaining == 0:
            break
        image = product(direction)
        length = remaining / tree.dot(direction, image)
        x = tree.add(x, tree.scale(direction, length))
        r = tree.sub(r, tree.scale(image, length))
        remaining, previous = tree.dot(r, r), remaining
        direction = tree.add(r, tree.scale(direction, remaining / previous))
    return x


def _stacked(parts: Sequence[Batch], weights: Floats) -> tuple[Tensor, Tensor, Tensor]:
    """Return all samples, their labels and their weights in the mixture, which sum to one."""
    x, y = (torch.cat(each) for each in zip(*parts, strict=True))
    own = [
        x.new_full((len(part[1]),), w / len(part[1]))
        for part, w in zip(parts, weights, strict=True)
    ]
    return x, y, torch.cat(own)
