"""MOON: a client's features are drawn towards the server's and away from its own former ones.

Li, He, Song: Model-Contrastive Federated Learning, CVPR 2021, arXiv 2103.16257.

*Symbols*: mu is `strength`, tau `temperature`; z, z_glob and z_prev are features of the model under
training, of the weights sent and of those the client had at the end of its last round.

*Communication*: d up and d down per client and round; nothing of V is seen. A client remembers d
numbers.

*Departures*: the paper puts a projection of two layers before the classifier; here features are the
inputs of the model's own last layer, so that every algorithm trains the same network. Where nothing
precedes that layer, features are the samples and the term is constant.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from firecv.errors import ModelError
from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.checks import check_number
from firecv.federated.contract import LOCAL, Client, Cohort
from firecv.federated.outputs import features_at
from firecv.federated.uploads import Uploads
from firecv.fire.validation import Validation
from firecv.models import Batch, Task, scores_and_features
from firecv.training import Objective, Training, train_from


@dataclass(frozen=True)
class MOON:
    """MOON.

    Attributes
    ----------
    local
        How a client trains.
    strength
        Of the contrastive term; 0 is FedAvg.
    temperature
        What similarities are divided by.
    """

    label: ClassVar[str] = "MOON"
    local: Training = LOCAL
    strength: float = 1.0
    temperature: float = 0.5

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_number("strength", self.strength)
        check_number("temperature", self.temperature)
        if not self.temperature:
            raise ModelError("temperature is 0; expected a number above 0, such as 0.5")

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
        # Both stand still during the round, so they are taken once and not in every epoch.
        towards = features_at(task, tree_of(server, "weights"), client.data[0])[1]
        away = features_at(task, tree_of(memory, "weights"), client.data[0])[1]

        def objective(batch: Batch, rows: Tensor) -> Tensor:
            scores, features = scores_and_features(task, batch[0])
            term = contrast(features, towards[rows], away[rows], self.temperature)
            return task.loss_of(scores, batch[1]) + self.strength * term

        return objective


def contrast(features: Tensor, towards: Tensor, away: Tensor, temperature: float) -> Tensor:
    """Return the mean of -log(e^a / (e^a + e^b)), a and b the cosines over the temperature.

    Parameters
    ----------
    features
        Features of shape (n_samples, n_features).
    towards, away
        What they are to be similar to (a) and what not (b), of the same shape.
    temperature
        What cosines are divided by.

    Examples
    --------
    >>> z = torch.tensor([[1.0, 0.0]])
    >>> contrast(z, z, z, 0.5), contrast(z, z, -z, 0.5)
    (tensor(0.6931), tensor(0.0181))
    """
    a = functional.cosine_similarity(features, towards)
    b = functional.cosine_similarity(features, away)
    return functional.softplus((b - a) / temperature).mean()
