"""FedAvg whose clients are weighted by the loss of their own models on V.

A control of what uses V's labels on the server: the simplest way to weight clients by them, which
looks at one model at a time and not at the average that is made of them.

*Symbols*: w_k is proportional to n_k / N * exp(-strength * L_k), L_k the mean cross-entropy on V of
the model that client k sends; 1 / strength is the temperature of the softmax.

*Communication*: d up and d down per client and round. V with its labels stays on the server.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.checks import check_number
from firecv.federated.contract import LOCAL, Client, Cohort, require_labels
from firecv.federated.evaluation import score
from firecv.federated.uploads import Uploads, reweighted
from firecv.fire.validation import Validation
from firecv.models import Task
from firecv.regimes import Regime
from firecv.training import Training, train_from


@dataclass(frozen=True)
class LossWeightedFedAvg:
    """FedAvg with weights from each client's own loss on V.

    Attributes
    ----------
    local
        How a client trains.
    strength
        How much the loss counts; 0 is FedAvg. At 1, the default, fixed before any run, two clients
        of one size count in proportion to the probability, a geometric mean, that their models give
        to V's labels; the number of V's samples would be the other natural choice, the likelihood
        of all labels, and leaves one client.
    """

    label: ClassVar[str] = "FedAvg by loss on V"
    local: Training = LOCAL
    strength: float = 1.0

    def __post_init__(self) -> None:
        """Check the strength."""
        check_number("strength", self.strength)

    def sees(self, holder: Validation) -> Regime:
        """Return what is seen of V."""
        return "labelled_summary"

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the model's weights."""
        require_labels(holder, self.label)
        return {"weights": task.weights()}

    def client_update(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> tuple[Bundle, Bundle]:
        """Return the weights after local training."""
        trained = train_from(task, tree_of(server, "weights"), client.data, self.local, rng)
        return {"weights": trained.weights}, memory

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return the mean of the clients' weights, each by its loss on V."""
        data = require_labels(holder, self.label)
        if not self.strength:
            return {"weights": uploads.mean().trees["weights"]}
        answers = list(uploads)
        losses = [score(task, tree_of(each.content, "weights"), data).loss for each in answers]
        pairs = zip(answers, by_loss(losses, self.strength), strict=True)
        weights = [each.weight * factor for each, factor in pairs]
        return {"weights": reweighted(answers, weights, uploads.rule).mean().trees["weights"]}


def by_loss(losses: list[float], strength: float) -> list[float]:
    """Return exp(-strength * loss) in units of the largest; a loss that is not finite counts as 0.

    If none is finite, all are 1.

    Examples
    --------
    >>> [round(each, 3) for each in by_loss([1.0, 1.0 + math.log(2), math.inf, math.nan], 1.0)]
    [1.0, 0.5, 0.0, 0.0]
    """
    values = np.where(np.isfinite(losses), losses, np.inf)
    least = float(values.min())
    if not math.isfinite(least):
        return [1.0] * len(losses)
    return np.exp(-strength * (values - least)).tolist()
