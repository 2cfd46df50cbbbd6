"""FIRE's form `weigh` across clients: how much each of them counts at the server.

With V's labels, which stay on the server, clients send what FedAvg's clients send and nothing else,
and the rule "likelihood" weighs them by the models they trained. Without labels every client
reports, at a refresh, a sketch of the Fisher of its data at the weights sent out, and for the rule
"information" the share of each class among its labels; the server tests whether V differs from the
pooled clients, and a label-free rule decides as far as the test lets it. The weights enter every
mean over clients, so this goes with any algorithm. `firecv.fire.weigh.decide` decides.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Protocol

import numpy as np
import torch

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
from firecv.fire.class_spread import class_shares, pooled_if_apart
from firecv.fire.distance import Halved, halved
from firecv.fire.shift_test import ShiftTest
from firecv.fire.summaries import SketchSummary, Vector
from firecv.fire.validation import Validation
from firecv.fire.weigh.decide import SKETCH_SEED, Fragments, decide, sketched, tells_classes
from firecv.fire.weigh.settings import IN_ALL, LEAST, Rule, Weighing, needed
from firecv.fisher import Diagonal
from firecv.fisher.recorder import eval_mode
from firecv.models import Task
from firecv.regimes import Regime, require
from firecv.seeding import derive
from firecv.training import holding

ASKED: Final = "asked"
"""What is sent beside the server's state where weights may change: how many clients are sampled."""
HOLD: Final = "hold"
"""In the server's state, how strongly its step is held; the server keeps it to itself."""


class Weigher(Protocol):
    """What decides how much each client counts.

    A weigher whose schema is empty needs no report: clients then send what they send anyway. It may
    have ``given(holder) -> Weigher | None`` if it depends on what the server holds of V; None
    leaves clients at n/N.
    """

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
        """Return the weights of the clients that responded, in the order of their numbers.

        Parameters
        ----------
        task
            The model.
        server
            What was sent out.
        reports
            What clients said of their data, by number; empty if no report is asked for.
        uploads
            What the same clients sent after training.
        cohort
            Which clients there are.
        holder
            What the server sees of V.
        """
        ...


