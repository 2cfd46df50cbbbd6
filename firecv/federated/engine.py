"""Rounds of a federated algorithm: the server's side, the same wherever clients run."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

import numpy as np

from firecv.errors import DataError, FederatedError
from firecv.federated.bundles import Bundle, n_bytes, tree_of
from firecv.federated.contract import Algorithm, Cohort
from firecv.federated.decision import decided
from firecv.federated.fleet import REPORT, Failure, Fleet, Phase, parted
from firecv.federated.gate import Gate
from firecv.federated.schema import Schema, schema_of
from firecv.federated.screening import CPU, Screen, is_bundle, norm
from firecv.federated.uploads import Rule, Upload, Uploads
from firecv.federated.weighing import ASKED, Weighed, Weigher, standing, weigher_of
from firecv.fire.validation import Validation
from firecv.models import Task
from firecv.seeding import derive

LONGEST_REASON: Final = 300
"""Characters of why an answer is refused: names in it come from anybody."""


@dataclass(frozen=True)
class Plan:
    """What a federated run consists of, on the server.

    Attributes
    ----------
    algorithm
        What clients and server do.
    task
        The model, at its initial weights.
    holder
        What the server sees of V.
    seed
        Of all that is drawn.
    participation
        Share of the clients that take part in a round.
    min_clients
        Below so many answers a round is void: the server stays as it is.
    rule
        How answers are combined. Under "median" and "trimmed" every client counts by n/N, whatever
        it is weighed: the weight of a client follows from what it sends, and one that lies could
        win a majority.
    screen
        Which answers are refused.
    """

    algorithm: Algorithm
    task: Task
    holder: Validation = field(default_factory=lambda: Validation("none"))
    seed: int = 0
    participation: float = 1.0
    min_clients: int = 1
    rule: Rule = "mean"
    screen: Screen = Screen()

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not 0 < self.participation <= 1 or self.min_clients < 1:
            raise DataError(
                f"participation is a share above 0 up to 1 and min_clients at least 1, got "
                f"{self.participation} and {self.min_clients}"
            )


@dataclass(frozen=True)
class State:
    """What the server knows after a round.

    Attributes
    ----------
    round
        Number of the last round; 0 before the first.
    server
        The algorithm's server state.
    weights
        The share of every client.
    typical
        The usual size of each entry that clients send beside their weights.
    """

    round: int
    server: Bundle
    weights: tuple[float, ...]
    typical: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True)
class Round:
    """What happened in a round.

    Attributes
    ----------
    state
        What the server knows now.
    clients
        Those whose answers count.
    failures
        Why others do not, by number.
    bytes_up, bytes_down
        Sent by clients and to them.
    seconds
        How long it took.
    weighed
        What a refresh of the clients' weights found, if there was one.
    """

    state: State
    clients: tuple[int, ...]
    failures: Mapping[int, str]
    bytes_up: int
    bytes_down: int
    seconds: float
    weighed: Weighed | None = None


def start(plan: Plan, fleet: Fleet) -> State:
    """Return the state before the first round."""
    shares = np.asarray(fleet.sizes, np.float64) / sum(fleet.sizes)
    server = plan.algorithm.init(plan.task, plan.holder)
    return State(0, server, tuple(map(float, shares)))


def rounds(plan: Plan, fleet: Fleet, n_rounds: int, state: State | None = None) -> Iterator[Round]:
    """Yield one round after the other, up to round `n_rounds`.

    Parameters
    ----------
    plan
        What to run.
    fleet
        The clients.
    n_rounds
        Number of the last round.
    state
        Where to go on; by default from the beginning.
    """
    state = state or start(plan, fleet)
    while state.round < n_rounds:
        done = one_round(plan, fleet, state)
        yield done
        state = done.state


def one_round(plan: Plan, fleet: Fleet, state: State) -> Round:
    """Return what the next round does; `state` stays as it is.

    A void round, with fewer answers than `min_clients`, leaves the server as it was.

    Parameters
    ----------
    plan
        What to run.
    fleet
        The clients.
    state
        What the server knows.
    """
    began, number = time.perf_counter(), state.round + 1
    asked = sample(plan, len(fleet.sizes), number)
    exchange = _Exchange(plan, fleet, state, number)
    cohort = Cohort(number, asked, state.weights, sizes=tuple(fleet.sizes))
    uploads, cohort, weighed = _gathered(plan, exchange, cohort)
    server = _updated(plan, state, uploads, cohort, exchange)
    exchange.settle()
    state = State(number, server, cohort.weights, exchange.gate.typical)
    seconds = time.perf_counter() - began
    return exchange.done(state, seconds, weighed)


def sample(plan: Plan, n_clients: int, number: int) -> tuple[int, ...]:
    """Return the clients of a round, in the order of their numbers.

    Examples
    --------
    >>> from torch import nn
    >>> from firecv.federated.algorithms import FedAvg
    >>> plan = Plan(FedAvg(), Task(nn.Linear(2, 2)), participation=0.3)
    >>> sample(plan, 10, number=1), sample(plan, 10, number=2)
    ((0, 4, 5), (2, 7, 8))
    """
    n_asked = max(1, round(plan.participation * n_clients))
    if n_asked == n_clients:
        return tuple(range(n_clients))
    rng = derive(plan.seed, "cohort", number)
    return tuple(sorted(map(int, rng.choice(n_clients, n_asked, replace=False))))


def sent_to(algorithm: Algorithm, server: Bundle, client: int) -> Bundle:
    """Return what of the server's state goes to a client."""
    sends: Callable[[Bundle, int], Bundle] | None = getattr(algorithm, "sends", None)
    return server if sends is None else sends(server, client)


