"""What a simulated federation is asked for, and what came of it, beside FedAvg."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal, NamedTuple, cast

from sklearn.pipeline import Pipeline

from firecv.data.bands import Kind
from firecv.data.limits import Limits
from firecv.federated.evaluation import Score
from firecv.federated.history import History
from firecv.federated.uploads import Rule
from firecv.regimes import Regime

Labels = Literal["server", "none", "shared"]
FRAGMENTS: Final = "dirichlet:n=10,alpha=0.5"
HELD_OUT: Final = 0.2
"""Share of the rows of a file that V and T are made of."""


@dataclass(frozen=True)
class Simulation:
    """A federation of one data set, and what is to be run on it.

    Attributes
    ----------
    data
        A data set of the catalogue, or the path of a file if `target` is given.
    target
        The column of a file to predict.
    fragment
        The column of a file, or tag of a data set, that says which client a sample belongs to.
    time, window
        In its place, a column of a file that holds dates or numbers, and the width of the window
        that each client has; see `firecv.data.windows.Windows`.
    validation
        The path of a file whose halves are V and T, or the share of the rows of `data` that they
        are the halves of; a fifth by default.
    drop, categorical
        Columns of a file to leave out, and those of numbers that name categories.
    fragments
        How samples are dealt out to clients otherwise.
    bands
        A shift of each client's own.
    algorithm
        A key of `ALGORITHMS`.
    settings
        Of the algorithm, as ``"name=value"``; settings of settings as ``"local.rate=0.1"``.
    n_rounds
        Rounds to run.
    n_epochs
        Passes of a client over its data in a round; None for the algorithm's own.
    participation, min_clients, rule, seed
        As for `Plan`.
    labels
        Where V's labels are: on the server alone, nowhere ("none": the server has V's inputs), or
        with every client, too ("shared").
    limits
        How large a file may be.
    """

    data: str
    target: str | None = None
    fragment: str | None = None
    time: str | None = None
    window: float | str | None = None
    validation: str | float | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    fragments: str = FRAGMENTS
    bands: Kind | None = None
    algorithm: str = "fedavg"
    settings: Sequence[str] = ()
    n_rounds: int = 10
    n_epochs: int | None = None
    participation: float = 1.0
    min_clients: int = 1
    rule: Rule = "mean"
    seed: int = 0
    labels: Labels = "server"
    limits: Limits = Limits()


class Simulated(NamedTuple):
    """What came of a simulation.

    Attributes
    ----------
    history
        What `firecv.federated.run` returns.
    names
        Of the clients.
    scores
        Accuracy and loss on V and T of what was learned.
    simulation
        What was run.
    label
        The algorithm's name in tables.
    sizes
        Samples of each client, those it is judged by included.
    n_held_out
        Samples of V and T.
    regime
        What was seen of V.
    changed
        In a sentence, what the algorithm changed against FedAvg; empty if it is FedAvg.
    baseline
        What FedAvg came to with the same local training; None if it was not run.
    table
        How a file's table became inputs; None for a data set of the catalogue.
    """

    history: History
    names: tuple[str, ...]
    scores: dict[str, Score]
    simulation: Simulation
    label: str
    sizes: tuple[int, ...]
    n_held_out: dict[str, int]
    regime: Regime
    changed: str = ""
    baseline: "Baseline | None" = None
    table: "Encoded | None" = None

    @property
    def gains(self) -> dict[str, float]:
        """Accuracy on V and T less that of FedAvg; empty if it was not run."""
        if self.baseline is None:
            return {}
        there = self.baseline.scores
        return {name: score.accuracy - there[name].accuracy for name, score in self.scores.items()}

    @property
    def aim(self) -> str | None:
        """Where V and T come from, in a sentence; None if a data set of the catalogue says so."""
        asked = self.simulation
        if asked.target is None:
            return None
        share = HELD_OUT if asked.validation is None else asked.validation
        of = share if isinstance(share, str) else f"{share:.0%} of the rows of {asked.data}"
        return (
            f"V and T are the halves of {of}, class by class, drawn with seed {asked.seed}: "
            f"{self.n_held_out['validation']} and {self.n_held_out['test']} rows."
        )

    def plain(self) -> dict[str, object]:
        """Return all that is known as JSON has it, NaN and infinities being None."""
        found: dict[str, object] = {
            "kind": "federation",
            "version": 1,
            "algorithm": self.label,
            "data": {
                "source": self.simulation.data,
                "fragments": dict(zip(self.names, self.sizes, strict=True)),
                "n_validation": self.n_held_out["validation"],
                "n_test": self.n_held_out["test"],
                "aim": self.aim,
            },
            "settings": asdict(self.simulation),
            "clients": list(self.names),
            "regime": self.regime,
            "changed": self.changed,
            "stopped": self.history.stopped,
            "result": {name: score._asdict() for name, score in self.scores.items()},
            "records": [record.plain() for record in self.history.records],
            "baseline": None if self.baseline is None else self.baseline.plain(),
        }
        return cast("dict[str, object]", _finite(found))


class Baseline(NamedTuple):
    """What FedAvg came to on the same clients, with the same local training.

    Attributes
    ----------
    label
        Its name in tables.
    history, scores
        As of `Simulated`.
    """

    label: str
    history: History
    scores: dict[str, Score]

    def plain(self) -> dict[str, object]:
        """Return scores, rounds and why it stopped as JSON has it."""
        return {
            "algorithm": self.label,
            "stopped": self.history.stopped,
            "result": {name: score._asdict() for name, score in self.scores.items()},
            "records": [record.plain() for record in self.history.records],
        }


class Encoded(NamedTuple):
    """How a table became the inputs of the model.

    Attributes
    ----------
    encoder
        Fitted on the rows of all clients.
    classes
        Names of the classes, in the order of the model's scores.
    tags
        Columns beside inputs and target.
    """

    encoder: Pipeline
    classes: tuple[str, ...]
    tags: tuple[str, ...]


def _finite(value: object) -> object:
    """Return plain values with None for every number that JSON cannot have."""
    if isinstance(value, Mapping):
        return {key: _finite(part) for key, part in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in cast("list[object]", value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value
