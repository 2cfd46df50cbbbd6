"""FedAWA: clients count more the more their updates agree with the merged one.

In every round the server takes a step of Adam on the weights of clients, along the gradient of how
far each client's model is from the server's in direction, and how far its update, the *client
vector*, from the weighted mean of all updates. It uses no data.

Shi, Zhao, Zhang, Zhou, Guo, Chang: FedAWA: Adaptive Optimization of Aggregation Weights in
Federated Learning Using Client Vectors, CVPR 2025, arXiv 2503.15842.

*Symbols*: lambda is the softmax of logits; tau_k = theta_k - theta is the client vector. The loss
is sum_k lambda_k (1 - cos(theta_k, theta)) + sum_k lambda_k |tau_k - sum_j lambda_j tau_j|.

*Communication*: d up and d down per client and round; nothing of V is seen.

*Not verified*: neither the paper's text nor the authors' code could be read in full. Loss and
settings (Adam at 0.001 with betas 0.5 and 0.999, one step a round, weights kept from round to
round, cosine distance to the server's model, no batch-norm statistics in the vectors) are those of
two independent copies of the authors' server function in other projects, which agree; their number
of steps is the default of one of them. FedAWA-L, which weighs layers apart, is not here.

*Departures*: logits begin at log n/N, so that without a step this is FedAvg; the copies begin with
n/N as logits, which is next to equal weights. The copies average with the weights before the last
step, here it is those after it. What is kept is how far logits have moved from log n/N, client by
client, so that clients may be absent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import torch
from torch import Tensor

from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.checks import check_number
from firecv.federated.contract import LOCAL, Client, Cohort
from firecv.federated.uploads import Uploads, reweighted
from firecv.fire.validation import Validation
from firecv.models import Task
from firecv.training import Training, train_from
from firecv.tree import Tree

BETAS: Final = (0.5, 0.999)
"""Of Adam, as in the copies of the authors' code."""
TINY: Final = 1e-12
"""A squared distance below which there is no gradient, and the least of a share and of a product
of two norms, whose logarithm and inverse are taken."""


@dataclass(frozen=True)
class FedAWA:
    """FedAWA.

    Attributes
    ----------
    local
        How a client trains.
    server_epochs
        Steps that the server takes on the weights of clients in a round; 0 is FedAvg.
    server_lr
        Learning rate of these steps.
    """

    label: ClassVar[str] = "FedAWA"
    local: Training = LOCAL
    server_epochs: int = 1
    server_lr: float = 0.001

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_number("server_epochs", self.server_epochs)
        check_number("server_lr", self.server_lr)

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the model's weights."""
        return {"weights": task.weights()}

    def sends(self, server: Bundle, client: int) -> Bundle:
        """Return the weights."""
        return {"weights": server["weights"]}

    def client_update(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> tuple[Bundle, Bundle]:
        """Return the weights after local training."""
        trained = train_from(task, tree_of(server, "weights"), client.data, self.local, rng)
        return {"weights": trained.weights}, memory

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return the mean of the clients' weights, and how far logits have moved."""
        if not self.server_epochs:
            return {"weights": uploads.mean().trees["weights"]}
        answers = list(uploads)
        heard = [answer.client for answer in answers]
        moved = torch.zeros(cohort.n_clients, dtype=torch.float64)
        if "moved" in server:
            moved += tree_of(server, "moved")["logits"]
        shares = torch.tensor([answer.weight for answer in answers], dtype=torch.float64)
        sizes = shares.clamp_min(TINY).log()
        models = [task.keep_trainable(tree_of(answer.content, "weights")) for answer in answers]
        old = task.keep_trainable(tree_of(server, "weights"))
        logits = self._learned(sizes + moved[heard], distances(models, old))
        moved[heard] = logits - sizes
        mean = reweighted(answers, logits.softmax(0).tolist(), uploads.rule).mean()
        return {"weights": mean.trees["weights"], "moved": {"logits": moved}}

    def _learned(self, logits: Tensor, between: tuple[Tensor, Tensor]) -> Tensor:
        """Return logits after the server's steps."""
        angles, products = between
        logits = logits.clone().requires_grad_()
        optimizer = torch.optim.Adam([logits], self.server_lr, BETAS)
        for _ in range(self.server_epochs):
            loss = disagreement(logits.softmax(0), angles, products)
            (logits.grad,) = torch.autograd.grad(loss, [logits])
            optimizer.step()
        return logits.detach()


def distances(models: Sequence[Tree], old: Tree) -> tuple[Tensor, Tensor]:
    """Return 1 - cos(theta_k, theta) of every client, and the inner products of client vectors.

    Parameters
    ----------
    models
        What clients send.
    old
        What they were sent.

    Examples
    --------
    >>> old = {"a": torch.tensor([1.0, 0.0])}
    >>> models = [{"a": torch.tensor([2.0, 0.0])}, {"a": torch.tensor([0.0, 3.0])}]
    >>> angles, products = distances(models, old)
    >>> angles.tolist(), products.tolist()
    ([0.0, 1.0], [[1.0, -1.0], [-1.0, 10.0]])
    """
    n = len(models)
    along, lengths, own = torch.zeros(n).double(), torch.zeros(n).double(), 0.0
    products = torch.zeros(n, n, dtype=torch.float64)
    for name, value in old.items():
        rows = torch.stack([model[name].flatten() for model in models]).double()
        flat = value.flatten().double()
        along += (rows @ flat).cpu()
        lengths += rows.square().sum(1).cpu()
        own += float(flat.square().sum())
        products += ((rows - flat) @ (rows - flat).T).cpu()
    return 1 - along / (lengths * own).sqrt().clamp_min(TINY), products


def disagreement(shares: Tensor, angles: Tensor, products: Tensor) -> Tensor:
    """Return the loss that FedAWA's weights descend.

    Parameters
    ----------
    shares
        Weights of the clients; they sum to one.
    angles, products
        As `distances` returns them.

    Examples
    --------
    >>> products = torch.tensor([[1.0, -1.0], [-1.0, 1.0]])
    >>> disagreement(torch.tensor([0.5, 0.5]), torch.tensor([0.0, 1.0]), products)
    tensor(1.5000)
    """
    mixed = products @ shares
    squared = products.diagonal() - 2 * mixed + shares @ mixed
    apart = squared.clamp_min(TINY).sqrt()
    return shares @ angles + shares @ apart
