"""FedDyn: every client's loss is changed so that at the optimum of all it has nothing left to gain.

A client adds up how far it has gone from the weights sent to it, and its loss is tilted against
that sum; the server adds the mean of these sums to the mean of the clients' weights.

Acar, Zhao, Navarro, Mattina, Whatmough, Saligrama: Federated Learning Based on Dynamic
Regularization, ICLR 2021, arXiv 2111.04263.

*Symbols*: alpha is `strength`; a client remembers as its "drift" -grad L_k(theta_k) / alpha, the
server keeps their mean -h / alpha.

*Communication*: d up and d down per client and round, and d more up in a round that may change
weights; nothing of V is seen.

*Departures*: means over clients have the clients' weights where the paper has 1/K, so the fixed
point is the optimum of the weighted loss, for which the authors' code has an alpha of its own for
each client. A drift is made of the gradient of the client's own loss, so it stays when weights
change; the server's mean of drifts is then taken again (`firecv.federated.held`). As in the
authors' code the model to score is the mean of the clients that responded, "mean", and not the
shifted "weights" that are sent.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from firecv import tree
from firecv.errors import ModelError
from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.checks import check_number
from firecv.federated.contract import PLAIN, Client, Cohort, require_plain
from firecv.federated.held import held_schema, mean_held, with_held
from firecv.federated.schema import Schema
from firecv.federated.uploads import Uploads
from firecv.fire.validation import Validation
from firecv.models import Batch, Task
from firecv.training import Training, train_from
from firecv.tree import Tree


@dataclass(frozen=True)
class FedDyn:
    """FedDyn.

    Attributes
    ----------
    local
        How a client trains: SGD without momentum.
    strength
        Of the change of a client's loss; above 0.
    """

    label: ClassVar[str] = "FedDyn"
    local: Training = PLAIN
    strength: float = 0.1

    def __post_init__(self) -> None:
        """Check the settings."""
        require_plain(self.local, self.label)
        check_number("strength", self.strength)
        if not self.strength:
            raise ModelError("strength is 0, which leaves drifts unbounded; expected one above 0")

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the model's weights and a drift of zero."""
        weights, drift = task.weights(), tree.zeros_like(task.parameters())
        return {"weights": weights, "mean": weights, "drift": drift}

    def schema(self, task: Task, server: Bundle, holder: Validation) -> Schema:
        """Return what a client sends beside its weights: its drift, where weights may change."""
        return held_schema(server, tree_of(server, "drift"))

    def sends(self, server: Bundle, client: int) -> Bundle:
        """Return the shifted weights."""
        return {"weights": server["weights"]}

    def judged(self, server: Bundle) -> Tree:
        """Return the mean of the clients last heard."""
        return tree_of(server, "mean")

    def client_update(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> tuple[Bundle, Bundle]:
        """Return new weights; the client remembers its drift."""
        weights, params = tree_of(server, "weights"), task.parameters()
        anchor = task.keep_trainable(weights)
        drift = tree_of(memory, "drift") if memory else tree.zeros_like(anchor)

        def objective(batch: Batch, rows: Tensor) -> Tensor:
            pull = self.strength / 2 * tree.squared_distance(params, anchor)
            return task.loss(batch) + pull + self.strength * tree.dot(params, drift)

        trained = train_from(task, weights, client.data, self.local, rng, objective=objective)
        held = tree.add(drift, tree.sub(task.keep_trainable(trained.weights), anchor))
        return with_held({"weights": trained.weights}, server, held), {"drift": held}

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return the mean of the clients' weights, also shifted by the mean of all drifts."""
        weights = tree_of(server, "weights")

        def moved(upload: Bundle) -> Tree:
            return task.keep_trainable(tree.sub(tree_of(upload, "weights"), weights))

        average, drift = mean_held(tree_of(server, "drift"), uploads, cohort, moved)
        mean = average.trees["weights"]
        shifted = mean | tree.add(task.keep_trainable(mean), drift)
        return {"weights": shifted, "mean": mean, "drift": drift}
