"""A simulated federation in words and numbers: what a command line or a table of runs can say."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from firecv.data.arrays import Fragmented
from firecv.data.bands import Kind
from firecv.data.datasets import load
from firecv.data.limits import Limits
from firecv.data.own import read_own
from firecv.data.specification import configured
from firecv.errors import DataError
from firecv.federated.algorithms import ALGORITHMS
from firecv.federated.contract import Algorithm, Client
from firecv.federated.engine import Plan
from firecv.federated.evaluation import Score, score
from firecv.federated.history import History
from firecv.federated.partition import Federation, cut, cut_again, federation
from firecv.federated.run import run
from firecv.federated.uploads import Rule
from firecv.files import working_folder
from firecv.fire.validation import Unlabelled, Validation, as_validation
from firecv.models import Batch, Task, federated_mlp
from firecv.seeding import derive_torch

Seen = Literal["none", "unlabelled", "labelled"]
Engine = Literal["embedded", "flower"]
FRAGMENTS = "dirichlet:n=10,alpha=0.5"
HELD_OUT = 0.2
"""Share of the rows of a file that V and T are made of."""
FLOWER_TIMEOUT = 600.0
"""Seconds that a round on Flower waits for answers."""


@dataclass(frozen=True)
class Simulation:
    """A federation of one data set, and what is to be run on it.

    Attributes
    ----------
    data
        A data set of the catalogue, or the path of a file if `target` is given.
    target
        The column of a file to predict.
    column
        The column of a file, or tag of a data set, that says which client a sample belongs to.
    time, window
        In its place, a column of a file that holds dates or numbers, and the width of the window
        that each client has; see `firecv.data.windows.Windows`.
    validation_data
        The path of a file whose halves are V and T; by default they are the halves of a fifth of
        the rows of `data`.
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
    validation
        What the server sees of V.
    limits
        How large a file may be.
    """

    data: str
    target: str | None = None
    column: str | None = None
    time: str | None = None
    window: float | str | None = None
    validation_data: str | None = None
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
    validation: Seen = "unlabelled"
    limits: Limits = Limits()


class Built(NamedTuple):
    """What a simulation comes down to.

    Attributes
    ----------
    plan, clients
        What `firecv.federated.run` takes.
    names
        Of the clients.
    sets
        V and T to judge by.
    """

    plan: Plan
    clients: tuple[Client, ...]
    names: tuple[str, ...]
    sets: dict[str, Batch]


def build(simulation: Simulation) -> Built:
    """Return plan, clients and sets of a simulation.

    Examples
    --------
    >>> built = build(Simulation("digits", fragments="iid:n=5", algorithm="fedprox"))
    >>> len(built.clients), built.plan.algorithm.label, list(built.sets)
    (5, 'FedProx', ['validation', 'test'])
    """
    algorithm = algorithm_of(
        simulation.algorithm, simulation.settings, n_epochs=simulation.n_epochs
    )
    found = federation(_fragmented(simulation), bands=simulation.bands, seed=simulation.seed)
    holder = _seen(found, simulation.validation)
    clients = tuple(found.clients.values())
    if getattr(algorithm, "validation", None) == "shared":
        clients = tuple(replace(client, validation=holder) for client in clients)
    shape, rng = clients[0].data[0].shape[1:], derive_torch(simulation.seed, "weights")
    plan = Plan(
        algorithm,
        Task(federated_mlp(shape, found.n_classes, rng)),
        holder,
        simulation.seed,
        simulation.participation,
        simulation.min_clients,
        simulation.rule,
    )
    sets = {"validation": found.validation, "test": found.test}
    return Built(plan, clients, tuple(found.clients), sets)


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
    """

    history: History
    names: tuple[str, ...]
    scores: dict[str, Score]
    simulation: Simulation
    label: str
    sizes: tuple[int, ...]
    n_held_out: dict[str, int]

    @property
    def aim(self) -> str | None:
        """Where V and T come from, in a sentence; None if a data set of the catalogue says so."""
        asked = self.simulation
        if asked.target is None:
            return None
        of = asked.validation_data or f"{HELD_OUT:.0%} of the rows of {asked.data}"
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
            "stopped": self.history.stopped,
            "result": {name: score._asdict() for name, score in self.scores.items()},
            "records": [record.plain() for record in self.history.records],
        }
        return cast("dict[str, object]", _finite(found))