class Weighed(NamedTuple):
    """What a refresh decided.

    Attributes
    ----------
    weights
        Of the clients that responded; they sum to one.
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
class RuleWeigher:
    """One of FIRE's rules as a weigher of clients.

    Attributes
    ----------
    settings
        The rule and its settings.
    """

    settings: Weighing = Weighing()

    @property
    def rule(self) -> Rule:
        """The rule; where it depends on V, the one that has clients report."""
        return self.settings.rule or "information"

    @property
    def needs(self) -> Regime:
        """What the server must hold of V."""
        return needed(self.settings.rule)

    def given(self, holder: Validation) -> "RuleWeigher | None":
        """Return the weigher with the rule for what the server holds of V; None for n/N.

        Parameters
        ----------
        holder
            What the server sees of V.
        """
        rule = self.settings.rule_for(holder)
        return None if rule is None else RuleWeigher(replace(self.settings, rule=rule))

    def is_due(self, number: int) -> bool:
        """Return whether the round of this number, from 1, refreshes the weights."""
        return self.settings.is_due(number)

    def n_sketched(self, n_asked: int) -> int:
        """Return how many samples a client sketches where so many are sampled.

        Examples
        --------
        >>> [RuleWeigher(Weighing("information")).n_sketched(n) for n in (2, 10)]
        [512, 102]
        >>> RuleWeigher(Weighing("mixture")).n_sketched(10)
        512
        """
        at_most = self.settings.at_most
        if self.rule != "information":
            return at_most
        return min(at_most, max(LEAST, IN_ALL // n_asked))

    def client_report(
        self, task: Task, server: Bundle, client: Client, rng: torch.Generator
    ) -> Bundle:
        """Return what a client says about its data, and no sample.

        The summary of a sketch; for "distance" a diagonal Fisher, too, and for "information", if
        guarded, the share of each class. Nothing for "likelihood".
        """
        if self.rule == "likelihood":
            return {}
        x, draws = client.data[0], _numpy(rng)
        n_sketched = self.n_sketched(int(number_of(server, ASKED, 1)))
        with holding(task, tree_of(server, "weights")), eval_mode(task.model):
            rows = sketched(self.settings, task, x, draws, n_sketched)
            report: Bundle = {"sketch": SketchSummary.of_rows(rows, len(x)).to_tree()}
            if self.rule == "distance":
                chosen = draws.permutation(len(x))[: self.settings.at_most]
                own = halved(task, x[torch.from_numpy(chosen).to(x.device)], rng=draws)
                report |= {"fisher": own.fisher.to_tree(), "halves": own.halves}
            if tells_classes(self.settings, self.rule):
                report |= report_classes(task, client)
        return report

    def schema(self, task: Task, server: Bundle, holder: Validation) -> Schema:
        """Return what a report holds: as many numbers as the server's own sketch of V."""
        if self.rule == "likelihood":
            return {}
        assert holder.x is not None
        weights = tree_of(server, "weights")
        with holding(task, weights), eval_mode(task.model):
            rows = sketched(self.settings, task, holder.x[:1], derive(SKETCH_SEED, "schema"))
        checks: dict[str, Check] = {"sketch": sketch_of(rows.shape[1])}
        if self.rule == "distance":
            fisher = like(task.keep_trainable(weights), least=0.0)
            checks |= {"fisher": fisher, "halves": number(least=0.0, most=1 + ROUNDING)}
        if tells_classes(self.settings, self.rule):
            checks |= {"classes": class_shares_of(n_classes_of(task, server, holder))}
        return checks

    def decide(
        self,
        task: Task,
        server: Bundle,
        reports: Mapping[int, Bundle],
        uploads: Sequence[Upload],
        cohort: Cohort,
        holder: Validation,
    ) -> Weighed:
        """Return the weights of the clients that responded, in the order of their numbers."""
        require(needed(self.rule), holder.regime, "weighing clients")
        order = [upload.client for upload in uploads]
        told = [reports[k] for k in order] if reports else []
        summaries = [SketchSummary.from_tree(tree_of(report, "sketch")) for report in told]
        fragments = Fragments(
            [cohort.sizes[k] for k in order],
            trained=lambda classes: [tree_of(upload.content, "weights") for upload in uploads],
            summaries=lambda: summaries,
            halves=lambda: [_halved(report) for report in told],
            classes=lambda: [_shares(report) for report in told],
        )
        with holding(task, tree_of(server, "weights")), eval_mode(task.model):
            found = decide(
                replace(self.settings, rule=self.rule),
                task,
                fragments,
                holder,
                rng=derive(SKETCH_SEED, "validation", cohort.round),
                also_from=cohort.shares_of(order),
            )
        return Weighed(found.weights, found.test, found.classes)


def weighing_of(algorithm: Algorithm) -> Weigher | None:
    """Return how an algorithm weighs clients, whatever the server holds; None if it does not."""
    own: Weigher | Weighing | None = getattr(algorithm, "weighing", None)
    return RuleWeigher(own) if isinstance(own, Weighing) else own


def weigher_of(algorithm: Algorithm, holder: Validation) -> Weigher | None:
    """Return how an algorithm weighs clients, given what the server holds of V; None for n/N.

    Parameters
    ----------
    algorithm
        The algorithm.
    holder
        What the server sees of V.

    Examples
    --------
    >>> from firecv.federated.algorithms import Fire
    >>> from firecv.fire.validation import as_validation
    >>> weigher_of(Fire(), as_validation((torch.zeros(4, 2), torch.zeros(4).long()))).rule
    'likelihood'
    """
    own = weighing_of(algorithm)
    given: Callable[[Validation], Weigher | None] | None = getattr(own, "given", None)
    return own if given is None else given(holder)


def standing(cohort: Cohort, sizes: Sequence[int], heard: Sequence[int], found: Vector) -> Vector:
    """Return the weight of every client after a refresh that weighed some of them.

    Those that responded share what n/N gives them together; all others keep what they had, and all
    sum to one.

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
    pooled = pooled_if_apart([_shares(report) for report in reports], sizes)
    return () if pooled is None else tuple(map(float, pooled))


def report_classes(task: Task, client: Client) -> Bundle:
    """Return the part of a client's report that says which share each class has."""
    shares = class_shares(task, *client.data)
    return {"classes": {"shares": torch.from_numpy(shares)}}


def _shares(report: Bundle) -> Vector:
    return tree_of(report, "classes")["shares"].double().cpu().numpy()


def _halved(report: Bundle) -> Halved:
    return Halved(Diagonal.from_tree(tree_of(report, "fisher")), number_of(report, "halves"))


def _numpy(rng: torch.Generator) -> np.random.Generator:
    return np.random.default_rng(int(torch.randint(2**62, (), generator=rng)))
