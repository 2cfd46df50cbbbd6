"""FedCFA: clients train on counterfactual features too, mixed from their own and those of averages.

Every client sends averages of its samples. Where a sample's least important features are replaced
by those of such an average its label stays; where its most important ones are, labels are mixed.

Jiang, Xu, Zhang, Shen, Li, Kuang, Cai, Wu: FedCFA: Alleviating Simpson's Paradox in Model
Aggregation with Counterfactual Federated Learning, AAAI 2025, arXiv 2412.18904. The details are
those of the authors' code.

*Symbols*: factors are the encoder's channels or units, of which k = `swapped_rate` times their
number are replaced; X_g and Y_g are the "averages"; the weights of both counterfactual losses are
`strength`, that of the decorrelation loss L_FDC is `decorrelation`.

*Communication*: d up and d down per client and round; besides, each client's ceil(n_k / group)
averages of samples and labels up, and those of all clients of the last round down. Nothing of V is
seen. Averages of raw samples leave the client, and where a group has one sample, that sample.

*Departures*: the authors' code cuts a ResNet after its first stage; here the encoder is the first
layer of an `nn.Sequential` and what follows up to the next one. The decorrelation loss is in the
paper and not in that code; here it is the mean squared correlation of two factors.
"""

import math
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

import torch
from torch import Tensor
from torch.nn import functional

from firecv.errors import DataError
from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.checks import check_number
from firecv.federated.contract import LOCAL, Client, Cohort
from firecv.federated.counterfactuals import correlation, counterfactuals, importance, split
from firecv.federated.outputs import scores_at
from firecv.federated.schema import ROUNDING, Schema, like
from firecv.federated.uploads import Upload, Uploads
from firecv.fire.validation import Validation
from firecv.models import Batch, Task
from firecv.training import Objective, Training, holding, train_from
from firecv.tree import Tree

AVERAGES: Final = "averages/"
"""What the names of the averages that each client sent begin with."""


@dataclass(frozen=True)
class FedCFA:
    """FedCFA, for models that are an `nn.Sequential`.

    Attributes
    ----------
    local
        How a client trains.
    strength
        Of the losses of counterfactual features.
    decorrelation
        Strength of the decorrelation loss.
    swapped_rate
        Share of the factors that are replaced; 0 is FedAvg.
    group
        Samples in an average.
    """

    label: ClassVar[str] = "FedCFA"
    local: Training = LOCAL
    strength: float = 5.0
    decorrelation: float = 0.1
    swapped_rate: float = 0.375
    group: int = 128

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_number("strength", self.strength)
        check_number("decorrelation", self.decorrelation)
        check_number("swapped_rate", self.swapped_rate, most=1)
        check_number("group", self.group, least=1)

    def init(self, task: Task, holder: Validation) -> Bundle:
        """Return the model's weights."""
        split(task.model)
        return {"weights": task.weights()}

    def schema(self, task: Task, server: Bundle, holder: Validation) -> Schema:
        """Return what a client sends beside its weights: averages that the model takes."""
        return {"groups": partial(_no_averages, task, tree_of(server, "weights"), self.group)}

    def client_update(
        self, task: Task, server: Bundle, memory: Bundle, client: Client, rng: torch.Generator
    ) -> tuple[Bundle, Bundle]:
        """Return the weights after local training and averages of the client's samples."""
        weights, objective = tree_of(server, "weights"), None
        averages = _fitting(server, client.data[0])
        if averages is not None and self.swapped_rate:
            objective = self._objective(task, weights, averages, rng)
        trained = train_from(task, weights, client.data, self.local, rng, objective=objective)
        groups = _averages(task, trained.weights, client.data, self.group, rng)
        return {"weights": trained.weights, "groups": groups}, memory

    def server_update(
        self, task: Task, server: Bundle, uploads: Uploads, cohort: Cohort, holder: Validation
    ) -> Bundle:
        """Return the mean of the clients' weights and all averages that they sent."""
        groups: Bundle = {}

        def set_aside(upload: Upload) -> Upload:
            groups[f"{AVERAGES}{upload.client}"] = upload.content["groups"]
            return upload._replace(content={"weights": upload.content["weights"]})

        mean = uploads.changed(set_aside).mean().trees["weights"]
        return {"weights": mean, **groups}

    def _objective(
        self, task: Task, weights: Tree, averages: Tree, rng: torch.Generator
    ) -> Objective:
        encoder, decoder = split(task.model)
        with holding(task, weights):
            judge = deepcopy(decoder).eval().requires_grad_(False)

        def objective(batch: Batch, rows: Tensor) -> Tensor:
            x, y = batch
            h = encoder(x)
            loss = task.loss_of(decoder(h), y)
            n_swapped = round(self.swapped_rate * h.shape[1])
            if not n_swapped:
                return loss
            drawn = torch.randint(len(averages["x"]), (len(y),), generator=rng).to(y.device)
            with torch.no_grad():
                others = encoder(averages["x"][drawn])
            found = importance(judge, h.detach(), y)
            mixed = counterfactuals(h.detach(), others, found, n_swapped)
            kept = functional.one_hot(y, averages["y"].shape[1]).to(h.dtype)
            share = n_swapped / h.shape[1]
            blend = (1 - share) * kept + share * averages["y"][drawn]
            swaps = task.loss_of(decoder(mixed.same), y)
            swaps = swaps + task.loss_of(decoder(mixed.other), blend)
            return loss + self.strength * swaps + self.decorrelation * correlation(h)

        return objective


def _averages(task: Task, weights: Tree, data: Batch, group: int, rng: torch.Generator) -> Tree:
    x, y = data
    if not x.is_floating_point():
        raise DataError(f"FedCFA averages samples and needs real numbers, got {x.dtype}")
    n_classes = scores_at(task, weights, x[:1]).shape[1]
    labels = functional.one_hot(y, n_classes).to(x.dtype)
    parts = torch.randperm(len(y), generator=rng).to(y.device).split(group)
    return {
        "x": torch.stack([x[rows].mean(0) for rows in parts]),
        "y": torch.stack([labels[rows].mean(0) for rows in parts]),
    }


def _no_averages(
    task: Task, weights: Tree, group: int, part: Tree | float, n_samples: int
) -> str | None:
    """Return why an entry is not made of averages of samples and their labels."""
    if not isinstance(part, dict) or part.keys() != {"x", "y"}:
        return "is not made of averages x of samples and y of their labels"
    x, n_groups = part["x"], math.ceil(n_samples / group)
    if not x.is_floating_point() or not x.ndim or len(x) != n_groups:
        return f"has {x.dtype} averages of shape {tuple(x.shape)}, expected {n_groups} real ones"
    try:
        scores = scores_at(task, weights, x)
    except Exception as error:
        return f"has averages that the model does not take: {error}"
    labels = scores.new_zeros(scores.shape, dtype=x.dtype)
    return like({"y": labels}, least=0.0, most=1 + ROUNDING)({"y": part["y"]}, n_samples)


def _fitting(server: Bundle, x: Tensor) -> Tree | None:
    """Return the averages of all clients whose samples are like these; None if there are none."""
    names = [name for name in server if name.startswith(AVERAGES)]
    sent = [tree_of(server, n) for n in sorted(names, key=lambda n: int(n[len(AVERAGES) :]))]
    fit = [p for p in sent if p["x"].dtype == x.dtype and p["x"].shape[1:] == x.shape[1:]]
    return {name: torch.cat([part[name] for part in fit]) for name in ("x", "y")} if fit else None
