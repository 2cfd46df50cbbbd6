"""SCAFFOLD: each local step is corrected by how the client's gradient differs from everybody's.

Karimireddy, Kale, Mohri, Reddi, Stich, Suresh: SCAFFOLD: Stochastic Controlled Averaging for
Federated Learning, ICML 2020, arXiv 1910.06378. Option II: a client's control variate is its mean
local gradient.

*Symbols*: c is the server's "control", c_k the one a client remembers, eta_g `server_rate`, tau the
number of local steps.

*Communication*: 2d up and 2d down per client and round, and d more up in a round that may change
weights; nothing of V is seen.

*Departures*: means over clients have the clients' weights where the paper has 1/K, so the fixed
point is the optimum of the weighted loss. c_k estimates the gradient of the client's own loss, so
it stays when weights change; c = sum_k w_k c_k is then taken again (`firecv.federated.held`).
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from firecv import tree
from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.contract import PLAIN, Client, Cohort, require_plain
from firecv.federated.held import held_schema, mean_held, with_held
from firecv.federated.schema import Schema, like
from firecv.federated.uploads import Uploads
from firecv.fire.validation import Validation
from firecv.models import Batch, Task
from firecv.training import Training, train_from
from firecv.tree import Tree


@dataclass(frozen=True)
class SCAFFOLD:
    """SCAFFOLD.

    Attributes
    ----------
    local
        How a client trains: SGD without momentum, or the control variate is no mean gradient.
    server_rate
        How far the server goes towards the mean of the clients.
    """

    label: ClassVar[str] = "SCAFFOLD"
    local: Training = PLAIN
    server_rate: float = 1.0

    def __post_init__(self) -> None:
        """Check that local training is plain SGD."""
        require_plain(self.local, self.label)

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the model's weights and a control variate of zero."""
        return {"weights": task.weights(), "control": tree.zeros_like(task.parameters())}

    def schema(self, task: Task, server: Bundle, holder: Validation) -> Schema:
        """Return what a client sends beside its weights: the change of its control variate."""
        control = tree_of(server, "control")
        return {"control": like(control), **held_schema(server, control)}

    def client_update(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> tuple[Bundle, Bundle]:
        """Return new weights and the change of the client's control variate, which it keeps."""
        weights, control = tree_of(server, "weights"), tree_of(server, "control")
        own = tree_of(memory, "control") if memory else tree.zeros_like(control)
        correction, params = tree.sub(control, own), task.parameters()

        def objective(batch: Batch, rows: Tensor) -> Tensor:
            return task.loss(batch) + tree.dot(params, correction)

        trained = train_from(task, weights, client.data, self.local, rng, objective=objective)
        moved = task.keep_trainable(tree.sub(weights, trained.weights))
        change = tree.sub(tree.scale(moved, 1 / (trained.n_steps * self.local.rate)), control)
        own = tree.add(own, change)
        upload = with_held({"weights": trained.weights, "control": change}, server, own)
        return upload, {"control": own}

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return weights moved towards the mean and the mean of all control variates."""
        weights, control = tree_of(server, "weights"), tree_of(server, "control")
        average, control = mean_held(control, uploads, cohort, _change)
        move = tree.scale(tree.sub(average.trees["weights"], weights), self.server_rate)
        return {"weights": tree.add(weights, move), "control": control}


def _change(upload: Bundle) -> Tree:
    return tree_of(upload, "control")
