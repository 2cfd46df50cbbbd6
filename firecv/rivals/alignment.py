"""Training on labelled source samples with a penalty on features that tell source from target.

Source samples are the training data, target samples the inputs of V; features are what goes into
a network's last linear layer. Every step passes one batch of each through the network together:
batch norms then see the mixture of both in training, and their running statistics, which the
network is used with afterwards, are those of the same mixture. Two passes would normalise each
side by itself and so hide from the penalty a shift that the trained network still meets.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from firecv.errors import ModelError
from firecv.models import Batch, Task, scores_and_features
from firecv.rivals.contract import AfterEpoch, Target
from firecv.rivals.given import check_training, seen
from firecv.seeding import derive_torch
from firecv.training import Objective, Training, train


@dataclass(frozen=True)
class Alignment:
    """What a method adds to the loss of a step.

    Attributes
    ----------
    label
        The method's name, for messages.
    penalty
        Takes features of source and of target samples and returns what is added.
    strength
        What the penalty is multiplied with; at 0 target samples are not even drawn.
    least
        Samples of each side that the penalty is defined for; a last batch of fewer source samples
        goes without it.
    """

    label: str
    penalty: Callable[[Tensor, Tensor], Tensor]
    strength: float
    least: int = 1


def train_aligned(
    alignment: Alignment,
    task: Task,
    data: Batch,
    target: Target | None,
    settings: Training,
    seed: int,
    *,
    optimiser: torch.optim.Optimizer | None = None,
    sample_weight: Tensor | None = None,
    after_epoch: AfterEpoch | None = None,
) -> None:
    """Train a model in place on source samples and inputs of the target.

    Parameters
    ----------
    alignment
        What is added to the loss.
    task, data, target, settings, seed, after_epoch
        As for `firecv.rivals.contract.Rival.fit`.
    optimiser
        One that trains more than the model; a new one otherwise.
    sample_weight
        Multiplies the classification loss of every source sample, not the penalty.
    """
    check_training(data, sample_weight)
    x = seen(alignment.label, "unlabelled", data, target).x
    _check_batches(alignment, settings)
    objective = None
    if alignment.strength:
        drawn = target_batches(x, settings.batch_size, derive_torch(seed, "target batches"))
        objective = _aligned(alignment, task, drawn, sample_weight)
    train(
        task,
        data,
        settings,
        derive_torch(seed, "shuffle", 0),
        optimiser=optimiser,
        objective=objective,
        sample_weight=sample_weight,
        after_epoch=after_epoch,
    )


def target_batches(x: Tensor, size: int | None, rng: torch.Generator) -> Iterator[Tensor]:
    """Yield batches of distinct samples for ever, in a new order for every pass.

    All have the same size: what is left over at the end of a pass is left out of it.

    Parameters
    ----------
    x
        One sample or more.
    size
        Samples in a batch; all of them, unshuffled, for None or if there are no more.
    rng
        Shuffles.

    Examples
    --------
    >>> drawn = target_batches(torch.arange(5), 2, derive_torch(0, "target batches"))
    >>> first, second, third = (next(drawn) for _ in range(3))
    >>> len({*first.tolist(), *second.tolist()}), len(third)
    (4, 2)
    """
    while size is None or size >= len(x):
        yield x
    while True:
        order = torch.randperm(len(x), generator=rng).to(x.device)
        for rows in order[: len(x) // size * size].split(size):
            yield x[rows]


def classification_loss(scores: Tensor, y: Tensor, weight: Tensor | None) -> Tensor:
    """Return the mean cross-entropy, each sample's multiplied with its weight."""
    if weight is None:
        return functional.cross_entropy(scores, y)
    return (functional.cross_entropy(scores, y, reduction="none") * weight).mean()


def check_strength(strength: float) -> None:
    """Raise `ModelError` unless a penalty may have this strength."""
    if not 0 <= strength < math.inf:
        raise ModelError(f"strength is {strength!r}; expected a number from 0 on")


def _check_batches(alignment: Alignment, settings: Training) -> None:
    if settings.batch_size is not None and settings.batch_size < alignment.least:
        raise ModelError(
            f"batch_size is {settings.batch_size}, but {alignment.label} compares batches of "
            f"{alignment.least} samples or more; raise batch_size"
        )


def _aligned(
    alignment: Alignment, task: Task, drawn: Iterator[Tensor], weight: Tensor | None
) -> Objective:
    def objective(batch: Batch, rows: Tensor) -> Tensor:
        x, y = batch
        n = len(x)
        scores, features = scores_and_features(task, torch.cat((x, next(drawn))))
        loss = classification_loss(scores[:n], y, None if weight is None else weight[rows])
        if n < alignment.least:
            return loss
        return loss + alignment.strength * alignment.penalty(features[:n], features[n:])

    return objective
