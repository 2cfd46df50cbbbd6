"""FedLAW: the server learns the weights of clients, and how much to shrink their mean, on V.

In every round theta = gamma sum_k lambda_k theta_k, with lambda on the simplex, and gamma and
lambda are those with the least loss on the server's labeled data, as far as a few epochs of Adam
take them from FedAvg's (gamma = 1, lambda = n/N).

Li, Lin, Shang, Wu: Revisiting Weighted Aggregation in Federated Learning with Neural Networks,
ICML 2023, arXiv 2302.10911. The settings are those of the authors' code (ZexiLee/ICML-2023-FedLAW:
`fedlaw_optimization` with server_funct "exp", no SWA, and the defaults of `args.py`).

*Symbols*: lambda is the softmax of logits that begin at log n/N, gamma the exponential of a number
that begins at 0; the server's data is V.

*Communication*: d up and d down per client and round. V with its labels stays on the server.

*Departures*: the paper takes a proxy set for V. Batch norms are run with the mean of the clients'
running statistics, which gamma does not shrink; in the authors' code they take those of the batch,
and buffers are whatever the server's model has seen. The authors use a learning rate of 0.01 for
CIFAR-10 and 0.005 for other data; here it is 0.01 for all. As in their code weights begin at n/N
again in every round; with at most 128 samples of V an epoch is one step, so that 20 epochs move a
logit by about 0.2. The number of epochs is the default of the code; that of the paper's tables was
not verified.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import torch
from torch import Tensor

from firecv import tree
from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.checks import check_number
from firecv.federated.contract import LOCAL, Client, Cohort, require_labels
from firecv.federated.uploads import Upload, Uploads, reweighted
from firecv.fire.batch_norm import DifferentiableBatchNorm
from firecv.fire.validation import Validation
from firecv.fisher.recorder import eval_mode
from firecv.models import Batch, Task
from firecv.regimes import Regime
from firecv.seeding import derive_torch
from firecv.training import Training, train_from

SEED: Final = 0
BETAS: Final = (0.5, 0.999)
"""Of Adam, as in the authors' code."""
HALVED: Final = 20
"""Epochs after which the learning rate is halved, as in the authors' code."""


@dataclass(frozen=True)
class FedLAW:
    """FedLAW.

    Attributes
    ----------
    local
        How a client trains.
    server_epochs
        Passes over V in which the server learns the weights of a round; 0 is FedAvg.
    server_batch_size
        Samples of V in a step.
    server_lr
        Learning rate of these steps.
    """

    label: ClassVar[str] = "FedLAW"
    local: Training = LOCAL
    server_epochs: int = 20
    server_batch_size: int = 128
    server_lr: float = 0.01

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_number("server_epochs", self.server_epochs)
        check_number("server_batch_size", self.server_batch_size, least=1)
        check_number("server_lr", self.server_lr)

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
        """Return the shrunken mean of the clients' weights with the least loss on V."""
        data = require_labels(holder, self.label)
        if not self.server_epochs:
            return {"weights": uploads.mean().trees["weights"]}
        answers = list(uploads)
        rng = derive_torch(SEED, self.label, cohort.round)
        shares, gamma = self._learned(task, answers, data, rng)
        mean = reweighted(answers, shares, uploads.rule).mean().trees["weights"]
        return {"weights": mean | tree.scale(task.keep_trainable(mean), gamma)}

    def _learned(
        self, task: Task, answers: Sequence[Upload], data: Batch, rng: torch.Generator
    ) -> tuple[list[float], float]:
        """Return the weights of the clients and the factor that shrinks their mean."""
        models = [tree_of(answer.content, "weights") for answer in answers]
        stacked = {name: torch.stack([model[name] for model in models]) for name in models[0]}
        sizes = torch.tensor([answer.weight for answer in answers], dtype=torch.float64)
        start = torch.cat([sizes.log(), torch.zeros(1, dtype=torch.float64)])
        logits = start.requires_grad_()
        optimizer = torch.optim.Adam([logits], self.server_lr, BETAS)

        def mixed(name: str, values: Tensor) -> Tensor:
            shares = logits[:-1].softmax(0)
            factors = logits[-1].exp() * shares if name in task.trainable else shares
            return torch.tensordot(factors.to(values), values, 1)

        x, y = data
        with eval_mode(task.model), DifferentiableBatchNorm():
            for epoch in range(self.server_epochs):
                optimizer.param_groups[0]["lr"] = self.server_lr * 0.5 ** (epoch // HALVED)
                order = torch.randperm(len(x), generator=rng)
                for rows in order.split(self.server_batch_size):
                    weights = {name: mixed(name, values) for name, values in stacked.items()}
                    loss = task.loss((x[rows.to(x.device)], y[rows.to(y.device)]), weights)
                    (logits.grad,) = torch.autograd.grad(loss, [logits])
                    optimizer.step()
        found = logits.detach()
        return found[:-1].softmax(0).tolist(), float(found[-1].exp())
