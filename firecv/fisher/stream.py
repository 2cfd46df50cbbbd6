"""Any number of samples, a few at a time: per-sample gradients in memory that does not grow."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from firecv.errors import DataError
from firecv.fisher import checks
from firecv.fisher.capture import Pass, plan_of
from firecv.fisher.laws import Law, n_pulls, pulls
from firecv.fisher.layers.contract import LayerGradients
from firecv.models import Task
from firecv.tree import Tree

MICRO_BATCH = 128
"""Samples in one pass; larger batches are cut, which changes nothing in eval mode."""

Batches = Iterable[Tensor | Sequence[Tensor]]


@dataclass(frozen=True)
class MicroBatch:
    """A few samples after their forward pass."""

    done: Pass
    y: Tensor | None
    law: Law
    rng: torch.Generator | None

    @property
    def n_samples(self) -> int:
        """How many samples it has."""
        return self.done.x.shape[0]

    def passes(self) -> Iterator[list[LayerGradients]]:
        """Yield every layer's gradients for one backward pass after the other."""
        scores = self.done.scores
        n_passes = n_pulls(self.law, scores.shape[1])
        for index, pull in enumerate(pulls(scores.detach(), self.y, self.law, self.rng)):
            more = index + 1 < n_passes
            with full_precision(scores):
                layers = self.done.backward(scores, pull, 1 / n_passes, retain=more).layers
            yield layers


def micro_batches(
    task: Task, batches: Batches, law: Law, rng: torch.Generator | None, weights: Tree | None
) -> Iterator[MicroBatch]:
    """Yield all samples of `batches`, a few at a time, after checking all that can be wrong."""
    checks.check_law(law)
    checks.check_eval(task)
    plan = plan_of(task)
    checks.check_per_sample(plan)
    weights = leaves(task, weights)
    for x, y in parts(batches, MICRO_BATCH):
        labels = y if law == "empirical" else None
        with torch.enable_grad():
            done = plan.run(task, x, weights)
        checks.check_scores(done.scores, done.x.shape[0])
        if labels is not None:
            checks.check_labels(labels, done.scores.shape[1])
        checks.check_finite_scores(done.scores, task, done.x, weights)
        yield MicroBatch(done, labels, law, rng)


def parts(batches: Batches, n_most: int) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Yield all samples of `batches`, with their labels if there are any, so many at a time."""
    empty = True
    for batch in batches:
        x, y = checks.unpack(batch)
        for start in range(0, len(x), n_most):
            empty = False
            part = slice(start, start + n_most)
            yield x[part], None if y is None else y[part]
    if empty:
        raise DataError(
            "there is no sample to estimate a Fisher from: batches is empty, or an iterator that "
            "was used up before"
        )


def full_precision(like: Tensor) -> AbstractContextManager[object]:
    """Return a context in which no autocast lowers the precision of our own sums."""
    kind = like.device.type
    return torch.autocast(kind, enabled=False) if torch.is_autocast_enabled(kind) else nullcontext()


def leaves(task: Task, weights: Tree | None) -> Tree | None:
    """Return given weights as leaves of a graph of their own."""
    if weights is None:
        return None
    trainable = set(task.trainable)
    missing = sorted(trainable - weights.keys())
    if missing:
        raise DataError(f"weights lack the trainable {missing}; give all of Task.weights()")
    return {
        name: value.detach().requires_grad_(name in trainable) for name, value in weights.items()
    }
