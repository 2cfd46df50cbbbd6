"""FLTrust: the server trains on a small clean set, and trusts clients whose updates point that way.

A client's trust is the cosine between its update and the server's own, 0 if that is negative, and
every update is brought to the length of the server's.

Cao, Fang, Liu, Gong: FLTrust: Byzantine-robust Federated Learning via Trust Bootstrapping, NDSS
2021, arXiv 2012.13995.

*Symbols*: the root dataset is V; g_0 and g_i are the updates of the server and of client i;
TS_i = ReLU(cos(g_i, g_0)); theta + sum_i TS_i (|g_0| / |g_i|) g_i / sum_i TS_i is what the server
goes on with.

*Communication*: d up and d down per client and round. V with its labels stays on the server.

*Departures*: a client's trust is multiplied with its share n/N; in the paper sizes do not count,
which is the same for clients of one size. The paper's global learning rate is 1, as in FedAvg, and
the server trains as clients do. Updates are of trainable parameters; running statistics of batch
norms are averaged by trust as they are. A root dataset is drawn like the clients' data in the
paper, and V is not.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

import torch

from firecv import tree
from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.contract import LOCAL, Client, Cohort, require_labels
from firecv.federated.uploads import Upload, Uploads
from firecv.fire.validation import Validation
from firecv.models import Task
from firecv.regimes import Regime
from firecv.seeding import derive_torch
from firecv.training import Training, train_from
from firecv.tree import Tree

SEED: Final = 0


@dataclass(frozen=True)
class FLTrust:
    """FLTrust.

    Attributes
    ----------
    local
        How a client trains, and the server on V.
    """

    label: ClassVar[str] = "FLTrust"
    local: Training = LOCAL

    def sees(self, holder: Validation) -> Regime:
        """Return what is seen of V."""
        return "labelled_summary"

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the model's weights."""
        require_labels(holder, self.label)
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
        """Return the mean of the clients' scaled updates by trust; nothing moves without trust."""
        data, old = require_labels(holder, self.label), tree_of(server, "weights")
        rng = derive_torch(SEED, self.label, cohort.round)
        trained = train_from(task, old, data, self.local, rng).weights
        start = task.keep_trainable(old)
        own = tree.sub(task.keep_trainable(trained), start)

        def scaled(upload: Upload) -> Upload:
            weights = tree_of(upload.content, "weights")
            update = tree.sub(task.keep_trainable(weights), start)
            trust, factor = trusted(update, own)
            moved = tree.add(start, tree.scale(update, factor))
            return Upload(upload.client, upload.weight * trust, {"weights": weights | moved})

        answers = list(uploads.changed(scaled))
        if not sum(answer.weight for answer in answers) > 0:
            return server
        return {"weights": Uploads(answers, uploads.rule).mean().trees["weights"]}


def trusted(update: Tree, own: Tree) -> tuple[float, float]:
    """Return a client's trust score and the factor that gives its update the server's length.

    Parameters
    ----------
    update
        Of the client; one of zeros has no trust.
    own
        Of the server.

    Examples
    --------
    >>> own = {"a": torch.tensor([3.0, 4.0])}
    >>> trusted({"a": torch.tensor([0.0, 10.0])}, own)
    (0.8, 0.5)
    >>> trusted({"a": torch.tensor([0.0, -10.0])}, own)
    (0.0, 0.5)
    """
    doubles = [{name: value.double() for name, value in each.items()} for each in (update, own)]
    length, expected = (float(tree.dot(each, each).sqrt()) for each in doubles)
    if not length * expected > 0:
        return 0.0, 0.0
    cosine = float(tree.dot(*doubles)) / (length * expected)
    return max(0.0, cosine), expected / length
