"""Per-FedAvg: the weights from which one local step leads furthest, by exact MAML gradients.

Each local step lowers the loss that one batch has after a gradient step on another.

Fallah, Mokhtari, Ozdaglar: Personalized Federated Learning with Theoretical Guarantees: A
Model-Agnostic Meta-Learning Approach, NeurIPS 2020, arXiv 2002.07948.

*Symbols*: alpha is `step`, beta the rate of `local`; D and D' are the two halves of a batch.

*Communication*: d up and d down per client and round; nothing of V is seen.

*Departures*: the paper draws three batches for each step, of which the third serves the Hessian;
here the halves of one batch serve all, and the gradient is exact for them. A batch of one sample is
both halves.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from firecv.errors import ModelError
from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.checks import check_number
from firecv.federated.contract import LOCAL, Client, Cohort
from firecv.federated.uploads import Uploads
from firecv.fire.validation import Validation
from firecv.models import Batch, Task
from firecv.training import Training, train_from
from firecv.tree import Tree


@dataclass(frozen=True)
class PerFedAvg:
    """Per-FedAvg.

    Attributes
    ----------
    local
        How a client trains.
    step
        Length of the gradient step that makes the server's weights a client's own.
    """

    label: ClassVar[str] = "Per-FedAvg"
    local: Training = LOCAL
    step: float = 0.01

    def __post_init__(self) -> None:
        """Check the step."""
        check_number("step", self.step)
        if not self.step:
            raise ModelError("step is 0, with which nothing is personal; expected one above 0")

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the model's weights."""
        return {"weights": task.weights()}

    def client_update(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> tuple[Bundle, Bundle]:
        """Return the weights after local training."""

        def objective(batch: Batch, rows: Tensor) -> Tensor:
            return adapted_loss(task, batch, self.step)

        weights = tree_of(server, "weights")
        trained = train_from(task, weights, client.data, self.local, rng, objective=objective)
        return {"weights": trained.weights}, memory

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return the mean of the clients' weights."""
        return {"weights": uploads.mean().trees["weights"]}

    def personal(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> Tree:
        """Return the server's weights after one step on all of the client's data."""
        settings = Training(1, None, self.step, "sgd")
        return train_from(task, tree_of(server, "weights"), client.data, settings, rng).weights


def adapted_loss(task: Task, batch: Batch, step: float) -> Tensor:
    """Return the loss of a batch's second half after a gradient step on its first half.

    Parameters
    ----------
    task
        The model; the result can be differentiated in its parameters, through the step.
    batch
        Samples and labels.
    step
        Length of the step.

    Examples
    --------
    >>> task = Task(torch.nn.Linear(1, 2, bias=False))
    >>> batch = (torch.ones(2, 1), torch.tensor([1, 1]))
    >>> bool(adapted_loss(task, batch, 1.0) < task.loss(batch))
    True
    """
    x, y = batch
    half = len(y) // 2
    first, second = ((x[:half], y[:half]), (x[half:], y[half:])) if half else (batch, batch)
    params = task.parameters()
    gradient = torch.autograd.grad(
        task.loss(first), list(params.values()), create_graph=True, materialize_grads=True
    )
    moved = {n: p - step * g for (n, p), g in zip(params.items(), gradient, strict=True)}
    return task.loss(second, moved)
