"""FedFishr: clients' gradients in the head are to have the same variance everywhere.

A client's loss has a penalty on the distance of its own variance from the mean over clients of the
last round, which the server sends.

A stand-in of ours: Rame, Dancette, Cord: Fishr: Invariant Gradient Variances for
Out-of-Distribution Generalization, ICML 2022, arXiv 2109.02934, is a method for one place that has
all domains, and no federated form of it has been published.

*Symbols*: lambda is `strength`; v_k is a client's "variance", the diagonal of the centred
covariance of the gradients of single samples; clients are the domains.

*Communication*: d + d_head up and down per client and round; nothing of V is seen.

*Departures*: the mean variance is that of the last round and stands still while a client trains;
what a client sends is taken over all its samples at the weights it sends, where Fishr smooths over
batches; the optimiser begins anew in every round, so it needs no restart when the penalty sets in.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from firecv import tree
from firecv.errors import ModelError
from firecv.federated.bundles import Bundle, number_of, tree_of
from firecv.federated.checks import check_number
from firecv.federated.contract import LOCAL, Client, Cohort
from firecv.federated.outputs import features_at
from firecv.federated.schedule import require_rounds
from firecv.federated.schema import Schema, like
from firecv.federated.uploads import Uploads
from firecv.fire.validation import Validation
from firecv.models import Batch, Task, head_name, scores_and_features
from firecv.training import Training, train_from
from firecv.tree import Tree


@dataclass(frozen=True)
class FedFishr:
    """FedFishr, for models that end in a linear layer.

    Attributes
    ----------
    local
        How a client trains.
    strength
        Of the penalty, the mean over the head's entries of squared differences; 0 is FedAvg.
    n_rounds
        Rounds of the whole run, at least 2, of which `warm_up_rate` is a share; None for those of
        the run it is used in.
    warm_up_rate
        Share of the rounds that are FedAvg: at least the first one, and not the last one unless the
        share is 1.
    """

    label: ClassVar[str] = "FedFishr (stand-in)"
    local: Training = LOCAL
    strength: float = 1000.0
    n_rounds: int | None = None
    warm_up_rate: float = 0.2

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_number("strength", self.strength)
        if self.n_rounds is not None:
            check_number("n_rounds", self.n_rounds, least=2)
        check_number("warm_up_rate", self.warm_up_rate, most=1)

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the model's weights and a variance of zero."""
        require_rounds(self.n_rounds, self.label)
        return {"weights": task.weights(), "variance": tree.zeros_like(_head(task)), "round": 0.0}

    def schema(self, task: Task, server: Bundle, holder: Validation) -> Schema:
        """Return what a client sends beside its weights: the variance of its head's gradients."""
        return {"variance": like(tree_of(server, "variance"))}

    def client_update(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> tuple[Bundle, Bundle]:
        """Return the weights after local training and the variance of the head's gradients."""
        weights, everybodys = tree_of(server, "weights"), tree_of(server, "variance")

        def variance(scores: Tensor, features: Tensor, y: Tensor) -> Tree:
            found = gradient_variance(scores, features, y)
            return {name: found[name] for name in everybodys}

        def penalised(batch: Batch, rows: Tensor) -> Tensor:
            scores, features = scores_and_features(task, batch[0])
            distance = tree.squared_distance(variance(scores, features, batch[1]), everybodys)
            loss = task.loss_of(scores, batch[1])
            return loss + self.strength * distance / tree.size(everybodys)

        is_on = number_of(server, "round") >= self._n_plain()
        objective = penalised if is_on and self.strength else None
        trained = train_from(task, weights, client.data, self.local, rng, objective=objective)
        scores, features = features_at(task, trained.weights, client.data[0])
        own = variance(scores, features, client.data[1])
        _check_head(everybodys, own)
        return {"weights": trained.weights, "variance": own}, memory

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return the means of the clients' weights and variances."""
        return {**uploads.mean().trees, "round": float(cohort.round)}

    def _n_plain(self) -> int:
        """Return how many rounds are FedAvg."""
        n_rounds = require_rounds(self.n_rounds, self.label)
        n_plain = max(1, math.ceil(self.warm_up_rate * n_rounds))
        return n_plain if self.warm_up_rate == 1 else min(n_plain, n_rounds - 1)


def gradient_variance(scores: Tensor, features: Tensor, y: Tensor) -> Tree:
    """Return the variance over samples of the gradient of a linear head, entry by entry.

    A sample's gradient is (p - e_y) z' for the weight and p - e_y for the bias, so no gradient is
    taken; the result can be differentiated.

    Parameters
    ----------
    scores
        The head's outputs, of shape (n_samples, n_classes).
    features
        The head's inputs, of shape (n_samples, n_features).
    y
        Labels.

    Examples
    --------
    >>> features = torch.tensor([[1.0], [3.0]])
    >>> gradient_variance(torch.zeros(2, 2), features, torch.tensor([0, 0]))
    {'weight': tensor([[0.2500],
            [0.2500]]), 'bias': tensor([0., 0.])}
    """
    residuals = scores.softmax(1) - functional.one_hot(y, scores.shape[1])  # (n, classes)
    squares, mean = residuals.square(), residuals.mean(0)
    means = residuals.mT @ features / len(y)
    return {
        "weight": squares.mT @ features.square() / len(y) - means.square(),
        "bias": squares.mean(0) - mean.square(),
    }


def _head(task: Task) -> Tree:
    head = task.model.get_submodule(head_name(task.model))
    own = dict(head.named_parameters(recurse=False))
    return {name: own[name] for name in ("weight", "bias") if name in own}


def _check_head(head: Tree, variance: Tree) -> None:
    for name, value in head.items():
        if value.shape != variance[name].shape:
            raise ModelError(
                f"the last linear layer's {name} has shape {tuple(value.shape)} but the model's "
                f"scores and that layer's inputs ask for {tuple(variance[name].shape)}; FedFishr "
                f"needs a model whose scores are the outputs of that layer"
            )
