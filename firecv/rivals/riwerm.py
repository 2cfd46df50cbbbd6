"""RIWERM: importance weights relative to a mixture of both laws, which bounds them.

The loss of a training sample is multiplied by the density ratio of V to the mixture of V and
training samples with share alpha of V, at most 1 / alpha: 0 is IWERM, 1 is ERM. The share is chosen
by importance-weighted cross-validation on the training samples.

Yamada, Suzuki, Kanamori, Hachiya and Sugiyama, NIPS 2011 and Neural Computation 25 (2013)
1324-1370, arXiv 1106.4729.

*Symbols*: alpha = share of V in the mixture, r_alpha = p_te / (alpha p_te + (1 - alpha) p_tr); the
loss is (1/n) sum_i r_alpha(x_i) l(f(x_i), y_i).

*Departures*: the paper sets alpha to 1/2; here it is chosen. The ratio at alpha = 0, which also
weighs held-out errors, is uLSIF's, so that alpha = 0 is IWERM to the bit. Among equal risks the
largest share is taken.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from firecv.models import Batch, Task
from firecv.ratios.kernels import Samples
from firecv.ratios.rulsif import RULSIF
from firecv.regimes import Regime
from firecv.rivals.contract import AfterEpoch, Outcome, Target
from firecv.rivals.weighing import (
    Candidates,
    Vector,
    check_choice,
    fit_weighted,
    importance,
    ratio_seed,
)
from firecv.training import Training


@dataclass(frozen=True)
class RIWERM:
    """Training with relative importance weights.

    Attributes
    ----------
    alphas
        Shares of V to choose from, each from 0 to 1.
    alpha
        The share to use, without any choice; None to choose.
    n_folds
        Folds of the choice, which takes a training for each of them and each share.

    Examples
    --------
    >>> x, v = np.array([[0.0], [1.0], [2.0]]), np.array([[2.0], [2.1], [1.9]])
    >>> RIWERM(alpha=1.0).candidates(x, v, seed=0).weights
    array([[1., 1., 1.]])
    """

    alphas: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75)
    alpha: float | None = None
    n_folds: int = 5

    label: ClassVar[str] = "RIWERM"
    regime: ClassVar[Regime] = "unlabelled"

    def __post_init__(self) -> None:
        """Check the settings."""
        check_choice("alpha", self.alphas, self.alpha, self.n_folds)

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
        """Return the weights of every share, from the largest on.

        Parameters
        ----------
        x_train, x_target
            Samples, (n_samples, n_features).
        seed
            Of what the estimators draw.
        """
        alphas = sorted(self.alphas, reverse=True) if self.alpha is None else [self.alpha]
        plain = np.ones(len(x_train))
        if len(alphas) > 1 or 0 in alphas:
            plain = importance("ulsif", x_train, x_target, seed)

        def relative(alpha: float) -> Vector:
            if alpha == 0:
                return plain
            if alpha == 1:
                return np.ones(len(x_train))
            ratio = RULSIF(alpha=alpha, random_state=ratio_seed(seed))
            return importance(ratio, x_train, x_target, seed)

        weights = np.stack([relative(alpha) for alpha in alphas])
        settings = tuple({"alpha": alpha} for alpha in alphas)
        return Candidates(settings, weights, plain, self.n_folds)
