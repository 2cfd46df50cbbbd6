"""FIRE's form `weigh` across clients: which of them the server listens to.

At a refresh every client reports a sketch of the Fisher of its data at the weights sent out, and
for the rule "information" the share of each class among its labels, which tells label skew; the
server, which holds V and shows it to nobody, tests whether V differs from the pooled clients, and
chooses their weights by one of three rules, as far as the test lets it. Labels of V are not used.
The weights enter every mean over clients, so this goes with any algorithm.

Where clients differ in classes, being sure says little about being right: with "information" they
then train with a loss that leaves out how often each class comes up in their own data
(`firecv.federated.classes`), and weights move only if the nearest mixture of clients explains V
and points the same way (`firecv.fire.explained`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, Protocol, get_args

import numpy as np
import torch
from torch import Tensor

from firecv.errors import DataError
from firecv.federated.bundles import Bundle, number_of, tree_of
from firecv.federated.contract import Algorithm, Client, Cohort
from firecv.federated.schema import (
    ROUNDING,
    Check,
    Schema,
    class_shares_of,
    like,
    n_classes_of,
    number,
    sketch_of,
)
from firecv.federated.uploads import Upload
from firecv.fire.cautious import STRENGTH_APART, cautious
from firecv.fire.class_spread import class_shares, pooled_if_apart
from firecv.fire.distance import Halved
from firecv.fire.explained import explained
from firecv.fire.fragment_weights import RULES, Rule
from firecv.fire.shares import capped, proportions
from firecv.fire.summaries import AT_MOST, Matrix, Vector
from firecv.fire.validation import Validation
from firecv.fire.weigh import (
    ShiftTest,
    SketchSummary,
    distance,
    guarded,
    halved,
    information,
    mixture,
    shift_test,
    sketch_rows,
)
from firecv.fisher import Diagonal
from firecv.fisher.recorder import eval_mode
from firecv.models import Task
from firecv.regimes import Regime, require
from firecv.seeding import derive
from firecv.training import holding

SKETCH_SEED: Final = 0
ASKED: Final = "asked"
"""What is sent beside the server's state where reports are asked for: how many clients are."""
IN_ALL: Final = 1024
LEAST: Final = 8
CAP: Final = 2.0
"""The smallest of 1.5, 2, 3 and 5 that kept most of what weights gain over FedAvg where clients are
honest: at least 12.0 of 13.7 points in the worlds bands, nuisance and bandsandskew, on seeds that
no table has (docs/log.md)."""
Layers = Literal["all", "first", "last"]


class Weigher(Protocol):
    """What decides how much each client counts."""

    @property
    def needs(self) -> Regime:
        """What the server must hold of V."""
        ...

    def is_due(self, number: int) -> bool:
        """Return whether the round of this number, from 1, refreshes the weights."""
        ...

    def client_report(
        self, task: Task, server: Bundle, client: Client, rng: torch.Generator
    ) -> Bundle:
        """Return what a client says about its data, at the weights sent out."""
        ...

    def schema(self, task: Task, server: Bundle, holder: Validation) -> Schema:
        """Return what a report holds."""
        ...

    def decide(
        self,
        task: Task,
        server: Bundle,
        reports: Mapping[int, Bundle],
        uploads: Sequence[Upload],
        cohort: Cohort,
        holder: Validation,
    ) -> "Weighed":
        """Return the weights of the clients that reported, in the order of their numbers."""
        ...


class Weighed(NamedTuple):
    """What a refresh found.

    Attributes
    ----------
    weights
        Of the clients heard; they sum to one.
    test
        The shift test of V against those clients; None if there was none.
    classes
        As of `Cohort`.
    failed
        Why clients could not be weighed, so that they count by n/N; None if they could.
    """

    weights: Vector
    test: ShiftTest | None
    classes: tuple[float, ...] | None = None
    failed: str | None = None


