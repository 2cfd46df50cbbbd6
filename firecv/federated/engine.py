"""Rounds of a federated algorithm: the server's side, the same wherever clients run."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from firecv.errors import DataError, FederatedError
from firecv.federated.bundles import Bundle, n_bytes, tree_of
from firecv.federated.contract import Algorithm, Cohort
from firecv.federated.fleet import REPORT, Failure, Fleet, Phase
from firecv.federated.gate import Gate
from firecv.federated.screening import Screen, is_bundle, norm
from firecv.federated.uploads import Rule, Upload, Uploads
from firecv.federated.weighing import Weighed, standing, weighing_of
from firecv.fire.validation import Validation
from firecv.models import Task
from firecv.seeding import derive


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
        How answers are combined.
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
    generation
        How often those have changed.
    typical
        The usual size of each entry that clients send beside their weights.
    """

    round: int
    server: Bundle
    weights: tuple[float, ...]
    generation: int = 0
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
    cohort = Cohort(number, asked, state.weights, state.generation)
    weighing, weighed = weighing_of(plan.algorithm), None
    if weighing is not None and weighing.is_due(number):
        uploads = list(exchange.uploads("report", asked, cohort))
        if len(uploads) >= plan.min_clients:
            weighed = weighing.decide(
                plan.task, state.server, exchange.reports, uploads, cohort, plan.holder
            )
            cohort = _weighed_anew(cohort, fleet, exchange.heard, weighed)
        answers = iter([u._replace(weight=cohort.weights[u.client]) for u in uploads])
    else:
        answers = exchange.uploads("train", asked, cohort)
    server = _updated(plan, state, answers, cohort, exchange)
    exchange.settle()
    state = State(number, server, cohort.weights, cohort.generation, exchange.gate.typical)
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
        self.bytes_up = self.bytes_down = 0
        self.gate = Gate(plan.screen, state.server, state.typical, fleet.sizes, self._refuse)

    @property
    def is_void(self) -> bool:
        """Whether too few have answered for the round to count."""
        return len(self.heard) < self.plan.min_clients

    def uploads(self, phase: Phase, clients: tuple[int, ...], cohort: Cohort) -> Iterator[Upload]:
        """Yield the answers that pass the screen; reports are kept apart."""
        for k, answer in self.gate.passed(self._answers(phase, clients)):
            self.heard.append(k)
            if phase == "report":
                is_report = {name: name.startswith(REPORT) for name in answer}
                self.reports[k] = {
                    n.removeprefix(REPORT): answer[n] for n in answer if is_report[n]
                }
                answer = {name: part for name, part in answer.items() if not is_report[name]}
            yield Upload(k, cohort.weights[k], answer)

    def _answers(self, phase: Phase, clients: tuple[int, ...]) -> Iterator[tuple[int, Bundle]]:
        """Yield one answer of each client that has one; others go to the failures."""
        missing = set(clients)
        for k, answer in self.fleet.ask(phase, self.number, clients, self.payload):
            if k not in missing:  # it answers twice, or was not asked
                continue
            missing.remove(k)
            if isinstance(answer, Failure):
                self.failures[k] = answer.reason
            elif not is_bundle(answer):
                self._refuse(k, "it is not made of named arrays and numbers")
            else:
                self.bytes_up += n_bytes(answer)
                yield k, answer
        self.failures |= {k: "no answer" for k in sorted(missing)}

    def payload(self, client: int) -> Bundle:
        """Return what is sent to a client, counting its bytes."""
        sent = sent_to(self.plan.algorithm, self.state.server, client)
        self.bytes_down += n_bytes(sent)
        return sent

    def settle(self) -> None:
        """Tell the fleet whose answers count."""
        settle: Callable[[Sequence[int]], None] | None = getattr(self.fleet, "settle", None)
        if settle is not None:
            settle([] if self.is_void else self.heard)

    def done(self, state: State, seconds: float, weighed: Weighed | None) -> Round:
        """Return the record of the round."""
        failures = dict(sorted(self.failures.items()))
        heard = tuple(self.heard)
        return Round(state, heard, failures, self.bytes_up, self.bytes_down, seconds, weighed)

    def _refuse(self, client: int, why: str) -> None:
        self.failures[client] = f"refused: {why}"


def _weighed_anew(cohort: Cohort, fleet: Fleet, heard: list[int], weighed: Weighed) -> Cohort:
    weights = standing(cohort, fleet.sizes, heard, weighed.weights)
    if np.allclose(weights, cohort.weights, rtol=0, atol=1e-12):
        return cohort
    found = tuple(map(float, weights))
    return replace(cohort, weights=found, generation=cohort.generation + 1)


def _updated(
    plan: Plan, state: State, answers: Iterator[Upload], cohort: Cohort, exchange: _Exchange
) -> Bundle:
    """Return the server's new state, or the old one if too few have answered."""
    first = next(answers, None)
    if first is None:
        return state.server
    uploads = Uploads(chain([first], answers), plan.rule)
    server = plan.algorithm.server_update(plan.task, state.server, uploads, cohort, plan.holder)
    for _ in answers:  # those that the algorithm did not read have been asked all the same
        pass
    if exchange.is_void:
        return state.server
    if not math.isfinite(norm(tree_of(server, "weights"))):
        raise FederatedError(
            f"the server's weights became NaN or infinite in round {cohort.round}; what was "
            f"learned up to round {state.round} is kept; lower the learning rate of clients"
        )
    return server
