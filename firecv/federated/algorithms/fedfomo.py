"""FedFomo: each client builds its own model from those of other clients that do it good.

A client is offered models of others; each of them, and its own, counts by how much it lowers the
loss on samples that the client holds out, over its distance from where the client began last time.
Clients that did good before are offered more often.

Zhang, Sapra, Fidler, Yeung, Alvarez: Personalized Federated Learning with First Order Model
Optimization, ICLR 2021, arXiv 2012.08565. The details are those of the authors' code.

*Symbols*: M is `n_offered`, epsilon `exploration`; w_n are "benefits", P is the "affinity". Models
are compared with the "first" weights of a client's last training, which it remembers.

*Communication*: d + M numbers up, at most (M + 1) d down per client and round: the models offered,
and the mean, from which a client begins that has no model yet. The server keeps d numbers for every
client, and each client 2 d. Nothing of V is seen.

*Departures*: distances are Euclidean, where the code has sums of absolute values by default; what
is added to P is divided by the sum of its absolute values, and not by the absolute value of its
sum, which may be 0. What is drawn for offers does not depend on the seed of the run. The mean of
the clients heard is there to judge a global model and is no part of the method.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

import torch

from firecv import tree
from firecv.federated.bundles import Bundle, number_of, tree_of
from firecv.federated.checks import check_number
from firecv.federated.contract import LOCAL, Client, Cohort
from firecv.federated.offers import benefits, held_out_split, offered
from firecv.federated.schema import ROUNDING, Schema, like
from firecv.federated.uploads import Upload, Uploads
from firecv.fire.validation import Validation
from firecv.models import Task
from firecv.seeding import derive
from firecv.training import Training, train_from
from firecv.tree import Tree

SEED: Final = 0
LESS_EXPLORATION: Final = 0.05
"""By how much it falls in every round."""
MODEL = "model "


@dataclass(frozen=True)
class FedFomo:
    """FedFomo.

    Attributes
    ----------
    local
        How a client trains.
    n_offered
        Models of others that a client is sent.
    exploration
        How likely each of them is drawn at random in the first round.
    held_out_rate
        Share of a client's samples that it compares models on and does not train on; a client with
        one sample uses it for both.
    """

    label: ClassVar[str] = "FedFomo"
    local: Training = LOCAL
    n_offered: int = 5
    exploration: float = 0.3
    held_out_rate: float = 0.2

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_number("n_offered", self.n_offered, least=1)
        check_number("exploration", self.exploration, most=1)
        check_number("held_out_rate", self.held_out_rate, most=0.9)

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the model's weights."""
        return {"weights": task.weights(), "round": 0.0}

    def sends(self, server: Bundle, client: int) -> Bundle:
        """Return the mean and the models offered to a client."""
        known = sorted(int(name.removeprefix(MODEL)) for name in server if name.startswith(MODEL))
        sent: Bundle = {"weights": server["weights"]}
        others = [k for k in known if k != client]
        if others:
            affinity = tree_of(server, "affinity")["entries"][client]
            number = int(number_of(server, "round"))
            exploration = max(0.0, self.exploration - LESS_EXPLORATION * number)
            rng = derive(SEED, "offers", number, client)
            chosen = offered(affinity, others, self.n_offered, exploration, rng)
            sent |= {f"{MODEL}{k}": server[f"{MODEL}{k}"] for k in chosen}
        return sent

    def schema(self, task: Task, server: Bundle, holder: Validation) -> Schema:
        """Return what a client sends beside its weights: what each model offered was worth."""
        values = torch.zeros(self.n_offered, dtype=torch.float64)
        return {"benefits": like({"values": values}, least=-1 - ROUNDING, most=1 + ROUNDING)}

    def client_update(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> tuple[Bundle, Bundle]:
        """Return the weights after local training and what others' models were worth."""
        first = tree_of(memory, "first") if memory else tree_of(server, "weights")
        own = [tree_of(memory, "weights")] if memory else []
        offers = [tree_of(server, name) for name in server if name.startswith(MODEL)]
        draws = derive(SEED, "held out", len(client))  # the same samples in every round
        held_out, data = held_out_split(client.data, self.held_out_rate, draws)
        found = benefits(task, first, [*own, *offers], held_out)
        good = [max(0.0, value) for value in found]
        start = tree.weighted_mean([*own, *offers], good) if any(good) else first
        weights = train_from(task, start, data, self.local, rng).weights
        values = torch.zeros(self.n_offered, dtype=torch.float64)
        values[: len(offers)] = torch.tensor(found[len(own) :], dtype=torch.float64)
        upload: Bundle = {"weights": weights, "benefits": {"values": values}}
        return upload, {"weights": weights, "first": start}

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return the mean, the last model of every client, and what they were worth so far."""
        kept = {name: part for name, part in server.items() if name.startswith(MODEL)}
        affinity = torch.zeros(cohort.n_clients, cohort.n_clients, dtype=torch.float64)
        if "affinity" in server:
            affinity += tree_of(server, "affinity")["entries"]

        def keep(upload: Upload) -> Upload:
            k, content = upload.client, upload.content
            kept[f"{MODEL}{k}"] = content["weights"]
            names = [name for name in self.sends(server, k) if name.startswith(MODEL)]
            values = tree_of(content, "benefits")["values"].tolist()
            for name, value in zip(names, values, strict=False):
                affinity[k, int(name.removeprefix(MODEL))] += value
            return upload._replace(content={"weights": content["weights"]})

        mean = uploads.changed(keep).mean().trees["weights"]
        number = float(cohort.round)
        return {"weights": mean, "affinity": {"entries": affinity}, "round": number, **kept}

    def personal(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> Tree:
        """Return the weights that the client had after its last training."""
        return tree_of(memory or server, "weights")
