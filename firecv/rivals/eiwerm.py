"""EIWERM: importance weights flattened by an exponent, which trades bias for variance.

The loss of a training sample is multiplied by the density ratio to the power gamma: 0 is ERM, 1 is
IWERM. The exponent is chosen by importance-weighted cross-validation on the training samples.

Shimodaira, Journal of Statistical Planning and Inference 90 (2000) 227-244; choice of the exponent:
Sugiyama, Krauledat and Mueller, JMLR 8 (2007) 985-1005.

*Symbols*: gamma = the exponent (lambda in the first paper); the loss is
(1/n) sum_i r(x_i)^gamma l(f(x_i), y_i).

*Departures*: five exponents and five folds instead of eleven and ten, as every pair of them is a
training. Networks of the folds are trained as the last one is; their risk is the share of wrong
classes. Among equal risks the smallest exponent is taken.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from firecv.models import Batch, Task
from firecv.ratios.kernels import Samples
from firecv.ratios.weights import flattened
from firecv.regimes import Regime
from firecv.rivals.contract import AfterEpoch, Outcome, Target
from firecv.rivals.weighing import Candidates, Ratio, check_choice, fit_weighted, importance
from firecv.training import Training


@dataclass(frozen=True)
class EIWERM:
    """Training with exponentially flattened importance weights.

    Attributes
    ----------
    gammas
        Exponents to choose from, each from 0 to 1.
    gamma
        The exponent to use, without any choice; None to choose.
    n_folds
        Folds of the choice, which takes a training for each of them and each exponent.
    ratio
        A name in `firecv.ratios.RATIOS`, or a density ratio estimator, which is copied.

    Examples
    --------
    >>> x, v = np.array([[0.0], [1.0], [2.0]]), np.array([[2.0], [2.1], [1.9]])
    >>> found = EIWERM(gammas=(0.5, 0.0)).candidates(x, v, seed=0)
    >>> found.settings, found.weights[0].tolist()  # the flattest first
    (({'gamma': 0.0}, {'gamma': 0.5}), [1.0, 1.0, 1.0])
    """

    gammas: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    gamma: float | None = None
    n_folds: int = 5
    ratio: str | Ratio = "ulsif"

    label: ClassVar[str] = "EIWERM"
    regime: ClassVar[Regime] = "unlabelled"

    def __post_init__(self) -> None:
        """Check the settings."""
        check_choice("gamma", self.gammas, self.gamma, self.n_folds)

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
        """Return the weights of every exponent, from the smallest on.

        Parameters
        ----------
        x_train, x_target
            Samples, (n_samples, n_features).
        seed
            Of what the estimator draws.
        """
        found = importance(self.ratio, x_train, x_target, seed)
        gammas = sorted(self.gammas) if self.gamma is None else [self.gamma]
        weights = np.stack([flattened(found, gamma) for gamma in gammas])
        settings = tuple({"gamma": gamma} for gamma in gammas)
        return Candidates(settings, weights, found, self.n_folds)
