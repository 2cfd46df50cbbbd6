"""FedAS: clients keep their heads, and align what they are sent with their own features first.

A client fits the server's base to the class means of its own former features, then trains the whole
model; the server weighs clients by the squared norm of their gradients, as a trace of the Fisher.

Yang, Huang, Ye: FedAS: Bridging Inconsistency in Personalized Federated Learning, CVPR 2024. The
details are those of the authors' code.

*Symbols*: the head is the model's last linear layer, the base all before it; t_k, the sum over a
client's batches of squared norms of the mean loss's gradient, is sent as "information" t_k / n_k.

*Communication*: d + 1 numbers up and d down per client and round, of which the head serves to judge
a global model only; nothing of V is seen. A client remembers d numbers.

*Departures*: clients' weights are their shares times t_k / n_k, which is the paper's t_k as long as
shares are n_k / N. In the authors' code aligning one client changes the model that the next one is
sent; here every client is sent the server's.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

import torch
from torch import Tensor

from firecv.federated.bundles import Bundle, number_of, tree_of
from firecv.federated.contract import LOCAL, Client, Cohort
from firecv.federated.outputs import class_means, features_at
from firecv.federated.schema import Schema, number
from firecv.federated.uploads import Upload, Uploads
from firecv.fire.validation import Validation
from firecv.fisher.recorder import eval_mode
from firecv.models import Batch, Task, batches, head_name, scores_and_features
from firecv.training import Training, holding, train_from
from firecv.tree import Tree

LEAST_INFORMATION: Final = 1e-12
"""Clients that fit perfectly have a gradient of zero and still count."""


@dataclass(frozen=True)
class FedAS:
    """FedAS.

    Attributes
    ----------
    local
        How a client trains.
    alignment
        How it fits the server's base to its own features before.
    """

    label: ClassVar[str] = "FedAS"
    local: Training = LOCAL
    alignment: Training = Training(1, 16, 0.01, "sgd")

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the model's weights."""
        return {"weights": task.weights()}

    def schema(self, task: Task, server: Bundle, holder: Validation) -> Schema:
        """Return what a client sends beside its weights: the squared norm of its gradients."""
        return {"information": number(least=0.0)}

    def client_update(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> tuple[Bundle, Bundle]:
        """Return the weights after local training, which the client remembers too."""
        weights = tree_of(server, "weights")
        if memory:
            weights = self._aligned(task, weights, tree_of(memory, "weights"), client.data, rng)
        weights = train_from(task, weights, client.data, self.local, rng).weights
        information = squared_gradients(task, weights, client.data, self.local.batch_size)
        return {"weights": weights, "information": information}, {"weights": weights}

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return the mean of the clients' weights, each with its information."""
        return {"weights": uploads.changed(_informed).mean().trees["weights"]}

    def personal(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> Tree:
        """Return the weights that the client had after its last training."""
        return tree_of(memory or server, "weights")

    def _aligned(
        self, task: Task, weights: Tree, own: Tree, data: Batch, rng: torch.Generator
    ) -> Tree:
        """Return the server's base, fitted to the client's features, and the client's head."""
        head = f"{head_name(task.model)}.".lstrip(".")
        start = weights | {name: value for name, value in own.items() if name.startswith(head)}
        if all(name.startswith(head) for name in task.trainable):
            return start
        scores, features = features_at(task, own, data[0])
        prototypes = class_means(features, data[1], scores.shape[1])

        def objective(batch: Batch, rows: Tensor) -> Tensor:
            x, y = batch
            errors = (scores_and_features(task, x)[1] - prototypes[y]).square().mean(1)
            return (errors / torch.bincount(y)[y]).sum()  # the sum over classes of their means

        return train_from(task, start, data, self.alignment, rng, objective=objective).weights


def squared_gradients(task: Task, weights: Tree, data: Batch, size: int | None) -> float:
    """Return the sum over batches of the squared norm of the gradient, over the number of samples.

    Parameters
    ----------
    task
        The model; it is taken in eval mode, and its own weights stay as they are.
    weights
        Where gradients are taken.
    data
        Samples and labels.
    size
        Samples in a batch; None for all of them.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(1, 2, bias=False))
    >>> data = (torch.ones(2, 1), torch.tensor([0, 0]))
    >>> squared_gradients(task, {"weight": torch.zeros(2, 1)}, data, 1)
    0.5
    """
    n, total = len(data[1]), 0.0
    with holding(task, weights), eval_mode(task.model):
        params = list(task.parameters().values())
        for x, y in batches(*data, size or n):
            found = torch.autograd.grad(task.loss((x, y)), params, materialize_grads=True)
            total += sum(float(gradient.square().sum()) for gradient in found)
    return total / n


def _informed(upload: Upload) -> Upload:
    information = max(number_of(upload.content, "information"), LEAST_INFORMATION)
    return upload._replace(weight=upload.weight * information)
