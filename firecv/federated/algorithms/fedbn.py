"""FedBN: FedAvg whose batch norms stay with the clients.

Li, Jiang, Zhang, Kamp, Dou: FedBN: Federated Learning on Non-IID Features via Local Batch
Normalization, ICLR 2021, arXiv 2102.07623.

*Symbols*: w_{BN,k} are a client's "norms": weights, biases and running statistics of all layers
that are batch norms by type, whatever their names.

*Communication*: d up and d down per client and round; nothing of V is seen. Batch norms need not
travel for the clients' sake. They go up so that the server has a model to judge, with the mean of
the clients' batch norms, and down for clients that take part for the first time.

*Departures*: the mean over clients has their shares where the paper has 1/K.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.contract import LOCAL, Client, Cohort
from firecv.federated.uploads import Uploads
from firecv.fire.validation import Validation
from firecv.models import Task
from firecv.training import Training, train_from
from firecv.tree import Tree

BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)


@dataclass(frozen=True)
class FedBN:
    """FedBN; FedAvg if the model has no batch norm.

    Attributes
    ----------
    local
        How a client trains.
    """

    label: ClassVar[str] = "FedBN"
    local: Training = LOCAL

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the model's weights."""
        return {"weights": task.weights()}

    def client_update(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> tuple[Bundle, Bundle]:
        """Return the weights after local training; the client remembers its batch norms."""
        trained = train_from(task, _own(server, memory), client.data, self.local, rng)
        norms = {name: trained.weights[name] for name in batch_norm_names(task.model)}
        return {"weights": trained.weights}, {"norms": norms} if norms else {}

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return the mean of the clients' weights."""
        return {"weights": uploads.mean().trees["weights"]}

    def personal(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> Tree:
        """Return the server's weights with the client's own batch norms."""
        return _own(server, memory)


def batch_norm_names(model: nn.Module) -> list[str]:
    """Return the names of all parameters and floating-point buffers of a model's batch norms.

    Examples
    --------
    >>> batch_norm_names(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 2)))
    ['1.weight', '1.bias', '1.running_mean', '1.running_var']
    """
    return [
        name
        for path, module in model.named_modules()
        if isinstance(module, BATCH_NORMS)
        for name, value in (
            *module.named_parameters(path, recurse=False),
            *module.named_buffers(path, recurse=False),
        )
        if value.is_floating_point()
    ]


def _own(server: Bundle, memory: Bundle) -> Tree:
    return tree_of(server, "weights") | (tree_of(memory, "norms") if memory else {})
