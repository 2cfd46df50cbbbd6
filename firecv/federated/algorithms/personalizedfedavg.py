"""Personalized FedAvg: FedAvg, then rounds of few local steps, then a few steps for each client.

The authors read FedAvg as Reptile, a method that learns weights from which a few steps lead far.
After rounds of plain FedAvg they fine-tune with short local training and Adam on the server, and a
client is judged by the weights after some training of its own.

Jiang, Konecny, Rush, Kannan: Improving Federated Learning Personalization via Model Agnostic Meta
Learning, 2019, arXiv 1909.12488.

*Symbols*: Reptile(K) is what `tuning` makes of the last rounds; the mean of the clients' moves is
the gradient that Adam steps along.

*Communication*: d up and d down per client and round; nothing of V is seen.

*Departures*: the number of rounds is split by a share that is fixed beforehand, and steps are whole
epochs; the values are ours.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

import torch

from firecv import tree
from firecv.federated.bundles import Bundle, number_of, tree_of
from firecv.federated.checks import check_number
from firecv.federated.contract import LOCAL, Client, Cohort
from firecv.federated.schedule import require_rounds
from firecv.federated.uploads import Uploads
from firecv.fire.validation import Validation
from firecv.models import Task
from firecv.training import Training, train_from
from firecv.tree import Tree

SHORT: Final = Training(1, 64, 0.01, "sgd")
DECAYS: Final = (0.9, 0.999)
TINY: Final = 1e-8


@dataclass(frozen=True)
class PersonalizedFedAvg:
    """Personalized FedAvg.

    Attributes
    ----------
    local
        How a client trains in the rounds of FedAvg.
    tuning
        How it trains in the rounds of fine-tuning.
    personalisation
        How it trains to be judged; None for not at all.
    n_rounds
        Rounds of the whole run, of which `tuned_rate` is a share; None for those of the run it is
        used in.
    tuned_rate
        Share of the rounds, the last ones and at least one, that fine-tune; 0 is FedAvg.
    server_rate
        Learning rate of Adam on the server.
    """

    label: ClassVar[str] = "Personalized FedAvg"
    local: Training = LOCAL
    tuning: Training = SHORT
    personalisation: Training | None = SHORT
    n_rounds: int | None = None
    tuned_rate: float = 0.2
    server_rate: float = 1e-3

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.n_rounds is not None:
            check_number("n_rounds", self.n_rounds, least=1)
        check_number("tuned_rate", self.tuned_rate, most=1)
        check_number("server_rate", self.server_rate)

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the model's weights and the empty moments of Adam."""
        require_rounds(self.n_rounds, self.label)
        zeros = tree.zeros_like(task.parameters())
        moments: Bundle = {"first": zeros, "second": zeros}
        return {"weights": task.weights(), **moments, "round": 0.0}

    def sends(self, server: Bundle, client: int) -> Bundle:
        """Return the weights and the number of the last round."""
        return {name: server[name] for name in ("weights", "round")}

    def client_update(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> tuple[Bundle, Bundle]:
        """Return the weights after local training."""
        settings = self.tuning if self._n_tuned(server) > 0 else self.local
        weights = tree_of(server, "weights")
        return {"weights": train_from(task, weights, client.data, settings, rng).weights}, memory

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return the mean of the clients' weights, or where a step of Adam towards it leads."""
        mean, n_tuned = uploads.mean().trees["weights"], self._n_tuned(server)
        first, second = tree_of(server, "first"), tree_of(server, "second")
        if n_tuned > 0:
            old = task.keep_trainable(tree_of(server, "weights"))
            gradient = tree.sub(old, task.keep_trainable(mean))
            first = _moving(first, gradient, DECAYS[0])
            second = _moving(second, tree.mul(gradient, gradient), DECAYS[1])
            unbiased = [1 - decay**n_tuned for decay in DECAYS]
            mean |= {
                name: old[name]
                - self.server_rate
                * (first[name] / unbiased[0])
                / ((second[name] / unbiased[1]).sqrt() + TINY)
                for name in old
            }
        return {"weights": mean, "first": first, "second": second, "round": float(cohort.round)}

    def personal(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> Tree:
        """Return the server's weights after some training on the client's data."""
        weights = tree_of(server, "weights")
        if self.personalisation is None:
            return weights
        return train_from(task, weights, client.data, self.personalisation, rng).weights

    def _n_tuned(self, server: Bundle) -> int:
        """Return which round of fine-tuning comes next, from 1; below that it is FedAvg."""
        n_rounds = require_rounds(self.n_rounds, self.label)
        n_tuned = max(1, round(self.tuned_rate * n_rounds)) if self.tuned_rate else 0
        return int(number_of(server, "round")) + 1 - (n_rounds - n_tuned)


def _moving(old: Tree, new: Tree, decay: float) -> Tree:
    return tree.add(tree.scale(old, decay), tree.scale(new, 1 - decay))
