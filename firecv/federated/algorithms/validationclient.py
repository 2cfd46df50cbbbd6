"""V as one more client: FedAvg in which the server trains on labeled V itself, as a client would.

A control of what uses V's labels on the server. V counts by its samples, n_V / (N + n_V).

*Symbols*: N is the number of samples of all clients, n_V that of V.

*Communication*: d + 1 numbers up, one being the client's size, and d down per client and round. V
with its labels stays on the server, which takes part in every round.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

import torch

from firecv.federated.bundles import Bundle, number_of, tree_of
from firecv.federated.contract import LOCAL, Client, Cohort, require_labels
from firecv.federated.schema import Schema, size
from firecv.federated.uploads import Upload, Uploads
from firecv.fire.validation import Validation
from firecv.models import Task
from firecv.regimes import Regime
from firecv.seeding import derive_torch
from firecv.training import Training, train_from

SEED: Final = 0


@dataclass(frozen=True)
class ValidationClient:
    """FedAvg with V as one more client.

    Attributes
    ----------
    local
        How a client trains, and the server on V.
    """

    label: ClassVar[str] = "V as a client"
    local: Training = LOCAL

    def sees(self, holder: Validation) -> Regime:
        """Return what is seen of V."""
        return "labelled_summary"

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the model's weights."""
        require_labels(holder, self.label)
        return {"weights": task.weights()}

    def schema(self, task: Task, server: Bundle, holder: Validation) -> Schema:
        """Return what a client sends beside its weights: its size."""
        return {"size": size}

    def client_update(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> tuple[Bundle, Bundle]:
        """Return the weights after local training, and the client's size."""
        trained = train_from(task, tree_of(server, "weights"), client.data, self.local, rng)
        return {"weights": trained.weights, "size": float(len(client))}, memory

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return the mean of the weights of all clients and of the server's own."""
        data = require_labels(holder, self.label)
        rng = derive_torch(SEED, self.label, cohort.round)
        own = train_from(task, tree_of(server, "weights"), data, self.local, rng).weights

        def joined() -> Iterator[Upload]:
            n_samples = share = 0.0
            for upload in uploads:
                n_samples += number_of(upload.content, "size")
                share += upload.weight
                yield upload._replace(content={"weights": upload.content["weights"]})
            if share:  # a share of n_V / N, beside those of the clients
                weight = len(data[1]) * share / n_samples
                yield Upload(cohort.n_clients, weight, {"weights": own})

        return {"weights": Uploads(joined(), uploads.rule).mean().trees["weights"]}
