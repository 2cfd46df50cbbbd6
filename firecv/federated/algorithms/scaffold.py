"""SCAFFOLD: each local step is corrected by how the client's gradient differs from everybody's.

Karimireddy, Kale, Mohri, Reddi, Stich, Suresh: SCAFFOLD: Stochastic Controlled Averaging for
Federated Learning, ICML 2020, arXiv 1910.06378. Option II: a client's control variate is its mean
local gradient.

*Symbols*: c is the server's "control", c_k the one a client remembers, eta_g `server_rate`, tau the
number of local steps.

Departures: means over clients have the clients' weights where the paper has 1/K, so the fixed point
is the optimum of the weighted loss; when those weights change, all control variates begin at zero
again, since c is no longer their mean.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from firecv import tree
from firecv.federated.bundles import Bundle, number_of, tree_of
from firecv.federated.contract import PLAIN, Client, Cohort, require_plain
from firecv.federated.schema import Schema, like
from firecv.federated.uploads import Uploads
from firecv.fire.validation import Validation
from firecv.models import Batch, Task
from firecv.training import Training, train_from


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
        control = tree.zeros_like(task.parameters())
        return {"weights": task.weights(), "control": control, "generation": 0.0}

    def schema(self, task: Task, server: Bundle, holder: Validation) -> Schema:
        """Return what a client sends beside its weights: the change of its control variate."""
        return {"control": like(tree_of(server, "control"))}

    def client_update(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> tuple[Bundle, Bundle]:
        """Return new weights and the change of the client's control variate, which it keeps."""
        weights, control = tree_of(server, "weights"), tree_of(server, "control")
        generation = number_of(server, "generation")
        is_known = number_of(memory, "generation", -1) == generation
        own = tree_of(memory, "control") if is_known else tree.zeros_like(control)
        correction, params = tree.sub(control, own), task.parameters()

        def objective(batch: Batch, rows: Tensor) -> Tensor:
            return task.loss(batch) + tree.dot(params, correction)

        trained = train_from(task, weights, client.data, self.local, rng, objective=objective)
        moved = task.keep_trainable(tree.sub(weights, trained.weights))
        change = tree.sub(tree.scale(moved, 1 / (trained.n_steps * self.local.rate)), control)
        memory = {"control": tree.add(own, change), "generation": generation}
        return {"weights": trained.weights, "control": change}, memory

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return weights moved towards the mean and the mean of all control variates."""
        trees, _, share = uploads.mean()
        weights, control = tree_of(server, "weights"), tree_of(server, "control")
        if number_of(server, "generation") != cohort.generation:
            control = tree.zeros_like(control)
        else:
            control = tree.add(control, tree.scale(trees["control"], share))
        move = tree.scale(tree.sub(trees["weights"], weights), self.server_rate)
        return {
            "weights": tree.add(weights, move),
            "control": control,
            "generation": float(cohort.generation),
        }
