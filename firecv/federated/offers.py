"""Models that are offered to a client: which ones, and what they are worth to it."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from firecv import tree
from firecv.federated.outputs import scores_at
from firecv.models import Batch, Task
from firecv.tree import Tree


def offered(
    affinity: Tensor,
    others: Sequence[int],
    n_offered: int,
    exploration: float,
    rng: np.random.Generator,
) -> list[int]:
    """Return which clients' models to offer, in the order of their numbers.

    Parameters
    ----------
    affinity
        What the model of each client has been worth so far; ties are broken at random.
    others
        Clients to choose from.
    n_offered
        How many to choose, or all there are.
    exploration
        How likely each of them is drawn at random, where the best one left would be taken.
    rng
        Draws them.

    Examples
    --------
    >>> affinity = torch.tensor([0.0, 0.2, 0.9, 0.5])
    >>> offered(affinity, [1, 2, 3], 2, 0.0, np.random.default_rng(0))
    [2, 3]
    """
    shuffled = [int(k) for k in rng.permutation(others)]
    ranked = sorted(shuffled, key=lambda k: -float(affinity[k]))
    chosen: list[int] = []
    while ranked and len(chosen) < n_offered:
        place = int(rng.integers(len(ranked))) if rng.random() < exploration else 0
        chosen.append(ranked.pop(place))
    return sorted(chosen)


def benefits(task: Task, first: Tree, offers: Sequence[Tree], data: Batch) -> list[float]:
    """Return what each offer is worth, the loss it saves over its distance; negative if it harms.

    Parameters
    ----------
    task
        The model.
    first
        The weights that offers are compared with.
    offers
        Other weights.
    data
        Samples and labels on which losses are taken.

    Returns
    -------
        One number for each offer; their absolute values sum to one, or all are zero.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(1, 2, bias=False))
    >>> first, good, bad = ({"weight": torch.tensor([[0.0], [w]])} for w in (0.0, 1.0, -1.0))
    >>> found = benefits(task, first, [good, bad, first], (torch.ones(1, 1), torch.tensor([1])))
    >>> [round(value, 3) for value in found]
    [0.38, -0.62, 0.0]
    """

    def loss(weights: Tree) -> float:
        return float(functional.cross_entropy(scores_at(task, weights, data[0]), data[1]))

    def worth(offer: Tree) -> float:
        apart = tree.squared_distance(task.keep_trainable(offer), task.keep_trainable(first))
        distance = float(apart.sqrt())
        found = (before - loss(offer)) / distance if distance else 0.0
        return found if math.isfinite(found) else 0.0

    before = loss(first) if offers else 0.0
    found = [worth(offer) for offer in offers]
    total = sum(map(abs, found))
    return [value / total for value in found] if total else found


def held_out_split(data: Batch, rate: float, rng: np.random.Generator) -> tuple[Batch, Batch]:
    """Return the samples that models are compared on and those to train on.

    Parameters
    ----------
    data
        Samples and labels.
    rate
        Share that is held out; one sample at least is on either side, and a single one on both.
    rng
        Draws them.

    Examples
    --------
    >>> data = (torch.arange(5.0)[:, None], torch.arange(5))
    >>> held_out, own = held_out_split(data, 0.4, np.random.default_rng(0))
    >>> held_out[1].tolist(), own[1].tolist()
    ([2, 4], [0, 1, 3])
    """
    x, y = data
    if len(y) == 1:
        return data, data
    n_held_out = min(max(1, round(rate * len(y))), len(y) - 1)
    rows = torch.from_numpy(rng.permutation(len(y))).to(y.device)
    held_out, own = rows[:n_held_out].sort().values, rows[n_held_out:].sort().values
    return (x[held_out], y[held_out]), (x[own], y[own])