class _Exchange:
    """What is sent and received in one round, and what came of it."""

    def __init__(self, plan: Plan, fleet: Fleet, state: State, number: int) -> None:
        self.plan, self.fleet, self.state, self.number = plan, fleet, state, number
        self.failures: dict[int, str] = {}
        self.heard: list[int] = []
        self.reports: dict[int, Bundle] = {}
        self.report: Schema = {}
        self.tells_asked = False
        self.bytes_up = self.bytes_down = 0
        weights = tree_of(state.server, "weights").values()
        self.devices = {CPU, *(value.device for value in weights)}
        self.gate = Gate(plan.screen, state.server, state.typical, fleet.sizes, self.refuse)

    @property
    def is_void(self) -> bool:
        """Whether too few have answered for the round to count."""
        return len(self.heard) < self.plan.min_clients

    def uploads(self, phase: Phase, clients: tuple[int, ...], cohort: Cohort) -> Iterator[Upload]:
        """Yield the answers that pass the screen; reports are kept apart."""
        answers = self.answers(phase, clients, self.broadcast)
        for k, answer in self.gate.passed(answers, self.schema()):
            self.heard.append(k)
            if phase == "report":
                self.reports[k], answer = parted(answer)
            yield Upload(k, cohort.weights[k], answer)

    def refresh(self, weigher: Weigher) -> Phase:
        """Return what is asked for in a round that refreshes weights.

        Without a report to ask for it is training, as in any round. Algorithms that send more where
        weights may change are told so.
        """
        self.report = weigher.schema(self.plan.task, self.state.server, self.plan.holder)
        self.tells_asked = (
            bool(self.report) or self.update(True).keys() != self.update(False).keys()
        )
        return "report" if self.report else "train"

    def update(self, tells_asked: bool) -> Schema:
        """Return what an upload holds beside the client's weights."""
        plan, server = self.plan, self.state.server
        sent = {**server, ASKED: 1.0} if tells_asked else server
        return schema_of(plan.algorithm, plan.task, sent, plan.holder)

    def schema(self) -> Schema:
        """Return what an answer holds beside the client's weights."""
        report = {REPORT + name: check for name, check in self.report.items()}
        return {**self.update(self.tells_asked), **report}

    def answers(
        self, phase: Phase, clients: Sequence[int], payload: Callable[[int], Bundle]
    ) -> Iterator[tuple[int, Bundle]]:
        """Yield one answer of each client that has one; others go to the failures."""

        def counted(client: int) -> Bundle:
            sent = payload(client)
            if self.tells_asked:
                sent = {**sent, ASKED: float(len(clients))}
            self.bytes_down += n_bytes(sent)
            return sent

        missing = set(clients)
        for k, answer in self.fleet.ask(phase, self.number, clients, counted):
            if k not in missing:  # it answers twice, or was not asked
                continue
            missing.remove(k)
            if isinstance(answer, Failure):
                self.failures[k] = answer.reason
            elif not is_bundle(answer, self.devices):
                self.refuse(k, "it is not made of named arrays, dense and with values, and numbers")
            else:
                self.bytes_up += n_bytes(answer)
                yield k, answer
        self.failures |= {k: "no answer" for k in sorted(missing)}

    def broadcast(self, client: int) -> Bundle:
        """Return what is sent to a client to train on."""
        return sent_to(self.plan.algorithm, self.state.server, client)

    def settle(self) -> None:
        """Tell the fleet whose answers count."""
        settle: Callable[[Sequence[int]], None] | None = getattr(self.fleet, "settle", None)
        if settle is not None:
            settle([] if self.is_void else self.heard)

    def done(self, state: State, seconds: float, weighed: Weighed | None) -> Round:
        """Return the record of the round."""
        heard, counted = tuple(self.heard), set(self.heard)
        failures = {k: why for k, why in sorted(self.failures.items()) if k not in counted}
        return Round(state, heard, failures, self.bytes_up, self.bytes_down, seconds, weighed)

    def refuse(self, client: int, why: str) -> None:
        """Note that a client's answer does not count."""
        self.failures[client] = f"refused: {why[:LONGEST_REASON]}"


