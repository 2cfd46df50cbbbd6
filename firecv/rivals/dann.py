"""DANN: features from which a second network cannot tell training from target samples.

The domain head learns to tell them apart; the layer between it and the features turns the sign
of its gradient, so that the network learns features which make that hard.

Ganin and Lempitsky, ICML 2015, arXiv 1409.7495; Ganin, Ustinova, Ajakan, Germain, Larochelle,
Laviolette, Marchand and Lempitsky, JMLR 17 (2016), arXiv 1505.07818.

*Symbols*: progress = p, from 0 to 1 over all steps; strength times `reversal` = lambda_p;
domain head = G_d, the layers before the last linear one G_f, the last one G_y.

*Departures*: the paper lowers the learning rate as 0.01 / (1 + 10 p)^0.75 and trains with momentum
0.9; here the settings are those of all methods, so that they are compared alike. The domain loss is
the mean of both sides' means, so that sides of unequal size count the same.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from firecv.errors import ModelError
from firecv.models import Batch, Task, batches, mlp, scores_and_features
from firecv.regimes import Regime
from firecv.rivals.alignment import Alignment, check_strength, train_aligned
from firecv.rivals.contract import AfterEpoch, Outcome, Target
from firecv.rivals.given import check_training, seen
from firecv.seeding import derive_torch
from firecv.training import Training


@dataclass(frozen=True)
class DANN:
    """Training against a head that tells features of training from those of target samples.

    Its outcome says under ``"domain_accuracy"`` how well the head does in the end, on the samples
    that it was trained on: 1/2 where it cannot tell, 1 where it always can.

    Attributes
    ----------
    strength
        What the turned gradient is multiplied with at the end of training; 0 is plain training.
    hidden
        ReLU units of the domain head's one hidden layer.
    """

    strength: float = 1.0
    hidden: int = 100

    label: ClassVar[str] = "DANN"
    regime: ClassVar[Regime] = "unlabelled"

    def __post_init__(self) -> None:
        """Check the settings."""
        check_strength(self.strength)
        if self.hidden < 1:
            raise ModelError(f"hidden is {self.hidden!r}; expected a whole number from 1 on")

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
        check_training(data, sample_weight)  # before the head looks at a sample
        target = seen(self.label, self.regime, data, target)
        head = _domain_head(task, data[0], self.hidden, seed)
        optimiser = settings.build(task)
        optimiser.add_param_group({"params": list(head.parameters())})
        penalty = self._penalty(head, _n_steps(len(data[0]), settings))
        # Strength acts where the gradient turns: the head itself always learns at full rate.
        alignment = Alignment(self.label, penalty, strength=float(self.strength > 0))
        train_aligned(
            alignment,
            task,
            data,
            target,
            settings,
            seed,
            optimiser=optimiser,
            sample_weight=sample_weight,
            after_epoch=after_epoch,
        )
        if not self.strength:
            return Outcome()
        accuracy = _domain_accuracy(task, head, data[0], target.x)
        return Outcome(chosen={"domain_accuracy": accuracy})

    def _penalty(self, head: nn.Module, n_steps: int) -> Callable[[Tensor, Tensor], Tensor]:
        """Return the domain loss, one call for every step."""
        steps = itertools.count()

        def penalty(source: Tensor, target: Tensor) -> Tensor:
            factor = self.strength * reversal(next(steps) / n_steps)
            turned = (reverse_gradient(side, factor) for side in (source, target))
            return domain_loss(*(head(side)[:, 0] for side in turned))

        return penalty


def reversal(progress: float) -> float:
    """Return how far the gradient is turned: 2 / (1 + exp(-10 p)) - 1.

    Examples
    --------
    >>> [round(reversal(p), 3) for p in (0.0, 0.1, 0.5, 1.0)]
    [0.0, 0.462, 0.987, 1.0]
    """
    return 2 / (1 + math.exp(-10 * progress)) - 1


def reverse_gradient(x: Tensor, factor: float) -> Tensor:
    """Return `x`, whose gradient is multiplied with ``-factor`` on the way back.

    Examples
    --------
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> reverse_gradient(x, 0.5).sum().backward()
    >>> x.grad
    tensor([-0.5000, -0.5000])
    """
    return _Reverse.apply(x, factor)  # pyright: ignore[reportReturnType]


def domain_loss(source: Tensor, target: Tensor) -> Tensor:
    """Return the mean of both sides' mean logistic losses, target being the class 1.

    Parameters
    ----------
    source, target
        The domain head's outputs, of shape (n_samples,); both sides count half whatever their
        sizes.

    Examples
    --------
    >>> domain_loss(torch.zeros(30), torch.zeros(1))
    tensor(0.6931)
    """
    return (functional.softplus(source).mean() + functional.softplus(-target).mean()) / 2


class _Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, None]:
        return -ctx.factor * outputs[0], None


def _n_steps(n: int, settings: Training) -> int:
    return settings.n_epochs * math.ceil(n / (settings.batch_size or n))


@torch.no_grad()
def _domain_head(task: Task, x: Tensor, hidden: int, seed: int) -> nn.Module:
    task.model.eval()  # one sample to see the features' width: no batch norm may take note of it
    _, features = scores_and_features(task, x[:1])
    head = mlp((features.shape[1],), (hidden,), 1, derive_torch(seed, "domain head"))
    return head.to(features.device, features.dtype)


@torch.no_grad()
def _domain_accuracy(task: Task, head: nn.Module, source: Tensor, target: Tensor) -> float:
    """Return the mean of the shares that the head gets right on either side."""
    shares: list[float] = []
    for x, is_target in ((source, False), (target, True)):
        outputs = [head(scores_and_features(task, part)[1])[:, 0] for (part,) in batches(x)]
        shares.append(float(((torch.cat(outputs) > 0) == is_target).double().mean()))
    return sum(shares) / 2
