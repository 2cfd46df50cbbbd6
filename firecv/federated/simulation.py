"""A simulated federation in words and numbers: what a command line or a table of runs can say."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, cast

from firecv.data.arrays import Fragmented
from firecv.data.datasets import load
from firecv.data.own import read_own
from firecv.data.specification import configured
from firecv.errors import DataError
from firecv.federated.algorithms import ALGORITHMS, FedAvg
from firecv.federated.changes import changes
from firecv.federated.contract import LOCAL, Algorithm, Client
from firecv.federated.engine import Plan
from firecv.federated.evaluation import Score, score
from firecv.federated.history import History
from firecv.federated.partition import Federation, cut, cut_again, federation
from firecv.federated.run import run
from firecv.federated.simulated import (
    HELD_OUT,
    Baseline,
    Encoded,
    Labels,
    Simulated,
    Simulation,
)
from firecv.files import working_folder
from firecv.fire.validation import Unlabelled, Validation, as_validation
from firecv.models import Batch, Task, federated_mlp
from firecv.regimes import Regime
from firecv.seeding import derive_torch
from firecv.training import Training

__all__ = ["Simulated", "Simulation", "algorithm_of", "build", "simulate"]

Engine = Literal["embedded", "flower"]
FLOWER_TIMEOUT: Final = 600.0
"""Seconds that a round on Flower waits for answers."""
BASELINE: Final = "fedavg"
"""The folder in a checkpoint that FedAvg's own is in."""


class Built(NamedTuple):
    """What a simulation comes down to.

    Attributes
    ----------
    plan, clients
        What `firecv.federated.run` takes.
    names
        Of the clients.
    sets
        V and T to score by.
    table
        How a file's table became inputs; None for a data set of the catalogue.
    """

    plan: Plan
    clients: tuple[Client, ...]
    names: tuple[str, ...]
    sets: dict[str, Batch]
    table: Encoded | None = None


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
    holder = _seen(found, simulation.labels)
    clients = tuple(found.clients.values())
    if simulation.labels == "shared" and hasattr(algorithm, "validation"):
        algorithm = cast("Algorithm", replace(cast("Any", algorithm), validation="shared"))
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
    table = found.table if simulation.target is not None else None
    return Built(plan, clients, tuple(found.clients), sets, table)


def simulate(
    simulation: Simulation,
    *,
    engine: Engine = "embedded",
    checkpoint: str | Path | None = None,
    every: int = 1,
    n_processes: int = 1,
    timeout: float | None = None,
    baseline: bool = True,
) -> Simulated:
    """Run a simulation, and FedAvg beside it.

    Parameters
    ----------
    simulation
        What to run.
    engine
        "embedded" computes clients in this process or in others; "flower" sends the same rounds
        through Flower.
    checkpoint, every, n_processes, timeout
        As for `firecv.federated.run`; FedAvg's own checkpoint is a folder in it.
    baseline
        Whether to run FedAvg with the same local training, too, unless it is what was asked for.
        It is computed without Flower.

    Examples
    --------
    >>> found = simulate(Simulation("digits", fragments="iid:n=3", algorithm="fire", n_rounds=3))
    >>> found.names, found.scores["test"].accuracy > 0.5
    (('client 1', 'client 2', 'client 3'), True)
    >>> found.baseline.label, list(found.gains)
    ('FedAvg', ['validation', 'test'])
    """
    built, n_rounds = build(simulation), simulation.n_rounds
    if engine == "embedded":
        history = _embedded(built, n_rounds, checkpoint, every, n_processes, timeout)
    else:
        history = _on_flower(built, n_rounds, checkpoint, every, n_processes, timeout)
    beside = None
    plan, names = built.plan, built.names
    if baseline and not isinstance(plan.algorithm, FedAvg):
        local: Training = getattr(plan.algorithm, "local", LOCAL)
        plain = built._replace(plan=replace(plan, algorithm=FedAvg(local)))
        place = None if checkpoint is None else Path(checkpoint) / BASELINE
        other = _embedded(plain, n_rounds, place, every, n_processes, timeout)
        beside = Baseline(FedAvg.label, other, _scores(built, other))
    return Simulated(
        history,
        names,
        _scores(built, history),
        simulation,
        plan.algorithm.label,
        tuple(len(one) + len(one.test[1] if one.test else ()) for one in built.clients),
        {name: len(data[1]) for name, data in built.sets.items()},
        _regime(plan),
        changes(plan.algorithm, plan.holder, history, names),
        beside,
        built.table,
    )


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


def _embedded(
    built: Built,
    n_rounds: int,
    checkpoint: str | Path | None,
    every: int,
    n_processes: int,
    timeout: float | None,
) -> History:
    return run(
        built.plan,
        built.clients,
        n_rounds,
        checkpoint=checkpoint,
        evaluate_on=built.sets,
        every=every,
        n_processes=n_processes,
        timeout=timeout,
    )


def _scores(built: Built, history: History) -> dict[str, Score]:
    task = built.plan.task
    return {name: score(task, history.weights, data) for name, data in built.sets.items()}


def _regime(plan: Plan) -> Regime:
    """Return what an algorithm sees of V; one that does not say so sees nothing."""
    sees = getattr(plan.algorithm, "sees", None)
    return "none" if sees is None else sees(plan.holder)


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
        fragment=simulation.fragment,
        time=simulation.time,
        window=simulation.window,
        validation=HELD_OUT if simulation.validation is None else simulation.validation,
        categorical=simulation.categorical,
        drop=simulation.drop,
        seed=simulation.seed,
        limits=simulation.limits,
    )
    if simulation.fragment is not None or simulation.time is not None:
        return data
    (whole,) = data.fragments.values()
    return replace(data, fragments=cut_again(whole, simulation.fragments, simulation.seed))


def _from_catalogue(simulation: Simulation) -> Fragmented:
    name = simulation.data
    if Path(name).suffix and Path(name).exists():
        raise DataError(f"{name!r} is a file; name its column to predict as target as well")
    for option in ("time", "window", "validation", "drop", "categorical"):
        if getattr(simulation, option) not in (None, ()):
            raise DataError(
                f"{option} is for a file with a target, but {name!r} is to be a data set of the "
                f"catalogue; leave {option} out, or name the column to predict as target"
            )
    by_column = f"column:name={simulation.fragment}"
    fragments = simulation.fragments if simulation.fragment is None else by_column
    return cut(load(name), fragments, simulation.seed)


def _seen(found: Federation, labels: Labels) -> Validation:
    return as_validation(Unlabelled(found.validation[0]) if labels == "none" else found.validation)
