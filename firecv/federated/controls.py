"""Controls of the label-free rules: clients weighed by what is not a Fisher, or not at all.

What label-free weights are worth shows beside these. `MatchedMeans` matches means of raw inputs, or
of activations, with a sketch of the same size, by the rule `mixture`. `ClassesAlone` weighs nobody
and looks at nothing of V: it is what the logit adjustment does where clients differ in classes,
less the weights.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from firecv.federated.bundles import Bundle, number_of, tree_of
from firecv.federated.contract import Client, Cohort
from firecv.federated.schema import Schema, class_shares_of, n_classes_of, size, sketch_of
from firecv.federated.uploads import Upload
from firecv.federated.weighing import Weighed, report_classes, told_classes
from firecv.fire.mixture import mixture
from firecv.fire.shares import proportions
from firecv.fire.summaries import Matrix, SketchSummary
from firecv.fire.validation import Validation
from firecv.fisher.recorder import eval_mode
from firecv.models import Task, scores_and_features
from firecv.regimes import Regime, require
from firecv.seeding import derive_torch
from firecv.training import holding

NUMBERS = 48
AT_MOST = 512


@dataclass(frozen=True)
class MatchedMeans:
    """The mixture of clients whose mean input, or mean activation, is nearest to V's.

    Attributes
    ----------
    of
        "inputs", or "activations" of the last hidden layer.
    strength
        Of the match; None chooses it by cross-validation over V.
    every
        Rounds from one refresh to the next.
    """

    of: Literal["inputs", "activations"] = "inputs"
    strength: float | None = None
    every: int = 1

    @property
    def needs(self) -> Regime:
        """What the server must hold of V."""
        return "unlabelled"

    def is_due(self, number: int) -> bool:
        """Return whether the round of this number, from 1, refreshes the weights."""
        return (number - 1) % self.every == 0

    def client_report(
        self, task: Task, server: Bundle, client: Client, rng: torch.Generator
    ) -> Bundle:
        """Return mean and covariance of projected inputs or activations."""
        x = client.data[0]
        rows = self._rows(task, server, x[torch.randperm(len(x), generator=rng)[:AT_MOST]])
        return {"sketch": SketchSummary.of_rows(rows, len(x)).to_tree()}

    def schema(self, task: Task, server: Bundle, holder: Validation) -> Schema:
        """Return what a report holds."""
        return {"sketch": sketch_of(NUMBERS)}

    def decide(
        self,
        task: Task,
        server: Bundle,
        reports: Mapping[int, Bundle],
        uploads: Sequence[Upload],
        cohort: Cohort,
        holder: Validation,
    ) -> Weighed:
        """Return the weights of the nearest mixture."""
        require("unlabelled", holder.regime, "matching means")
        assert holder.x is not None
        summaries = [
            SketchSummary.from_tree(tree_of(reports[k], "sketch")) for k in sorted(reports)
        ]
        rows = self._rows(task, server, holder.x)
        return Weighed(mixture(rows, summaries, strength=self.strength), None)

    def _rows(self, task: Task, server: Bundle, x: Tensor) -> Matrix:
        values = x.flatten(1)
        if self.of == "activations":
            with torch.no_grad(), holding(task, tree_of(server, "weights")), eval_mode(task.model):
                values = scores_and_features(task, x)[1]
        size = values.shape[1]
        directions = torch.randn(size, NUMBERS, generator=derive_torch(0, "directions", size))
        return (values.double() @ directions.double()).numpy()


@dataclass(frozen=True)
class ClassesAlone:
    """Every client at n/N, with a loss that is corrected where clients differ in classes.

    Attributes
    ----------
    every
        Rounds from one refresh to the next.
    """

    every: int = 1

    @property
    def needs(self) -> Regime:
        """What the server must hold of V."""
        return "none"

    def is_due(self, number: int) -> bool:
        """Return whether the round of this number, from 1, has clients report."""
        return (number - 1) % self.every == 0

    def client_report(
        self, task: Task, server: Bundle, client: Client, rng: torch.Generator
    ) -> Bundle:
        """Return the client's size and the share of each class."""
        return {"size": float(len(client)), **report_classes(task, client)}

    def schema(self, task: Task, server: Bundle, holder: Validation) -> Schema:
        """Return what a report holds."""
        return {"size": size, "classes": class_shares_of(n_classes_of(task, server, holder))}

    def decide(
        self,
        task: Task,
        server: Bundle,
        reports: Mapping[int, Bundle],
        uploads: Sequence[Upload],
        cohort: Cohort,
        holder: Validation,
    ) -> Weighed:
        """Return n/N, and the classes of all clients if these differ."""
        order = sorted(reports)
        sizes = [round(number_of(reports[k], "size")) for k in order]
        classes = told_classes([reports[k] for k in order], sizes)
        return Weighed(proportions(sizes), None, classes)
