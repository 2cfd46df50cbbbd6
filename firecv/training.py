"""The only mini-batch loop in the project.

Everything that trains a network goes through `train`; what a method adds is a loss or a backward
call of its own, weights of samples, a change of the gradient, or something to do after a step or
an epoch.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from firecv.errors import DataError, ModelError, NumericalError
from firecv.models import Batch, Task
from firecv.tree import Tree, check_match

Backward = Callable[[Tensor, Tensor], None]
"""Takes a loss and the labels of its batch and leaves gradients, as ``loss.backward()`` does."""
Objective = Callable[[Batch, Tensor], Tensor]
"""Takes a batch and the places of its samples in the data and returns the loss."""


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
            # One pass over memory instead of ten; other devices may not have it.
            fused = all(param.device.type in ("cpu", "cuda") for param in params)
            return torch.optim.Adam(params, self.rate, weight_decay=self.decay, fused=fused)
        return torch.optim.SGD(params, self.rate, self.momentum, weight_decay=self.decay)


def train(
    task: Task,
    data: Batch,
    settings: Training,
    rng: torch.Generator,
    *,
    optimiser: torch.optim.Optimizer | None = None,
    objective: Objective | None = None,
    backward: Backward | None = None,
    transform_gradient: Callable[[Tree], Tree] | None = None,
    after_step: Callable[[], None] | None = None,
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
    objective
        Returns the loss of a batch, at the model's present weights; by default the mean
        cross-entropy, weighted by `sample_weight`, which an objective of one's own has to heed
        itself.
    backward
        What is called instead of ``loss.backward()``.
    transform_gradient
        Takes the gradient of the trainable parameters and returns the one to step along.
    after_step
        Called after every step of the optimiser.
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
    optimiser = optimiser or settings.build(task)
    step = _Step(task, optimiser, backward, transform_gradient, after_step)
    _train(task, data, settings, rng, step, objective, sample_weight, after_epoch)
    return optimiser


class Trained(NamedTuple):
    """What `train_from` returns: weights, steps taken, and the mean loss of the last epoch."""

    weights: Tree
    n_steps: int
    loss: float


def train_from(
    task: Task,
    weights: Tree,
    data: Batch,
    settings: Training,
    rng: torch.Generator,
    *,
    objective: Objective | None = None,
    transform_gradient: Callable[[Tree], Tree] | None = None,
    after_step: Callable[[], None] | None = None,
) -> Trained:
    """Train from given weights and return the new ones; the model's own stay as they are.

    While it trains, `task.model` holds the weights under training, so an objective may use it.

    Parameters
    ----------
    task
        The model.
    weights
        All parameters and floating-point buffers, as `Task.weights` returns them; not changed.
    data, settings, rng, objective, transform_gradient, after_step
        As for `train`; the optimiser is a new one.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(1, 2, bias=False))
    >>> data = (torch.ones(4, 1), torch.tensor([0, 1, 1, 1]))
    >>> settings = Training(n_epochs=3, batch_size=2, rate=0.5, optimiser="sgd")
    >>> zeros = {"weight": torch.zeros(2, 1)}
    >>> trained = train_from(task, zeros, data, settings, torch.Generator())
    >>> trained.n_steps, bool(trained.weights["weight"][1] > 0)
    (6, True)
    """
    losses: list[float] = []
    own = {name: value.detach().clone() for name, value in weights.items()}
    with holding(task, own) as held:
        optimiser = (
            settings.build(task) if settings.optimiser == "adam" else _SGD(task, held, settings)
        )
        step = _Step(task, optimiser, None, transform_gradient, after_step)
        _train(
            task,
            data,
            settings,
            rng,
            step,
            objective,
            after_epoch=lambda epoch, loss: losses.append(loss),
        )
    n_batches = -(-len(data[0]) // (settings.batch_size or len(data[0])))
    return Trained(own, settings.n_epochs * n_batches, losses[-1])


@contextmanager
def holding(task: Task, weights: Tree) -> Generator[Tree]:
    """Let the model hold other weights for a while; what changes them changes `weights` in place.

    Gives the model's own parameters and buffers, by name.

    Parameters
    ----------
    task
        The model.
    weights
        All parameters and floating-point buffers, as `Task.weights` returns them.
    """
    state = task.state()
    check_match(state, weights)
    kept = [(value, value.data, value.grad) for value in state.values()]
    try:
        for name, value in state.items():
            value.data, value.grad = weights[name], None
        yield state
    finally:
        for value, data, grad in kept:
            value.data, value.grad = data, grad


def _train(
    task: Task,
    data: Batch,
    settings: Training,
    rng: torch.Generator,
    step: "_Step",
    objective: Objective | None,
    sample_weight: Callable[[], Tensor | None] | Tensor | None = None,
    after_epoch: Callable[[int, float], None] | None = None,
) -> None:
    """Run the epochs of `train`."""
    x, y = data
    if not len(x) or len(x) != len(y):
        raise DataError(f"got {len(x)} samples and {len(y)} labels; expected as many, at least one")
    size = settings.batch_size or len(x)
    with _train_mode(task.model):
        for epoch in range(1, settings.n_epochs + 1):
            weight = sample_weight() if callable(sample_weight) else sample_weight
            loss_of = objective or _cross_entropy(task, weight)
            mean = _epoch((x, y), size, rng, loss_of, step)
            if mean != mean or mean == float("inf"):
                raise NumericalError(
                    f"the loss became {mean} in epoch {epoch}; lower the learning rate "
                    f"({settings.rate}) or the strength, or check the inputs"
                )
            if after_epoch is not None:
                after_epoch(epoch, mean)


@contextmanager
def _train_mode(model: nn.Module) -> Generator[None]:
    """Put a model into train mode for a while, and into eval mode afterwards."""
    modules = list(model.modules())
    is_plain = all(type(module).train is nn.Module.train for module in modules)

    def switch(mode: bool) -> None:
        if not is_plain:
            model.train(mode)
            return
        for module in modules:  # what train() does, without a detour that small clients would feel
            object.__setattr__(module, "training", mode)

    switch(True)
    try:
        yield
    finally:
        switch(False)


class _Optimiser(Protocol):
    """What a step needs of an optimiser."""

    def zero_grad(self) -> None: ...

    def step(self) -> object: ...


class _SGD:
    """`torch.optim.SGD`, bit for bit, without what building and calling it costs."""

    def __init__(self, task: Task, held: Tree, settings: Training) -> None:
        self.params, self.settings = [held[name] for name in task.trainable], settings
        self.velocity: dict[int, Tensor] = {}

    def zero_grad(self) -> None:
        for param in self.params:
            param.grad = None

    def step(self) -> None:
        rate, momentum, decay = self.settings.rate, self.settings.momentum, self.settings.decay
        with torch.no_grad():
            for place, param in enumerate(self.params):
                if param.grad is None:
                    continue
                move = param.grad.add(param, alpha=decay) if decay else param.grad
                if momentum and place in self.velocity:
                    move = self.velocity[place].mul_(momentum).add_(move)
                elif momentum:
                    move = self.velocity[place] = move.clone()
                param.add_(move, alpha=-rate)


class _Step:
    """One step of the optimiser along the gradient of a loss."""

    def __init__(
        self,
        task: Task,
        optimiser: _Optimiser,
        backward: Backward | None,
        transform_gradient: Callable[[Tree], Tree] | None,
        after_step: Callable[[], None] | None,
    ) -> None:
        self.params = {} if transform_gradient is None else task.parameters()
        self.optimiser, self.backward = optimiser, backward
        self.transform, self.after_step = transform_gradient, after_step

    def __call__(self, loss: Tensor, y: Tensor) -> None:
        if self.backward is None:
            loss.backward()
        else:
            self.backward(loss, y)
        if self.transform is not None:
            params = self.params.items()
            found = {n: torch.zeros_like(p) if p.grad is None else p.grad for n, p in params}
            changed = self.transform(found)
            for name, param in params:
                param.grad = changed[name]
        self.optimiser.step()
        if self.after_step is not None:
            self.after_step()


def _epoch(data: Batch, size: int, rng: torch.Generator, loss_of: Objective, step: _Step) -> float:
    x, y = data
    total = 0.0
    whole = size >= len(x)  # nothing to shuffle
    order = torch.arange(len(x)) if whole else torch.randperm(len(x), generator=rng)
    for rows in (order,) if whole else order.split(size):
        rows = rows.to(x.device)
        batch = (x, y) if whole else (x[rows], y[rows])
        step.optimiser.zero_grad()
        loss = loss_of(batch, rows)
        step(loss, batch[1])
        total += loss.item() * len(rows)
    return total / len(x)


def _cross_entropy(task: Task, weight: Tensor | None) -> Objective:
    def objective(batch: Batch, rows: Tensor) -> Tensor:
        if weight is None:
            return task.loss(batch)
        x, y = batch
        losses = functional.cross_entropy(task.model(x), y, reduction="none")
        return (losses * weight[rows]).mean()

    return objective


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 1
