"""Controls: what is left of a method's gain once its data or its regularisation is given to all.

`Pooled` and `PooledHalf` train on the labelled V as on any other fragment and are what a method of
the labelled regime has to beat; `L2` sees nothing of V and penalises weights as strongly as
cross-validation on the training samples says, which a method with a penalty has to beat.

*Departures*: none; there is no paper.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from firecv.errors import ModelError
from firecv.models import Batch, Task
from firecv.regimes import Regime
from firecv.rivals.contract import AfterEpoch, Outcome, Target
from firecv.rivals.diw import labelled_batches
from firecv.rivals.given import check_training, seen_labelled
from firecv.rivals.giw import joint_loss
from firecv.rivals.weighing import as_vector, cross_validated_risks
from firecv.seeding import derive_torch
from firecv.training import Training, train


@dataclass(frozen=True)
class Pooled:
    """Plain training on training samples and V together, every sample once.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(1, 2))
    >>> data = (torch.zeros(2, 1), torch.tensor([0, 1]))  # nothing to be learnt here
    >>> target = Target(torch.tensor([[-1.0], [1.0]]), torch.tensor([0, 1]))
    >>> _ = Pooled().fit(task, data, target, Training(n_epochs=200, rate=0.1), seed=0)
    >>> task.scores(target.x).argmax(1).tolist()
    [0, 1]
    """

    label: ClassVar[str] = "pooled"
    regime: ClassVar[Regime] = "labelled"

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
        weight = None
        if sample_weight is not None:
            weight = torch.cat((sample_weight, sample_weight.new_ones(len(y))))
        train(
            task,
            (torch.cat((data[0], x)), torch.cat((data[1], y))),
            settings,
            derive_torch(seed, "shuffle", 0),
            sample_weight=weight,
            after_epoch=after_epoch,
        )
        return Outcome()


@dataclass(frozen=True)
class PooledHalf:
    """Training in which V makes up half of the loss of every step.

    Each step adds a batch of V, of as many samples as the training batch or all of V, and takes the
    mean of both mean losses; an epoch has as many steps as in plain training.
    """

    label: ClassVar[str] = "pooled, half V"
    regime: ClassVar[Regime] = "labelled"

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
        drawn = labelled_batches(seen_labelled(self.label, data, target), settings, seed)

        def objective(batch: Batch, rows: Tensor) -> Tensor:
            given = None if sample_weight is None else sample_weight[rows]
            return joint_loss(task, batch, given, next(drawn), share=0.5)

        rng = derive_torch(seed, "shuffle", 0)
        train(task, data, settings, rng, objective=objective, after_epoch=after_epoch)
        return Outcome()


@dataclass(frozen=True)
class L2:
    """Plain training with an L2 penalty chosen by cross-validation on the training samples.

    The penalty takes the place of the settings' own `decay`.

    Attributes
    ----------
    decays
        Penalties to choose from; among equal risks the smallest is taken.
    n_folds
        Folds of the choice, which takes a training for each of them and each penalty.
    """

    decays: tuple[float, ...] = (0.0, 1e-4, 1e-3, 1e-2, 1e-1)
    n_folds: int = 5

    label: ClassVar[str] = "L2"
    regime: ClassVar[Regime] = "none"

    def __post_init__(self) -> None:
        """Check the settings."""
        if not self.decays or not all(0 <= decay < float("inf") for decay in self.decays):
            raise ModelError(f"decays is {self.decays!r}; expected numbers from 0 on")
        if self.n_folds < 2:
            raise ModelError(f"n_folds is {self.n_folds!r}; expected a whole number from 2 on")

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
        decays, best = sorted(self.decays), 0
        if len(decays) > 1:
            trainings = [(replace(settings, decay=decay), sample_weight) for decay in decays]
            ones = torch.ones(len(data[0])) if sample_weight is None else sample_weight
            importance = as_vector(ones)
            risks = cross_validated_risks(task, data, trainings, importance, self.n_folds, seed)
            best = int(np.argmin(risks))
        train(
            task,
            data,
            replace(settings, decay=decays[best]),
            derive_torch(seed, "shuffle", 0),
            sample_weight=sample_weight,
            after_epoch=after_epoch,
        )
        return Outcome(chosen={"decay": decays[best]})
