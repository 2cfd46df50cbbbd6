"""FedProx: FedAvg whose clients are pulled towards the weights that they were sent.

Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith: Federated Optimization in Heterogeneous Networks,
MLSys 2020, arXiv 1812.06127.

*Symbols*: mu is `strength`; w^t, the weights sent, is the anchor.

*Communication*: d up and d down per client and round; nothing of V is seen.

*Departures*: the paper draws clients with odds n_k and takes their plain mean; here clients are
drawn evenly and the mean has their shares, as with every algorithm.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from firecv import tree
from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.checks import check_number
from firecv.federated.contract import LOCAL, Client, Cohort
from firecv.federated.uploads import Uploads
from firecv.fire.validation import Validation
from firecv.models import Batch, Task
from firecv.training import Training, train_from


@dataclass(frozen=True)
class FedProx:
    """FedProx.

    Attributes
    ----------
    local
        How a client trains.
    strength
        Of the pull; 0 is FedAvg.
    """

    label: ClassVar[str] = "FedProx"
    local: Training = LOCAL
    strength: float = 0.01

    def __post_init__(self) -> None:
        """Check the strength."""
        check_number("strength", self.strength)

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the model's weights."""
        return {"weights": task.weights()}

    def client_update(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> tuple[Bundle, Bundle]:
        """Return the weights after local training with the pull."""
        weights = tree_of(server, "weights")
        anchor, params = task.keep_trainable(weights), task.parameters()

        def pulled(batch: Batch, rows: Tensor) -> Tensor:
            return task.loss(batch) + self.strength / 2 * tree.squared_distance(params, anchor)

        objective = pulled if self.strength else None
        trained = train_from(task, weights, client.data, self.local, rng, objective=objective)
        return {"weights": trained.weights}, memory

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return the mean of the clients' weights."""
        return {"weights": uploads.mean().trees["weights"]}
