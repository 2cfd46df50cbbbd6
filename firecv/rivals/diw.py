"""DIW: dynamic importance weights, matched in every step on the losses of the network itself.

The losses of a training batch are weighed by kernel mean matching until they look like those of a
batch of V; the weighted training losses then make the step. As losses see labels, shifts of labels
are met too, and V's labels are needed.

Fang, Lu, Niu and Sugiyama, NeurIPS 2020, arXiv 2006.04662.

*Symbols*: losses = the transformation pi(x, y) of the data, w = W, BOUND = B, RIDGE = what the
released code adds to the kernel's diagonal.

*Departures*: weights are divided by their mean and the step is along the mean, not the sum, so that
the learning rate means the same as for the other methods. The kernel is exp(-d^2 / (2 s^2)) with
the median distance s; the released code passes a width, the 1 % quantile of distances, where the
inverse square of one is expected, which `released` does too. The first epoch is plain training,
as in the released code; no more than half of all epochs are.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from scipy.spatial.distance import pdist
from torch import Tensor
from torch.nn import functional

from firecv.errors import ModelError
from firecv.fisher.recorder import eval_mode
from firecv.models import Batch, Task
from firecv.ratios.kmm import match
from firecv.regimes import Regime
from firecv.rivals.alignment import classification_loss, target_batches
from firecv.rivals.contract import AfterEpoch, Outcome, Target
from firecv.rivals.given import check_training, seen_labelled
from firecv.rivals.weighing import Vector, as_vector
from firecv.seeding import derive_torch
from firecv.training import Objective, Training, train

BOUND, RIDGE = 50.0, 1e-5
RELEASED_QUANTILE = 0.01


@dataclass(frozen=True)
class DIW:
    """Training with weights matched on losses in every step.

    Attributes
    ----------
    n_warm_epochs
        Epochs of plain training in the beginning, at most half of all.
    released
        Whether the kernel is the released code's.
    """

    n_warm_epochs: int = 1
    released: bool = False

    label: ClassVar[str] = "DIW"
    regime: ClassVar[Regime] = "labelled"

    def __post_init__(self) -> None:
        """Check the settings."""
        check_warm_epochs(self.n_warm_epochs)

    def fit(
        self,
        task: Task,
        data: Batch,
        target: Target | None,
        settings: Training,
        seed: int,
        *,
        sample_weight: Tensor | None = None,
        after_epoch: AfterEpoch | None = None,
    ) -> Outcome:
        """Train the model in place; parameters are those of `firecv.rivals.contract.Rival`."""
        check_training(data, sample_weight)
        validation = seen_labelled(self.label, data, target)
        quantile = RELEASED_QUANTILE if self.released else None
        matcher = Matcher(task, data, sample_weight, quantile)
        drawn = labelled_batches(validation, settings, seed)

        def weighted(batch: Batch, rows: Tensor) -> Tensor:
            weights = matcher(batch, rows, next(drawn))
            return classification_loss(task.model(batch[0]), batch[1], weights)

        warm = WarmStart(self.n_warm_epochs, lambda: weighted)
        warm.train(task, data, settings, seed, sample_weight, after_epoch)
        return Outcome(matcher.weights)


class WarmStart(NamedTuple):
    """Plain training for some epochs, then a loss that is made at the weights they lead to.

    Attributes
    ----------
    n_epochs
        Plain epochs, at most half of all.
    later
        Returns the loss of a batch for the remaining epochs; called once.
    """

    n_epochs: int
    later: Callable[[], Objective]

    def train(
        self,
        task: Task,
        data: Batch,
        settings: Training,
        seed: int,
        sample_weight: Tensor | None,
        after_epoch: AfterEpoch | None,
    ) -> None:
        """Train a model in place; parameters are those of `firecv.rivals.contract.Rival`."""
        n_plain = min(self.n_epochs, settings.n_epochs // 2)

        def plain(batch: Batch, rows: Tensor) -> Tensor:
            given = None if sample_weight is None else sample_weight[rows]
            return classification_loss(task.model(batch[0]), batch[1], given)

        current = plain if n_plain else self.later()

        def objective(batch: Batch, rows: Tensor) -> Tensor:
            return current(batch, rows)

        def switch(epoch: int, loss: float) -> None:
            nonlocal current
            if epoch == n_plain:
                current = self.later()
            if after_epoch is not None:
                after_epoch(epoch, loss)

        rng = derive_torch(seed, "shuffle", 0)
        train(task, data, settings, rng, objective=objective, after_epoch=switch)


class Matcher:
    """Matches the losses of training batches with those of batches of V.

    Attributes
    ----------
    weights
        What each training sample was last given; 1 before.

    Parameters
    ----------
    task
        The model.
    data
        Training samples and labels.
    sample_weight
        The user's weights, which multiply those that are returned, not those that are kept.
    released_quantile
        Of the distances of losses, used as the kernel's gamma; None for a width of their median.
    """

    def __init__(
        self,
        task: Task,
        data: Batch,
        sample_weight: Tensor | None,
        released_quantile: float | None,
    ) -> None:
        self.task, self.weights = task, np.ones(len(data[0]))
        self._given, self._quantile = sample_weight, released_quantile

    def __call__(self, batch: Batch, rows: Tensor, validation: Batch) -> Tensor | None:
        """Return the weight of every sample of a batch; None where all are one.

        Parameters
        ----------
        batch, rows
            Training samples with labels, and their places.
        validation
            A labelled batch of V.
        """
        with eval_mode(self.task.model), torch.no_grad():
            losses, wanted = (
                functional.cross_entropy(self.task.model(x), y, reduction="none")
                for x, y in (batch, validation)
            )
        found = match_losses(as_vector(losses), as_vector(wanted), self._quantile)
        self.weights[rows.cpu().numpy()] = found
        if (found == 1).all():
            return None if self._given is None else self._given[rows]
        own = torch.from_numpy(found).to(losses.device, losses.dtype)
        return own if self._given is None else own * self._given[rows]


def match_losses(losses: Vector, wanted: Vector, released_quantile: float | None = None) -> Vector:
    """Return weights of mean one with which some losses have about the law of others.

    Losses that are all equal, or not all finite, are given the weight one.

    Parameters
    ----------
    losses
        Those to weigh, (n,).
    wanted
        Those to match, (m,).
    released_quantile
        Of the distances between `losses`, used as the kernel's gamma; None for a width of their
        median.

    Examples
    --------
    >>> losses = np.array([0.1, 0.2, 0.9, 1.0])
    >>> match_losses(losses, np.array([0.9, 0.95, 1.0])).round(1)
    array([0., 0., 2., 2.])
    """
    ones = np.ones(len(losses))
    if not (np.isfinite(losses).all() and np.isfinite(wanted).all()):
        return ones  # the training loop reports the loss
    gamma = _gamma(losses, released_quantile)
    if gamma is None:
        return ones
    kernel = np.exp(-gamma * np.square(losses[:, None] - losses))
    between = np.exp(-gamma * np.square(losses[:, None] - wanted))
    found = match(kernel, len(losses) * between.mean(1), bound=BOUND, ridge=RIDGE).weights
    return found / found.mean() if found.any() else ones


def labelled_batches(data: Batch, settings: Training, seed: int) -> Iterator[Batch]:
    """Yield labelled batches of V for ever, of the size of training batches or all of V.

    Parameters
    ----------
    data
        Inputs and labels of V.
    settings
        Give the size.
    seed
        Of the shuffles.
    """
    x, y = data
    places = torch.arange(len(x), device=x.device)
    rng = derive_torch(seed, "target batches")
    for rows in target_batches(places, settings.batch_size, rng):
        yield x[rows], y[rows]


def check_warm_epochs(n_warm_epochs: int) -> None:
    """Raise `ModelError` unless this can be a number of epochs."""
    if n_warm_epochs < 0:
        raise ModelError(f"n_warm_epochs is {n_warm_epochs!r}; expected a whole number from 0 on")


def _gamma(losses: Vector, released_quantile: float | None) -> float | None:
    """Return gamma of the kernel exp(-gamma d^2), or None where all losses are equal."""
    distances = pdist(losses[:, None])
    if not distances.any():
        return None
    if released_quantile is not None:
        return float(np.quantile(distances, released_quantile))
    width = float(np.median(distances)) or float(distances[distances > 0].mean())
    return 0.5 / width**2
