"""What a run on Flower consists of, written as Flower's run configuration: names, numbers, JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import cast, get_args

from firecv.errors import DataError
from firecv.federated.contract import Algorithm
from firecv.federated.engine import Plan
from firecv.federated.flower.description import Json, to_algorithm, to_settings, to_text
from firecv.federated.flower.problem import Problem, Settings
from firecv.federated.screening import Screen
from firecv.federated.uploads import Rule

Value = bool | int | float | str
TIMEOUT = 600.0


@dataclass(frozen=True)
class Job:
    """A federated run.

    Attributes
    ----------
    algorithm
        What clients and server do.
    n_rounds
        Number of the last round.
    problem
        Dotted name of the module with model and data; see `Problem`.
    settings
        Given to the functions of that module.
    seed, participation, min_clients, rule, screen
        As for `firecv.federated.Plan`.
    every
        Rounds from one evaluation to the next.
    timeout
        Seconds to wait for clients: at first for all to be there, then for the answers of a round.
    checkpoint
        Folder on the server's machine for what is known after every round; a run that finds one
        goes on from there. None for no such folder.
    memory_folder
        Folder for what clients remember, where all run on one machine; otherwise every node is
        started with one of its own. None lets them remember as long as a Flower run lasts.
    nodes
        File on the server's machine with the table of nodes; see
        `firecv.federated.flower.node_table`. A deployment needs it, a simulation does not.
    trust_nodes
        Whether a deployment without a table believes every node which client it is and how many
        samples it has: for trials with one's own processes on one machine.

    Examples
    --------
    >>> from firecv.federated.algorithms import FedAvg
    >>> job = Job(FedAvg(), 3, "my_data", {"site": "north"})
    >>> config = to_config(job)
    >>> config["n-rounds"], config["settings"], to_job(config) == job
    (3, '{"site": "north"}', True)
    """

    algorithm: Algorithm
    n_rounds: int
    problem: str
    settings: Settings = field(default_factory=dict[str, Json])
    seed: int = 0
    participation: float = 1.0
    min_clients: int = 1
    rule: Rule = "mean"
    screen: Screen = Screen()
    every: int = 1
    timeout: float = TIMEOUT
    checkpoint: str | None = None
    memory_folder: str | None = None
    nodes: str | None = None
    trust_nodes: bool = False

    def __post_init__(self) -> None:
        """Check the numbers that `Plan` does not check."""
        if self.n_rounds < 1 or not self.timeout > 0:
            raise DataError(
                f"n_rounds is a whole number from 1 on and timeout a number above 0, got "
                f"{self.n_rounds} and {self.timeout}"
            )
        if self.rule not in get_args(Rule):
            raise DataError(f"rule is {self.rule!r}; expected one of {', '.join(get_args(Rule))}")


def to_config(job: Job) -> dict[str, Value]:
    """Return a job as Flower's run configuration."""
    plain: dict[str, Value] = {
        key.replace("_", "-"): getattr(job, key)
        for key in ("n_rounds", "problem", "seed", "participation", "min_clients", "rule", "every")
    }
    return {
        **plain,
        "algorithm": to_text(job.algorithm),
        "settings": json.dumps(dict(job.settings)),
        "screen": to_text(job.screen),
        "timeout": float(job.timeout),
        "checkpoint": job.checkpoint or "",
        "memory-folder": job.memory_folder or "",
        "nodes": job.nodes or "",
        "trust-nodes": job.trust_nodes,
    }


def to_job(config: Mapping[str, Value]) -> Job:
    """Return the job of a run configuration; keys that are not there keep their defaults."""
    known = {each.name.replace("_", "-"): each.name for each in fields(Job)}
    if lacking := [key for key in ("algorithm", "n-rounds", "problem") if key not in config]:
        raise DataError(
            f"the run configuration lacks {', '.join(lacking)}; add it under [tool.flwr.app.config]"
        )
    values: dict[str, object] = {known[key]: value for key, value in config.items() if key in known}
    values["algorithm"] = to_algorithm(str(config["algorithm"]))
    values["settings"] = _settings(str(config.get("settings", "")))
    if "screen" in config:
        values["screen"] = to_settings(str(config["screen"]), Screen)
    values["checkpoint"] = config.get("checkpoint") or None
    values["memory_folder"] = config.get("memory-folder") or None
    values["nodes"] = config.get("nodes") or None
    values["trust_nodes"] = config.get("trust-nodes") is True  # not by a word such as "no"
    for key in ("participation", "timeout"):  # Flower reads 1.0 as a whole number in some places
        if key in values:
            values[key] = float(cast("float", values[key]))
    return Job(**values)  # pyright: ignore[reportArgumentType]


def plan_of(job: Job, problem: Problem) -> Plan:
    """Return the plan of a job, on the server."""
    return Plan(
        job.algorithm,
        problem.load_task(job.settings),
        problem.load_validation(job.settings),
        job.seed,
        job.participation,
        job.min_clients,
        job.rule,
        job.screen,
    )


def _settings(text: str) -> Settings:
    try:
        found = json.loads(text or "{}")
    except json.JSONDecodeError as error:
        raise DataError(f"settings are JSON, got {text!r} ({error})") from error
    if not isinstance(found, dict):
        raise DataError(f"settings are a JSON object, got {text!r}")
    return cast("Settings", found)
