"""LfD, Learning from Drift: what a client's outputs have drifted by is no longer rewarded.

How the client's former model differs from the server's, class by class, is added to the scores
while it trains, so that the model gains nothing by drifting the same way again.

Kim, Shin: Learning From Drift: Federated Learning on Non-IID Data via Drift Regularization, 2023,
arXiv 2309.07189. No code is public; this is a re-implementation from the abstract, which says that
drift is estimated as the difference of local from global outputs and that the local model is kept
from going along it. All else is ours.

*Symbols*: delta_c, a row of the drift, is the mean over a client's samples of class c of the scores
at its former weights minus those at the server's; beta is `strength`.

*Communication*: d up and d down per client and round; nothing of V is seen. A client remembers d
numbers.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.checks import check_number
from firecv.federated.contract import LOCAL, Client, Cohort
from firecv.federated.outputs import class_means, scores_at
from firecv.federated.uploads import Uploads
from firecv.fire.validation import Validation
from firecv.models import Batch, Task
from firecv.training import Objective, Training, train_from


@dataclass(frozen=True)
class LfD:
    """LfD.

    Attributes
    ----------
    local
        How a client trains.
    strength
        Share of the drift that is added to the scores; 0 is FedAvg.
    """

    label: ClassVar[str] = "LfD (re-implementation from abstract)"
    local: Training = LOCAL
    strength: float = 1.0

    def __post_init__(self) -> None:
        """Check the strength."""
        check_number("strength", self.strength)

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the model's weights."""
        return {"weights": task.weights()}

    def client_update(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> tuple[Bundle, Bundle]:
        """Return the weights after local training, which the client remembers too."""
        objective = self._objective(task, server, memory, client) if memory else None
        weights = tree_of(server, "weights")
        trained = train_from(task, weights, client.data, self.local, rng, objective=objective)
        return {"weights": trained.weights}, {"weights": trained.weights}

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return the mean of the clients' weights."""
        return {"weights": uploads.mean().trees["weights"]}

    def _objective(
        self, task: Task, server: Bundle, memory: Bundle, client: Client
    ) -> Objective | None:
        if not self.strength:
            return None
        x, y = client.data
        before = scores_at(task, tree_of(memory, "weights"), x)
        drift = class_means(
            before - scores_at(task, tree_of(server, "weights"), x), y, before.shape[1]
        )

        def objective(batch: Batch, rows: Tensor) -> Tensor:
            x, y = batch
            return task.loss_of(task.scores(x) + self.strength * drift[y], y)

        return objective