def simulate(
    simulation: Simulation,
    *,
    engine: Engine = "embedded",
    checkpoint: str | Path | None = None,
    every: int = 1,
    n_processes: int = 1,
    timeout: float | None = None,
) -> Simulated:
    """Run a simulation.

    Parameters
    ----------
    simulation
        What to run.
    engine
        "embedded" computes clients in this process or in others; "flower" sends the same rounds
        through Flower.
    checkpoint, every, n_processes, timeout
        As for `firecv.federated.run`.

    Examples
    --------
    >>> found = simulate(Simulation("digits", fragments="iid:n=3", n_rounds=3))
    >>> found.names, found.scores["test"].accuracy > 0.5
    (('client 1', 'client 2', 'client 3'), True)
    """
    built = build(simulation)
    if engine == "embedded":
        history = run(
            built.plan,
            built.clients,
            simulation.n_rounds,
            checkpoint=checkpoint,
            evaluate_on=built.sets,
            every=every,
            n_processes=n_processes,
            timeout=timeout,
        )
    else:
        history = _on_flower(built, simulation.n_rounds, checkpoint, every, n_processes, timeout)
    task = built.plan.task
    scores = {name: score(task, history.weights, data) for name, data in built.sets.items()}
    sizes = tuple(len(one) + len(one.test[1] if one.test else ()) for one in built.clients)
    n_held_out = {name: len(data[1]) for name, data in built.sets.items()}
    label = built.plan.algorithm.label
    return Simulated(history, built.names, scores, simulation, label, sizes, n_held_out)


def algorithm_of(
    name: str,
    settings: Sequence[str] = (),
    *,
    n_epochs: int | None = None,
) -> Algorithm:
    """Return an algorithm with its settings, which have the types of its fields.

    Parameters
    ----------
    name
        A key of `ALGORITHMS`.
    settings
        As ``"name=value"``, or ``"name.part=value"`` for one that has settings itself.
    n_epochs
        Shorthand for ``local.n_epochs``.

    Examples
    --------
    >>> algorithm_of("fedprox", ["strength=0.5", "local.rate=0.1"], n_epochs=1).local.rate
    0.1
    >>> algorithm_of("fedprox", ["strengh=0.5"])
    Traceback (most recent call last):
    firecv.errors.DataError: the algorithm 'fedprox' has no setting 'strengh'; did you ...
    """
    registry = {key: _Entry(cast("type[Any]", kind)) for key, kind in ALGORITHMS.items()}
    if n_epochs is not None:
        settings = [f"local.n_epochs={n_epochs}", *settings]
    _, algorithm = configured(name, settings, registry, "algorithm")
    return algorithm


def _on_flower(
    built: Built,
    n_rounds: int,
    checkpoint: str | Path | None,
    every: int,
    n_processes: int,
    timeout: float | None,
) -> History:
    from firecv.federated import flower  # what it needs is not installed everywhere

    with working_folder() as folder:
        job = flower.save(
            folder,
            built.plan,
            built.clients,
            n_rounds,
            model="federated_mlp",
            evaluate_on=built.sets,
            every=every,
            timeout=FLOWER_TIMEOUT if timeout is None else timeout,
            checkpoint=checkpoint,
        )
        return flower.simulate(job, len(built.clients), n_processes=n_processes)


class _Entry(NamedTuple):
    settings: type[Any]


def _fragmented(simulation: Simulation) -> Fragmented:
    """Return the samples of each client, and those of V and T."""
    if simulation.target is None:
        return _from_catalogue(simulation)
    data = read_own(
        simulation.data,
        target=simulation.target,
        fragment=simulation.column,
        time=simulation.time,
        window=simulation.window,
        validation=HELD_OUT if simulation.validation_data is None else simulation.validation_data,
        seed=simulation.seed,
        limits=simulation.limits,
    )
    if simulation.column is not None or simulation.time is not None:
        return data
    (whole,) = data.fragments.values()
    return replace(data, fragments=cut_again(whole, simulation.fragments, simulation.seed))


def _from_catalogue(simulation: Simulation) -> Fragmented:
    name = simulation.data
    if Path(name).suffix and Path(name).exists():
        raise DataError(f"{name!r} is a file; name its column to predict as target as well")
    for option in ("time", "window", "validation_data"):
        if getattr(simulation, option) is not None:
            raise DataError(
                f"{option} is for a file with a target, but {name!r} is to be a data set of the "
                f"catalogue; leave {option} out, or name the column to predict as target"
            )
    by_column = f"column:name={simulation.column}"
    fragments = simulation.fragments if simulation.column is None else by_column
    return cut(load(name), fragments, simulation.seed)


def _seen(found: Federation, validation: Seen) -> Validation:
    if validation == "none":
        return as_validation(None)
    x, y = found.validation
    return as_validation((x, y) if validation == "labelled" else Unlabelled(x))


def _finite(value: object) -> object:
    """Return plain values with None for every number that JSON cannot have."""
    if isinstance(value, Mapping):
        return {key: _finite(part) for key, part in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in cast("list[object]", value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value
