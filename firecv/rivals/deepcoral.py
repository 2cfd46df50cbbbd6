"""Deep CORAL: features of training and target samples are to have the same covariance.

The squared Frobenius distance of the two covariances within a batch is added to the loss.

Sun and Saenko, ECCV 2016 workshops (TASK-CV), arXiv 1607.01719.

*Symbols*: strength = lambda, n_features = d, covariances C_S and C_T.

*Departures*: the paper sets lambda so that both terms end up about equal and applies the penalty
to the last layer's outputs; here the strength is a setting and the penalty acts on that layer's
inputs, as with the other methods that align features.
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from firecv.errors import DataError
from firecv.models import Batch, Task
from firecv.regimes import Regime
from firecv.rivals.alignment import Alignment, check_strength, train_aligned
from firecv.rivals.contract import AfterEpoch, Outcome, Target
from firecv.training import Training


@dataclass(frozen=True)
class DeepCORAL:
    """Training with the CORAL distance between features of training and target samples.

    Attributes
    ----------
    strength
        What the distance is multiplied with; 0 is plain training.
    """

    strength: float = 1.0

    label: ClassVar[str] = "Deep CORAL"
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
            Alignment(self.label, coral, self.strength, least=2),
            task,
            data,
            target,
            settings,
            seed,
            sample_weight=sample_weight,
            after_epoch=after_epoch,
        )
        return Outcome()


def coral(a: Tensor, b: Tensor) -> Tensor:
    """Return the squared Frobenius distance of two unbiased covariances over 4 n_features^2.

    Parameters
    ----------
    a, b
        Features of shape (n_samples, n_features), two samples or more on either side.

    Examples
    --------
    >>> import torch
    >>> a = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    >>> coral(a, a + 5), coral(a, 2 * a)
    (tensor(0.), tensor(2.2500))
    """
    if min(len(a), len(b)) < 2:
        raise DataError(
            f"got {len(a)} and {len(b)} samples; a covariance needs two samples or more"
        )
    difference = _covariance(a) - _covariance(b)
    return difference.square().sum() / (4 * a.shape[1] ** 2)


def _covariance(features: Tensor) -> Tensor:
    centred = features - features.mean(0)
    return centred.mT @ centred / (len(features) - 1)
