"""GIW: importance weights where the training samples reach, V's own samples where they do not.

After some epochs a one-class support vector machine on the network's features splits V into
samples within the support of the training samples and those outside. From then on the loss is that
of DIW towards the former and the plain loss of the latter, by their shares of V.

Fang, Lu, Niu and Sugiyama, NeurIPS 2023, arXiv 2305.14690.

*Symbols*: inside_share = alpha, the share of V1 in V; V1 = inside, V2 = outside; the loss is
alpha mean(w l) + (1 - alpha) mean_V2(l).

*Departures*: features are the inputs of the last linear layer, whatever the network. Epochs before
the split count among all epochs and are at most half of them. Batches are drawn from V1 and V2
themselves, not from V and then split, so that neither can be empty; training samples and those of
V2 pass through the network together. The kernel is that of our DIW; the released code passes the
median distance of losses as the inverse square of a width, which `released` does too.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from sklearn.svm import OneClassSVM
from torch import Tensor
from torch.nn import functional

from firecv.errors import FirecvNotice, ModelError
from firecv.fisher.recorder import eval_mode
from firecv.models import Batch, Task, batches, scores_and_features
from firecv.ratios.kernels import Samples
from firecv.regimes import Regime
from firecv.rivals.alignment import classification_loss
from firecv.rivals.contract import AfterEpoch, Outcome, Target
from firecv.rivals.diw import Matcher, WarmStart, check_warm_epochs, labelled_batches
from firecv.rivals.given import check_training, seen_labelled
from firecv.rivals.weighing import as_rows
from firecv.training import Objective, Training

RELEASED_QUANTILE = 0.5


@dataclass(frozen=True)
class GIW:
    """Training with weights towards V within the training support, and on V outside of it.

    The support vector machine takes time that grows with the square of the training samples.

    Attributes
    ----------
    n_warm_epochs
        Epochs of plain training before V is split, at most half of all.
    gamma
        Of the support vector machine's kernel exp(-gamma d^2) on features of length one.
    threshold
        Score above which a sample of V is within the support.
    released
        Whether the kernel that matches losses is the released code's.
    """

    n_warm_epochs: int = 10
    gamma: float = 1e4
    threshold: float = 1e-4
    released: bool = False

    label: ClassVar[str] = "GIW"
    regime: ClassVar[Regime] = "labelled"

    def __post_init__(self) -> None:
        """Check the settings."""
        check_warm_epochs(self.n_warm_epochs)
        if not self.gamma > 0:
            raise ModelError(f"gamma is {self.gamma!r}; expected a number above 0")

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
        x, y = seen_labelled(self.label, data, target)
        quantile = RELEASED_QUANTILE if self.released else None
        matcher = Matcher(task, data, sample_weight, quantile)
        share = 1.0

        def later() -> Objective:
            nonlocal share
            is_inside = within_support(task, data[0], x, self.gamma, self.threshold)
            share = float(is_inside.double().mean())
            if share == 0:
                _warn_of_no_overlap(len(x))
            sides = [
                labelled_batches((x[side], y[side]), settings, seed) if side.any() else None
                for side in (is_inside, ~is_inside)
            ]
            return _split_loss(task, matcher, sides[0], sides[1], share)

        warm = WarmStart(self.n_warm_epochs, later)
        warm.train(task, data, settings, seed, sample_weight, after_epoch)
        return Outcome(matcher.weights, {"inside_share": share})


def within_support(
    task: Task, x_train: Tensor, x_target: Tensor, gamma: float, threshold: float
) -> Tensor:
    """Return which samples of V are within the support of the training samples' features.

    Parameters
    ----------
    task
        The model; features are what goes into its head, scaled to length one.
    x_train, x_target
        Samples.
    gamma
        Of the kernel.
    threshold
        Least score.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(2, 2))  # features are the inputs themselves
    >>> x = torch.tensor([[1.0, 0.0], [0.9, 0.1], [0.8, 0.2]])
    >>> within_support(task, x, torch.tensor([[0.9, 0.1], [0.0, 1.0]]), 1e4, 1e-4)
    tensor([ True, False])
    """
    with eval_mode(task.model), torch.no_grad():
        known, asked = (_features(task, x) for x in (x_train, x_target))
    machine = OneClassSVM(gamma=gamma)  # pyright: ignore[reportArgumentType]
    scores = machine.fit(known).score_samples(asked)
    return torch.from_numpy(np.asarray(scores) > threshold).to(x_target.device)


def joint_loss(
    task: Task, batch: Batch, weight: Tensor | None, other: Batch, share: float
) -> Tensor:
    """Return the mean loss of a batch, by its share, and that of another batch, by the rest.

    Both pass through the network together, so that batch norms see one batch.

    Parameters
    ----------
    task
        The model.
    batch
        Samples and labels.
    weight
        What each of their losses is multiplied with.
    other
        Further samples and labels.
    share
        Of the first batch.
    """
    (x, y), (x_other, y_other) = batch, other
    scores = task.model(torch.cat((x, x_other)))
    first = classification_loss(scores[: len(x)], y, weight)
    second = classification_loss(scores[len(x) :], y_other, None)
    return share * first + (1 - share) * second


def _split_loss(
    task: Task,
    matcher: Matcher,
    inside: Iterator[Batch] | None,
    outside: Iterator[Batch] | None,
    share: float,
) -> Objective:
    """Return the loss after the split; without a side of V its term is left out."""

    def objective(batch: Batch, rows: Tensor) -> Tensor:
        if inside is None:
            assert outside is not None
            x, y = next(outside)
            return classification_loss(task.model(x), y, None)
        weights = matcher(batch, rows, next(inside))
        if outside is None:
            return classification_loss(task.model(batch[0]), batch[1], weights)
        return joint_loss(task, batch, weights, next(outside), share)

    return objective


def _features(task: Task, x: Tensor) -> Samples:
    found = torch.cat([scores_and_features(task, part)[1] for (part,) in batches(x)])
    return as_rows(functional.normalize(found))


def _warn_of_no_overlap(n: int) -> None:
    warnings.warn(
        f"none of the {n} samples of the validation set is within the support of the training "
        f"samples' features, so GIW goes on with the validation samples alone; lower `gamma` or "
        f"`threshold` to count more of them in, or train longer before the split "
        f"(`n_warm_epochs`)",
        FirecvNotice,
        stacklevel=2,
    )
