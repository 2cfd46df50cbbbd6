"""One-step: importance weights and classifier learnt together, from one bound on the target risk.

Half the squared risk on V's law is at most the squared weighted training risk plus the squared
error of the weights; a second network of weights takes steps on that sum, the classifier on the
weighted risk, in turns. Unlike in the two-step methods the weights heed the losses.

Zhang, Yamane, Lu and Sugiyama, ACML 2020, PMLR 129:65-80, arXiv 2007.04043.

*Symbols*: bound = M, which bounds the loss; the network of weights = g, the classifier = f;
J(f, g) = (mean g l)^2 + M^2 (mean g^2 over training samples - 2 mean g over V).

*Departures*: g takes the layers of the model before its last linear one, at their initial weights,
and ends in one softplus unit, so that no weight is negative. Weights are divided by their mean in
every batch, for steps of the same length in the beginning as in the end. The cross-entropy, which
is not bounded, stands for the loss; M = 1 bounds the share of wrong classes, of which it is a
surrogate.
"""

import copy
import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from firecv.errors import ModelError
from firecv.models import Batch, Task, batches, head_name, scores_and_features
from firecv.models.initialise import built
from firecv.regimes import Regime
from firecv.rivals.alignment import target_batches
from firecv.rivals.contract import AfterEpoch, Outcome, Target
from firecv.rivals.given import check_training, seen
from firecv.rivals.weighing import as_vector
from firecv.seeding import derive_torch
from firecv.training import Training, train


@dataclass(frozen=True)
class OneStep:
    """Training with weights that are learnt beside the classifier.

    Attributes
    ----------
    bound
        M: the larger, the closer the weights are kept to the density ratio; the smaller, the more
        they shun samples of large loss.
    """

    bound: float = 1.0

    label: ClassVar[str] = "One-step"
    regime: ClassVar[Regime] = "unlabelled"

    def __post_init__(self) -> None:
        """Check the settings."""
        if not 0 < self.bound < math.inf:
            raise ModelError(f"bound is {self.bound!r}; expected a number above 0")

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
        x_target = seen(self.label, self.regime, data, target).x
        weigher = Task(Weigher(task, derive_torch(seed, "weigher")))
        optimiser = settings.build(weigher)
        drawn = target_batches(x_target, settings.batch_size, derive_torch(seed, "target batches"))

        def objective(batch: Batch, rows: Tensor) -> Tensor:
            x, y = batch
            losses = functional.cross_entropy(task.model(x), y, reduction="none")
            if sample_weight is not None:
                losses = losses * sample_weight[rows]
            optimiser.zero_grad()
            found, of_target = weigher.model(x), weigher.model(next(drawn))
            squared_bound(found, losses.detach(), of_target, self.bound).backward()
            optimiser.step()
            with torch.no_grad():
                weights = mean_one(weigher.model(x))
            return (weights * losses).mean()

        rng = derive_torch(seed, "shuffle", 0)
        train(task, data, settings, rng, objective=objective, after_epoch=after_epoch)
        weigher.model.eval()
        with torch.no_grad():
            found = torch.cat([weigher.model(x) for (x,) in batches(data[0])])
        return Outcome(as_vector(mean_one(found)))


class Weigher(nn.Module):
    """The network of weights g: a model's layers up to its head, then one softplus unit.

    Parameters
    ----------
    task
        The model, which is copied; the copy is trained whole.
    rng
        Draws the unit's weights.
    """

    def __init__(self, task: Task, rng: torch.Generator) -> None:
        super().__init__()
        self.body = Task(copy.deepcopy(task.model), task.trainable)
        self.network = self.body.model  # registers its parameters
        head = task.model.get_submodule(head_name(task.model))
        assert isinstance(head, nn.Linear)
        unit = built(lambda: nn.Linear(head.in_features, 1), rng)
        assert isinstance(unit, nn.Linear)
        nn.init.constant_(unit.bias, math.log(math.e - 1))  # softplus of it is 1
        self.unit = unit.to(head.weight.device, head.weight.dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Return the weight of every sample, (n_samples,)."""
        _, features = scores_and_features(self.body, x)
        return functional.softplus(self.unit(features))[:, 0]


def squared_bound(weights: Tensor, losses: Tensor, of_target: Tensor, bound: float) -> Tensor:
    """Return J, the bound on half the squared target risk without its constant M^2 E[r^2].

    Parameters
    ----------
    weights
        g at training samples, (n_samples,).
    losses
        Of training samples, (n_samples,).
    of_target
        g at samples of V.
    bound
        M.

    Examples
    --------
    >>> ones = torch.ones(4)
    >>> squared_bound(ones, 0.5 * ones, ones, bound=1.0)  # 0.5^2 + 1 - 2
    tensor(-0.7500)
    """
    error = weights.square().mean() - 2 * of_target.mean()
    return (weights * losses).mean().square() + bound**2 * error


def mean_one(weights: Tensor) -> Tensor:
    """Return non-negative weights divided by their mean; zeros stay zeros.

    Examples
    --------
    >>> mean_one(torch.tensor([1.0, 3.0]))
    tensor([0.5000, 1.5000])
    """
    return weights / weights.mean().clamp_min(torch.finfo(weights.dtype).tiny)
