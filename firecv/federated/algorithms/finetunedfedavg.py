"""FedAvg with fine-tuning: the server takes plain gradient steps on V from the mean of the clients.

The control of whatever uses V's labels on the server: if a method does not beat this one, labels
help it and its idea does not.

*Symbols*: a step is theta <- theta - lr * (gradient of the mean loss over all of V).

*Communication*: d up and d down per client and round. V with its labels stays on the server.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import torch

from firecv.errors import ModelError
from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.checks import check_number
from firecv.federated.contract import LOCAL, Client, Cohort, require_labels
from firecv.federated.schedule import require_rounds
from firecv.federated.uploads import Uploads
from firecv.fire.validation import Validation
from firecv.models import Task
from firecv.regimes import Regime
from firecv.training import Training, train_from

When = Literal["every round", "end"]


@dataclass(frozen=True)
class FinetunedFedAvg:
    """FedAvg followed by steps on V.

    Attributes
    ----------
    local
        How a client trains.
    when
        Whether the server takes its steps after every round, so that clients train on from there,
        or once, after the last round.
    n_steps
        Steps it takes then, each over all of V; 0 is FedAvg.
    lr
        Learning rate of the steps; None for that of `local`.
    n_rounds
        Rounds of the whole run, for ``when="end"``; None for those of the run it is used in.
    """

    label: ClassVar[str] = "FedAvg, fine-tuned on V"
    local: Training = LOCAL
    when: When = "every round"
    n_steps: int = 5
    lr: float | None = None
    n_rounds: int | None = None

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.when not in get_args(When):
            raise ModelError(f"when is {self.when!r}; expected one of {get_args(When)}")
        check_number("n_steps", self.n_steps)
        if self.lr is not None:
            check_number("lr", self.lr)
        if self.n_rounds is not None:
            check_number("n_rounds", self.n_rounds, least=1)

    def sees(self, holder: Validation) -> Regime:
        """Return what is seen of V."""
        return "labelled_summary"

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the model's weights."""
        require_labels(holder, "fine-tuning")
        if self.when == "end":
            require_rounds(self.n_rounds, self.label)
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
        """Return the mean of the clients' weights, after steps on V if it is time for them."""
        data, mean = require_labels(holder, "fine-tuning"), uploads.mean().trees["weights"]
        is_due = self.when == "every round" or cohort.round == self.n_rounds
        if not is_due or not self.n_steps:
            return {"weights": mean}
        lr = self.local.rate if self.lr is None else self.lr
        steps = Training(self.n_steps, None, lr, "sgd")
        # The generator is not used: a batch of all samples is not shuffled.
        return {"weights": train_from(task, mean, data, steps, torch.Generator()).weights}
