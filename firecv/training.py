"""The only mini-batch loop in the project.

Everything that trains a network goes through `train`; what a method adds is a backward call of its
own, weights of samples, or something to do after an epoch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from firecv.errors import DataError, ModelError, NumericalError
from firecv.models import Batch, Task

Backward = Callable[[Tensor, Tensor], None]
"""Takes a loss and the labels of its batch and leaves gradients, as ``loss.backward()`` does."""


@dataclass(frozen=True)
class Training:
    """How a network is trained.

    Attributes
    ----------
    n_epochs
        Passes over the data.
    batch_size
        Samples in a step; None for all of them.
    rate
        Learning rate.
    optimiser
        ``"adam"`` or ``"sgd"``.
    momentum
        Of SGD.
    decay
        L2 penalty on all parameters, the optimiser's own.
    """

    n_epochs: int = 100
    batch_size: int | None = 128
    rate: float = 1e-3
    optimiser: Literal["adam", "sgd"] = "adam"
    momentum: float = 0.0
    decay: float = 0.0

    def __post_init__(self) -> None:
        """Check the settings."""
        expected = {
            "n_epochs": (_is_whole(self.n_epochs), "a whole number from 1 on"),
            "batch_size": (
                self.batch_size is None or _is_whole(self.batch_size),
                "a whole number from 1 on, or None",
            ),
            "rate": (0 < self.rate < float("inf"), "a number above 0"),
            "optimiser": (self.optimiser in ("adam", "sgd"), "'adam' or 'sgd'"),
            "momentum": (0 <= self.momentum < 1, "a number from 0 to below 1"),
            "decay": (0 <= self.decay < float("inf"), "a number from 0 on"),
        }
        for name, (is_right, words) in expected.items():
            if not is_right:
                raise ModelError(f"{name} is {getattr(self, name)!r}; expected {words}")

    def build(self, task: Task) -> torch.optim.Optimizer:
        """Return a new optimiser of the trainable parameters."""
        params = list(task.parameters().values())
        if self.optimiser == "adam":
            return torch.optim.Adam(params, self.rate, weight_decay=self.decay)
        return torch.optim.SGD(params, self.rate, self.momentum, weight_decay=self.decay)


def train(
    task: Task,
    data: Batch,
    settings: Training,
    rng: torch.Generator,
    *,
    optimiser: torch.optim.Optimizer | None = None,
    backward: Backward | None = None,
    sample_weight: Callable[[], Tensor | None] | Tensor | None = None,
    after_epoch: Callable[[int, float], None] | None = None,
) -> torch.optim.Optimizer:
    """Train a model in place and return the optimiser it was trained with.

    Parameters
    ----------
    task
        The model; it is put into train mode for the time and into eval mode afterwards.
    data
        Samples and labels.
    settings
        Epochs, batches and steps.
    rng
        Shuffles the samples.
    optimiser
        One to go on with; a new one otherwise.
    backward
        What is called instead of ``loss.backward()``.
    sample_weight
        What each sample's loss is multiplied with, or a function that returns it, or None, at the
        beginning of every epoch.
    after_epoch
        Called with the number of the epoch, from 1, and its mean loss.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(2, 2))
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> settings = Training(n_epochs=200, rate=0.1)
    >>> _ = train(task, (x, torch.tensor([0, 1])), settings, torch.Generator())
    >>> task.scores(x).argmax(1).tolist()
    [0, 1]
    """
    x, y = data
    if not len(x) or len(x) != len(y):
        raise DataError(f"got {len(x)} samples and {len(y)} labels; expected as many, at least one")
    optimiser = optimiser or settings.build(task)
    size = settings.batch_size or len(x)
    task.model.train()
    try:
        for epoch in range(1, settings.n_epochs + 1):
            weight = sample_weight() if callable(sample_weight) else sample_weight
            mean = _epoch(task, (x, y), weight, size, rng, optimiser, backward)
            if mean != mean or mean == float("inf"):
                raise NumericalError(
                    f"the loss became {mean} in epoch {epoch}; lower the learning rate "
                    f"({settings.rate}) or the strength, or check the inputs"
                )
            if after_epoch is not None:
                after_epoch(epoch, mean)
    finally:
        task.model.eval()
    return optimiser


def _epoch(
    task: Task,
    data: Batch,
    weight: Tensor | None,
    size: int,
    rng: torch.Generator,
    optimiser: torch.optim.Optimizer,
    backward: Backward | None,
) -> float:
    x, y = data
    total = 0.0
    whole = size >= len(x)  # nothing to shuffle
    order = torch.arange(len(x)) if whole else torch.randperm(len(x), generator=rng)
    for rows in order.split(size):
        rows = rows.to(x.device)
        x_batch, y_batch = (x, y) if whole else (x[rows], y[rows])
        optimiser.zero_grad()
        scores = task.model(x_batch)
        if weight is None:
            loss = functional.cross_entropy(scores, y_batch)
        else:
            losses = functional.cross_entropy(scores, y_batch, reduction="none")
            loss = (losses * weight[rows]).mean()
        if backward is None:
            loss.backward()
        else:
            backward(loss, y_batch)
        optimiser.step()
        total += loss.item() * len(rows)
    return total / len(x)


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 1