@dataclass(frozen=True)
class Weighing:
    """How clients are weighed.

    Attributes
    ----------
    rule
        "information", "mixture" or "distance".
    strength
        Of the rule; None for its own default.
    every
        Rounds from one refresh to the next; the first round has one.
    guarded
        Whether "mixture" and "distance" decide only once the shift test has rejected, and whether
        "information" heeds it, as `firecv.fire.cautious` says, and classes that differ.
    at_most
        Samples of a client that are sketched. With "information" the sketches serve the shift test
        alone, for which those of all clients count together, so that fewer of each are enough:
        `IN_ALL` over the clients asked, no less than `LEAST` of each.
    n_numbers
        Numbers of the sketch per layer.
    layers
        Which layers are sketched: all, or the first or the last one alone.
    cap
        The largest weight of a client, as a multiple of its share n/N; None leaves weights as the
        rule finds them.
    """

    rule: Rule = "information"
    strength: float | None = None
    every: int = 1
    guarded: bool = True
    at_most: int = 512
    n_numbers: int = 16
    layers: Layers = "all"
    cap: float | None = CAP

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.rule not in RULES:
            raise DataError(f"there is no rule {self.rule!r}; expected one of {', '.join(RULES)}")
        if min(self.every, self.at_most, self.n_numbers) < 1:
            raise DataError(
                f"every, at_most and n_numbers are whole numbers from 1 on, got {self.every}, "
                f"{self.at_most} and {self.n_numbers}"
            )
        if self.layers not in get_args(Layers):
            raise DataError(f"layers={self.layers!r} is unknown; expected {get_args(Layers)}")
        if self.cap is not None and not self.cap >= 1:
            raise DataError(f"cap is a multiple of n/N from 1 on, or None, got {self.cap}")

    @property
    def needs(self) -> Regime:
        """What the server must hold of V."""
        return "unlabelled"

    def is_due(self, number: int) -> bool:
        """Return whether the round of this number, from 1, refreshes the weights.

        Examples
        --------
        >>> [n for n in range(1, 13) if Weighing(every=5).is_due(n)]
        [1, 6, 11]
        """
        return (number - 1) % self.every == 0

    def n_sketched(self, n_asked: int) -> int:
        """Return how many samples a client sketches where so many are asked.

        Examples
        --------
        >>> Weighing().n_sketched(2), Weighing().n_sketched(10), Weighing("mixture").n_sketched(10)
        (512, 102, 512)
        """
        if self.rule != "information":
            return self.at_most
        return min(self.at_most, max(LEAST, IN_ALL // n_asked))

    def client_report(
        self, task: Task, server: Bundle, client: Client, rng: torch.Generator
    ) -> Bundle:
        """Return what a client says about its data, and no sample.

        The summary of a sketch; for "distance" a diagonal Fisher, too, and for "information", if
        guarded, the share of each class.
        """
        x, draws = client.data[0], _numpy(rng)
        weights = tree_of(server, "weights")
        with holding(task, weights), eval_mode(task.model):
            rows = self._sketched(task, x, draws, self.n_sketched(int(number_of(server, ASKED, 1))))
            report: Bundle = {"sketch": SketchSummary.of_rows(rows, len(x)).to_tree()}
            if self.rule == "distance":
                part = x[torch.from_numpy(draws.permutation(len(x))[: self.at_most]).to(x.device)]
                found = halved(task, part, rng=draws)
                report |= {"fisher": found.fisher.to_tree(), "halves": found.halves}
            if self.rule == "information" and self.guarded:
                report |= report_classes(task, client)
        return report

    def schema(self, task: Task, server: Bundle, holder: Validation) -> Schema:
        """Return what a report holds: as many numbers as the server's own sketch of V."""
        assert holder.x is not None
        weights = tree_of(server, "weights")
        with holding(task, weights), eval_mode(task.model):
            rows = self._sketched(task, holder.x[:1], derive(SKETCH_SEED, "schema"))
        found: dict[str, Check] = {"sketch": sketch_of(rows.shape[1])}
        if self.rule == "distance":
            fisher = like(task.keep_trainable(weights), least=0.0)
            found |= {"fisher": fisher, "halves": number(least=0.0, most=1 + ROUNDING)}
        if self.rule == "information" and self.guarded:
            found |= {"classes": class_shares_of(n_classes_of(task, server, holder))}
        return found

    def decide(
        self,
        task: Task,
        server: Bundle,
        reports: Mapping[int, Bundle],
        uploads: Sequence[Upload],
        cohort: Cohort,
        holder: Validation,
    ) -> Weighed:
        """Return the weights of the clients that reported, in the order of their numbers.

        Parameters
        ----------
        task
            The model.
        server
            What was sent out.
        reports
            What clients said of their data, by number.
        uploads
            What the same clients sent after training; used by the rule "information" alone.
        cohort
            Which clients there are.
        holder
            What the server sees of V; its inputs are needed, labels are not used.
        """
        require("unlabelled", holder.regime, "weighing clients")
        assert holder.x is not None
        x, order = holder.x, sorted(reports)
        draws = derive(SKETCH_SEED, "validation", cohort.round)
        summaries = [SketchSummary.from_tree(tree_of(reports[k], "sketch")) for k in order]
        sizes = [summary.n for summary in summaries]
        with holding(task, tree_of(server, "weights")), eval_mode(task.model):
            rows = self._sketched(task, x, draws)
            test = shift_test(rows, summaries)
            classes = self._classes([reports[k] for k in order], sizes)

            def decide() -> Vector:
                options: dict[str, Any] = {}
                if self.strength is not None:
                    options["strength"] = self.strength
                elif classes:
                    options["strength"] = STRENGTH_APART
                if self.rule == "mixture":
                    return mixture(rows, summaries, **options)
                if self.rule == "distance":
                    parts = [_halved(reports[k]) for k in order]
                    return distance(parts, halved(task, x, rng=draws), sizes, **options)
                trained = [tree_of(upload.content, "weights") for upload in uploads]
                options["also_from"] = cohort.shares_of(order)
                if not self.guarded:
                    return information(task, trained, x, sizes, **options)
                found = cautious(task, trained, x, sizes, test, **options)
                return explained(found, rows, summaries) if classes else found

            is_guarded = self.guarded and self.rule != "information"  # which heeds it by itself
            weights = guarded(test, sizes, decide) if is_guarded else decide()
        if self.cap is not None:
            weights = capped(weights, proportions(sizes), self.cap)
        return Weighed(weights, test, classes)

    def _classes(self, reports: Sequence[Bundle], sizes: Sequence[int]) -> tuple[float, ...] | None:
        """Return the classes of all clients if these differ; None if that is not looked at."""
        if self.rule != "information" or not self.guarded or self.strength == 0:
            return None
        return told_classes(reports, sizes)

    def _sketched(
        self, task: Task, x: Tensor, rng: np.random.Generator, at_most: int = AT_MOST
    ) -> Matrix:
        """Return the sketches of samples, one row each, of the layers asked for."""
        rows = sketch_rows(
            task, x, seed=SKETCH_SEED, rng=rng, at_most=at_most, n_numbers=self.n_numbers
        )
        if self.layers == "all":
            return rows
        return rows[:, : self.n_numbers] if self.layers == "first" else rows[:, -self.n_numbers :]


def weighing_of(algorithm: Algorithm) -> Weigher | None:
    """Return how an algorithm weighs clients; None if it does not."""
    return getattr(algorithm, "weighing", None)


def standing(cohort: Cohort, sizes: Sequence[int], heard: Sequence[int], found: Vector) -> Vector:
    """Return the weight of every client once some have been weighed anew.

    Those heard share among themselves what n/N gives them together; all others keep what they had,
    and all sum to one.

    Examples
    --------
    >>> cohort = Cohort(1, (0, 1), (0.25, 0.25, 0.25, 0.25))
    >>> standing(cohort, [10, 10, 10, 10], [0, 1], np.array([0.9, 0.1]))
    array([0.45, 0.05, 0.25, 0.25])
    """
    shares = np.asarray(sizes, np.float64) / sum(sizes)
    weights = np.asarray(cohort.weights, np.float64)
    weights[list(heard)] = found * shares[list(heard)].sum()
    return weights / weights.sum()


def told_classes(reports: Sequence[Bundle], sizes: Sequence[int]) -> tuple[float, ...]:
    """Return the shares of the classes in all clients together, or nothing if these do not differ.

    Parameters
    ----------
    reports
        Of the clients, each with the shares of its classes.
    sizes
        Samples of each.
    """
    shares = [tree_of(report, "classes")["shares"].double().cpu().numpy() for report in reports]
    pooled = pooled_if_apart(shares, sizes)
    return () if pooled is None else tuple(map(float, pooled))


def report_classes(task: Task, client: Client) -> Bundle:
    """Return the part of a client's report that says which share each class has."""
    shares = class_shares(task, *client.data)
    return {"classes": {"shares": torch.from_numpy(shares)}}


def _halved(report: Bundle) -> Halved:
    return Halved(Diagonal.from_tree(tree_of(report, "fisher")), number_of(report, "halves"))


def _numpy(rng: torch.Generator) -> np.random.Generator:
    return np.random.default_rng(int(torch.randint(2**62, (), generator=rng)))
