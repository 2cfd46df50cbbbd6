"""FedAvg: every client trains from the server's weights, the server averages what comes back.

McMahan, Moore, Ramage, Hampson, Arcas: Communication-Efficient Learning of Deep Networks from
Decentralized Data, AISTATS 2017, arXiv 1602.05629.

*Symbols*: E, B and eta are `local`.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch

from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.contract import LOCAL, Client, Cohort
from firecv.federated.uploads import Uploads
from firecv.fire.validation import Validation
from firecv.models import Task
from firecv.training import Training, train_from


@dataclass(frozen=True)
class FedAvg:
    """FedAvg.

    Attributes
    ----------
    local
        How a client trains.
    """

    label: ClassVar[str] = "FedAvg"
    local: Training = LOCAL

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the model's weights."""
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
        """Return the mean of the clients' weights."""
        return {"weights": uploads.mean().trees["weights"]}
