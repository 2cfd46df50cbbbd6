"""What a federated run leaves: the state of the server, and one record per round."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd

from firecv.errors import FederatedError
from firecv.federated.bundles import Bundle, number_of
from firecv.federated.engine import Round, State
from firecv.federated.weighing import HOLD
from firecv.tree import Tree

Scores = Mapping[str, float]


@dataclass(frozen=True)
class Record:
    """What there is to say of a round; of round 0, how good the weights were before training.

    Attributes
    ----------
    round
        Its number.
    clients
        Those whose answers count.
    failures
        Why others do not, by number.
    is_void
        Whether too few have answered, so that the server stayed as it was.
    bytes_up, bytes_down
        Sent by clients and to them.
    seconds
        How long it took, evaluation aside.
    weights
        The share of every client.
    statistic, p_value
        Of the shift test, in rounds with one.
    unweighed
        Why clients could not be weighed, so that they count by n/N; None if they could, or were not
        to be.
    scores
        Accuracy and loss on every set, such as "test_accuracy"; empty in rounds without evaluation.
    client_scores
        "accuracy" and "loss" of the server's weights on what a client keeps to be judged on, and
        "personal_accuracy" and "personal_loss" of its own where there are such, by number.
    hold
        How strongly the server's own step on V was held; None if there was none.
    """

    round: int
    clients: tuple[int, ...] = ()
    failures: Mapping[int, str] = field(default_factory=dict[int, str])
    is_void: bool = False
    bytes_up: int = 0
    bytes_down: int = 0
    seconds: float = 0.0
    weights: tuple[float, ...] = ()
    statistic: float | None = None
    p_value: float | None = None
    unweighed: str | None = None
    scores: Scores = field(default_factory=dict[str, float])
    client_scores: Mapping[int, Scores] = field(default_factory=dict[int, Scores])
    hold: float | None = None

    def plain(self) -> dict[str, Any]:
        """Return the record as JSON has it.

        Examples
        --------
        >>> record = Record(3, (0, 2), {1: "no answer"}, weights=(0.25, 0.5, 0.25))
        >>> Record.of_plain(record.plain()) == record
        True
        """
        by_client = {"failures": self.failures, "client_scores": self.client_scores}
        named = {name: {str(k): v for k, v in found.items()} for name, found in by_client.items()}
        return {**asdict(self), **named}

    @classmethod
    def of_plain(cls, plain: Mapping[str, Any]) -> "Record":
        """Return the record that `plain` was called on."""
        given: dict[str, Any] = dict(plain)
        for name in ("failures", "client_scores"):
            given[name] = {int(client): value for client, value in plain[name].items()}
        for name in ("clients", "weights"):
            given[name] = tuple(plain[name])
        return cls(**given)

    def row(self) -> dict[str, float | int | str | None]:
        """Return the record as a row of a table, clients summed up."""
        reasons = "; ".join(f"{client}: {why}" for client, why in self.failures.items())
        return {
            "round": self.round,
            "n_heard": len(self.clients),
            "n_failed": len(self.failures),
            "bytes_up": self.bytes_up,
            "bytes_down": self.bytes_down,
            "seconds": self.seconds,
            **self.scores,
            **self.client_means(),
            "statistic": self.statistic,
            "p_value": self.p_value,
            "unweighed": self.unweighed,
            "hold": self.hold,
            "is_void": self.is_void,
            "failures": reasons,
        }

    def client_means(self) -> dict[str, float]:
        """Return the mean over clients of each score, each client counting alike."""
        columns: dict[str, list[float]] = {}
        for scores in self.client_scores.values():
            for name, value in scores.items():
                columns.setdefault(name, []).append(value)
        return {
            name if name.startswith("personal") else f"client_{name}": sum(found) / len(found)
            for name, found in columns.items()
            if name != "n"
        }


@dataclass(frozen=True)
class History:
    """What a run leaves.

    Attributes
    ----------
    state
        What the server knows; with it `firecv.federated.rounds` goes on.
    weights
        The weights that stand for what was learned.
    records
        One per round, the first being round 0.
    stopped
        Why the run ended before its last round; None if it did not.
    """

    state: State
    weights: Tree
    records: Sequence[Record]
    stopped: str | None = None

    def table(self) -> pd.DataFrame:
        """Return one row per round."""
        return pd.DataFrame([record.row() for record in self.records])

    def clients(self) -> pd.DataFrame:
        """Return one row per round and client: its weight, its scores, why it failed."""
        rows: list[dict[str, float | int | str | bool | None]] = [
            {
                "round": record.round,
                "client": client,
                "weight": weight,
                "is_heard": client in record.clients,
                "failure": record.failures.get(client),
                **record.client_scores.get(client, {}),
            }
            for record in self.records
            for client, weight in enumerate(record.weights)
        ]
        return pd.DataFrame(rows)


class RunStopped(FederatedError):
    """A run that cannot go on, with what it has left.

    Attributes
    ----------
    history
        What was learned up to then.
    """

    def __init__(self, reason: str, history: History) -> None:
        super().__init__(reason)
        self.history = history


def record_of(done: Round, min_clients: int) -> Record:
    """Return the record of a round, its scores still empty."""
    test = None if done.weighed is None else done.weighed.test
    return Record(
        done.state.round,
        done.clients,
        dict(done.failures),
        len(done.clients) < min_clients,
        done.bytes_up,
        done.bytes_down,
        done.seconds,
        done.state.weights,
        None if test is None else float(test.statistic),
        None if test is None else float(test.p_value),
        None if done.weighed is None else done.weighed.failed,
        hold=None if len(done.clients) < min_clients else _hold(done.state.server),
    )


def _hold(server: Bundle) -> float | None:
    hold = number_of(server, HOLD, math.inf)
    return hold if math.isfinite(hold) else None
