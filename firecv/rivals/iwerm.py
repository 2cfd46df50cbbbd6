"""IWERM: every training sample counts as much more often as V has samples like it.

The loss of a training sample is multiplied by the density ratio of V to the training samples at
its inputs, which makes the training loss an unbiased estimate of the loss on V's law where the
ratio is exact and V's support lies within that of the training samples.

Shimodaira, Journal of Statistical Planning and Inference 90 (2000) 227-244.

*Symbols*: ratio estimates r = p_te / p_tr; the loss is (1/n) sum_i r(x_i) l(f(x_i), y_i).

*Departures*: the paper knows the ratio; here it is estimated from inputs alone, images flattened.
The estimators standardise the inputs themselves.
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from firecv.errors import ModelError
from firecv.models import Batch, Task
from firecv.ratios.kernels import Samples
from firecv.ratios.weights import clipped, normalised
from firecv.regimes import Regime
from firecv.rivals.contract import AfterEpoch, Outcome, Target
from firecv.rivals.weighing import Candidates, Ratio, fit_weighted, importance
from firecv.training import Training


@dataclass(frozen=True)
class IWERM:
    """Training with importance weights.

    Attributes
    ----------
    ratio
        A name in `firecv.ratios.RATIOS`, or a density ratio estimator, which is copied.
    clip
        Quantile of the weights above which they are cut off; None for none.
    normalise
        Whether weights are divided by their mean. The estimate of the loss is then no longer
        unbiased, but of lower variance; steps of Adam hardly depend on it.

    Examples
    --------
    >>> import torch
    >>> rng = torch.Generator().manual_seed(0)
    >>> x, v = torch.randn(200, 1, generator=rng), 1 + torch.randn(100, 1, generator=rng) / 2
    >>> task, settings = Task(torch.nn.Linear(1, 2)), Training(n_epochs=2)
    >>> outcome = IWERM().fit(task, (x, (x[:, 0] > 0).long()), Target(v), settings, seed=0)
    >>> near, far = outcome.weights[(x[:, 0] > 0.5)], outcome.weights[(x[:, 0] < -0.5)]
    >>> bool(near.mean() > 5 * far.mean())
    True
    """

    ratio: str | Ratio = "ulsif"
    clip: float | None = None
    normalise: bool = False

    label: ClassVar[str] = "IWERM"
    regime: ClassVar[Regime] = "unlabelled"

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.clip is not None and not 0 < self.clip <= 1:
            raise ModelError(
                f"clip is {self.clip!r}; expected a quantile above 0 and up to 1, or None"
            )

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
        return fit_weighted(
            self,
            task,
            data,
            target,
            settings,
            seed,
            sample_weight=sample_weight,
            after_epoch=after_epoch,
        )

    def candidates(self, x_train: Samples, x_target: Samples, seed: int) -> Candidates:
        """Return the one set of weights there is.

        Parameters
        ----------
        x_train, x_target
            Samples, (n_samples, n_features).
        seed
            Of what the estimator draws.
        """
        found = importance(self.ratio, x_train, x_target, seed)
        weights = found if self.clip is None else clipped(found, self.clip)
        if self.normalise:
            weights = normalised(weights)
        return Candidates([{}], weights[None], found)
