"""DDC and DAN: features of training and target samples are to have the same mean embedding.

The squared maximum mean discrepancy (MMD) within a batch is added to the loss: with the linear
kernel in DDC, where it is the squared distance of the mean features, and with a sum of Gaussian
kernels in DAN, which sees any difference of the two laws.

DDC: Tzeng, Hoffman, Zhang, Saenko and Darrell, 2014, arXiv 1412.3474.
DAN: Long, Cao, Wang and Jordan, ICML 2015, arXiv 1502.02791; fixed kernels as in DomainBed:
Gulrajani and Lopez-Paz, ICLR 2021, arXiv 2007.01434.

*Symbols*: strength = lambda, GAMMAS = the kernels' inverse widths gamma, k(x, y) = sum over gamma
of exp(-gamma |x - y|^2).

*Departures*: DDC adds an adaptation layer of 256 units and DAN penalises three layers; here both
act on the inputs of the network's last linear layer, which stays as it is. DAN learns the weights
of its kernels and takes an estimate of linear cost; here all kernels have weight one and every
pair of a batch counts.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from firecv.errors import DataError
from firecv.models import Batch, Task
from firecv.regimes import Regime
from firecv.rivals.alignment import Alignment, check_strength, train_aligned
from firecv.rivals.contract import AfterEpoch, Outcome, Target
from firecv.training import Training

GAMMAS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)


@dataclass(frozen=True)
class DDC:
    """Training with the squared distance of mean features of training and target samples.

    Attributes
    ----------
    strength
        What the distance is multiplied with; 0 is plain training.
    """

    strength: float = 0.25

    label: ClassVar[str] = "DDC"
    regime: ClassVar[Regime] = "unlabelled"

    def __post_init__(self) -> None:
        """Check the settings."""
        check_strength(self.strength)

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
        train_aligned(
            Alignment(self.label, linear_mmd, self.strength),
            task,
            data,
            target,
            settings,
            seed,
            sample_weight=sample_weight,
            after_epoch=after_epoch,
        )
        return Outcome()


@dataclass(frozen=True)
class DAN:
    """Training with the squared Gaussian MMD between features of training and target samples.

    Attributes
    ----------
    strength
        What the discrepancy is multiplied with; 0 is plain training.
    unbiased
        Whether pairs of a sample with itself are left out, as in `gaussian_mmd`.
    """

    strength: float = 1.0
    unbiased: bool = False

    label: ClassVar[str] = "DAN"
    regime: ClassVar[Regime] = "unlabelled"

    def __post_init__(self) -> None:
        """Check the settings."""
        check_strength(self.strength)

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

        def penalty(a: Tensor, b: Tensor) -> Tensor:
            return gaussian_mmd(a, b, unbiased=self.unbiased)

        train_aligned(
            Alignment(self.label, penalty, self.strength, least=2 if self.unbiased else 1),
            task,
            data,
            target,
            settings,
            seed,
            sample_weight=sample_weight,
            after_epoch=after_epoch,
        )
        return Outcome()


def linear_mmd(a: Tensor, b: Tensor) -> Tensor:
    """Return the squared Euclidean distance of the mean features.

    Parameters
    ----------
    a, b
        Features of shape (n_samples, n_features).

    Examples
    --------
    >>> linear_mmd(torch.tensor([[0.0, 0.0], [2.0, 4.0]]), torch.tensor([[1.0, 5.0]]))
    tensor(9.)
    """
    return (a.mean(0) - b.mean(0)).square().sum()


def gaussian_mmd(a: Tensor, b: Tensor, *, unbiased: bool = False) -> Tensor:
    """Return the squared MMD with the sum of Gaussian kernels over `GAMMAS`.

    Parameters
    ----------
    a, b
        Features of shape (n_samples, n_features); two samples or more on either side for the
        unbiased form.
    unbiased
        Leave out pairs of a sample with itself: zero on average where both sides follow one law,
        so often negative. The biased form is never negative, and zero for equal samples.

    Examples
    --------
    >>> a, b = torch.tensor([[0.0], [1.0]]), torch.tensor([[0.0], [3.0]])
    >>> gaussian_mmd(a, a), gaussian_mmd(a, b), gaussian_mmd(a, b, unbiased=True)
    (tensor(0.), tensor(2.1773), tensor(-2.0360))
    """
    least = 2 if unbiased else 1
    if min(len(a), len(b)) < least:
        raise DataError(f"got {len(a)} and {len(b)} samples; expected {least} or more of each")
    # Distances stay as they are; without a common offset less is lost to rounding in them.
    centre = a.mean(0).detach()
    a, b = a - centre, b - centre
    own = _mean_within(_kernel(a, a), unbiased) + _mean_within(_kernel(b, b), unbiased)
    return own - 2 * _kernel(a, b).mean()


def _mean_within(kernel: Tensor, unbiased: bool) -> Tensor:
    if not unbiased:
        return kernel.mean()
    n = len(kernel)
    return (kernel.sum() - kernel.diagonal().sum()) / (n * (n - 1))


def _kernel(a: Tensor, b: Tensor) -> Tensor:
    squares = a.square().sum(1)[:, None] + b.square().sum(1)[None, :] - 2 * a @ b.mT
    distances = squares.clamp(min=0)
    return torch.stack([torch.exp(-gamma * distances) for gamma in GAMMAS]).sum(0)
