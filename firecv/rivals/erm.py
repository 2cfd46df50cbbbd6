"""ERM: plain training, every training sample counting the same.

Empirical risk minimisation takes the validation set for nothing and is what every weighted method
becomes when all weights are one.

Vapnik, Statistical Learning Theory, Wiley, 1998.

*Symbols*: the loss is (1/n) sum_i l(f(x_i), y_i).
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from firecv.models import Batch, Task
from firecv.regimes import Regime
from firecv.rivals.contract import AfterEpoch, Outcome, Target
from firecv.rivals.given import check_training
from firecv.seeding import derive_torch
from firecv.training import Training, train


@dataclass(frozen=True)
class ERM:
    """Plain training.

    Examples
    --------
    >>> import torch
    >>> task = Task(torch.nn.Linear(1, 2))
    >>> data = (torch.tensor([[-1.0], [1.0]]), torch.tensor([0, 1]))
    >>> outcome = ERM().fit(task, data, None, Training(n_epochs=200, rate=0.1), seed=0)
    >>> outcome.weights is None, task.scores(data[0]).argmax(1).tolist()
    (True, [0, 1])
    """

    label: ClassVar[str] = "ERM"
    regime: ClassVar[Regime] = "none"

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
        train(
            task,
            data,
            settings,
            derive_torch(seed, "shuffle", 0),
            sample_weight=sample_weight,
            after_epoch=after_epoch,
        )
        return Outcome()