_Gathered = tuple[Uploads | None, Cohort, Weighed | None]
"""What clients uploaded, if any did, the cohort with their shares, and what a refresh found."""


def _gathered(plan: Plan, exchange: _Exchange, cohort: Cohort) -> _Gathered:
    """Return uploads that the server sees, each as it is read."""
    weigher, weighed = weigher_of(plan.algorithm, plan.holder), None
    if weigher is not None and weigher.is_due(cohort.round):
        phase = exchange.refresh(weigher)
        uploads = list(exchange.uploads(phase, cohort.clients, cohort))
        if len(uploads) >= plan.min_clients:
            server, reports, holder = exchange.state.server, exchange.reports, plan.holder
            weighed = decided(weigher, plan.task, server, reports, uploads, cohort, holder)
            cohort = _reweighted(plan, cohort, exchange.heard, weighed)
        answers = iter([u._replace(weight=cohort.weights[u.client]) for u in uploads])
    else:
        answers = exchange.uploads("train", cohort.clients, cohort)
    first = next(answers, None)
    found = None if first is None else Uploads(chain([first], answers), plan.rule)
    return found, cohort, weighed


def _reweighted(plan: Plan, cohort: Cohort, heard: Sequence[int], weighed: Weighed) -> Cohort:
    """Return the cohort with new weights; under robust rules these stay at n/N."""
    cohort = replace(cohort, classes=weighed.classes)
    if plan.rule != "mean":
        return cohort
    weights = standing(cohort, cohort.sizes, heard, weighed.weights)
    if np.allclose(weights, cohort.weights, rtol=0, atol=1e-12):
        return cohort
    return replace(cohort, weights=tuple(map(float, weights)), before=cohort.weights)


def _updated(
    plan: Plan, state: State, uploads: Uploads | None, cohort: Cohort, exchange: _Exchange
) -> Bundle:
    """Return the server's new state, or the old one if too few have answered."""
    if uploads is None:
        return state.server
    server = plan.algorithm.server_update(plan.task, state.server, uploads, cohort, plan.holder)
    for _ in uploads:  # those that the algorithm did not read have been asked all the same
        pass
    if exchange.is_void:
        return state.server
    if not math.isfinite(norm(tree_of(server, "weights"))):
        raise FederatedError(
            f"the server's weights became NaN or infinite in round {cohort.round}; what was "
            f"learned up to round {state.round} is kept; lower the learning rate of clients"
        )
    return server
