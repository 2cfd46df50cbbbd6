"""The client half: a ClientApp that answers what a server asks.

A site's policy is part of the SuperNode's configuration, which the server has no part in: the keys
``policy.lowest-noise``, ``policy.largest-clip`` and ``policy.algorithms`` (names with commas
between them) are the fields of a `SitePolicy`, and a request for anything weaker is answered by an
error before data are read. What `load_client` returns may have a policy too; both count.

What it remembers lives in Flower's context, which lasts as long as a Flower run; a client that is
to remember across Flower runs, so that a run can be resumed, has a folder of its own for it, named
as ``memory-folder`` in the SuperNode's configuration.
"""

import json
import math
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, cast

from flwr.app import (
    ConfigRecord,
    Context,
    Error,
    Message,
    MetricRecord,
    MetricRecordValues,
    RecordDict,
)
from flwr.clientapp import ClientApp
from flwr.common.constant import ErrorCode

from firecv.errors import DataError
from firecv.federated.algorithms import ALGORITHMS
from firecv.federated.contract import SitePolicy
from firecv.federated.fleet import TRAINING, answered, client_rng
from firecv.federated.flower.description import to_algorithm
from firecv.federated.flower.job import Job, Value, to_job
from firecv.federated.flower.memory import Memory, read, to_bytes, to_memory, write
from firecv.federated.flower.problem import Problem, load_problem
from firecv.federated.flower.records import (
    CLIENT,
    REMEMBERS,
    Request,
    request_of,
    to_bundle,
    to_records,
)
from firecv.federated.policy import check_policy
from firecv.models import Task

MEMORY: Final = "memory"
POLICY: Final = ("policy.lowest-noise", "policy.largest-clip", "policy.algorithms")
"""Keys of a SuperNode's configuration; others that begin in this way are refused."""
Handler = Callable[[Message, Context], Message]


def client_app(problem: Problem | None = None) -> ClientApp:
    """Return the ClientApp of a problem.

    Parameters
    ----------
    problem
        Model and data, such as a module of the app's own; by default the module that the run
        configuration names.

    Examples
    --------
    >>> type(client_app()).__name__
    'ClientApp'
    """
    app = ClientApp()
    app.query()(_answering(partial(_describe, problem)))
    app.train()(_answering(partial(_train, problem)))
    return app


def _describe(given: Problem | None, message: Message, context: Context) -> Message:
    """Return which client this is and how many samples it has."""
    job = to_job(context.run_config)
    partition, n_partitions = _place(context)
    site_policy(
        context.node_config
    )  # one that cannot be read is better found before the first round
    client = _problem(given, job).load_client(partition, n_partitions, job.settings)
    found: dict[str, MetricRecordValues] = {
        "partition": partition,
        "n-partitions": n_partitions,
        "n-samples": len(client),
        "is-tested": int(client.test is not None),
    }
    return Message(RecordDict({CLIENT: MetricRecord(found)}), reply_to=message)


def _train(given: Problem | None, message: Message, context: Context) -> Message:
    """Return the answer to a request, and remember what is to be remembered."""
    job, request = to_job(context.run_config), request_of(message.content)
    partition, n_partitions = _place(context)
    if request.client != partition:
        raise DataError(f"asked as client {request.client}, but this is client {partition}")
    algorithm = to_algorithm(request.algorithm)
    check_policy(site_policy(context.node_config), algorithm)
    problem, memory = _problem(given, job), _recall(context, request)
    upload, after = answered(
        algorithm,
        _task(problem, json.dumps(dict(job.settings))),
        request.phase,
        to_bundle(message.content),
        memory.since(request.counted),
        problem.load_client(partition, n_partitions, job.settings),
        client_rng(request.seed, request.number, partition),
    )
    records = to_records(upload)
    if request.phase in TRAINING:
        memory = memory.then(request.number, request.counted, after)
        remembers = bool(memory.before or memory.after)
        if remembers:
            _remember(context, request, memory)
        records[CLIENT] = MetricRecord({REMEMBERS: int(remembers)})
    return Message(records, reply_to=message)


def site_policy(node_config: Mapping[str, Value]) -> SitePolicy:
    """Return the policy in a SuperNode's configuration.

    Parameters
    ----------
    node_config
        As ``--node-config`` sets it, or a TOML file with a table ``policy``.

    Examples
    --------
    >>> site_policy({"policy.lowest-noise": 2, "policy.algorithms": "fedavg, fedprox"})
    SitePolicy(lowest_noise=2.0, largest_clip=inf, algorithms=('fedavg', 'fedprox'))
    >>> site_policy({"policy.noise": 2})
    Traceback (most recent call last):
    firecv.errors.DataError: this node has a policy with 'policy.noise'; expected ...
    """
    given = {key: value for key, value in node_config.items() if key.startswith("policy")}
    if unknown := sorted(given.keys() - set(POLICY)):
        raise DataError(
            f"this node has a policy with {', '.join(map(repr, unknown))}; expected "
            f"{', '.join(POLICY)}"
        )
    noise, clip, algorithms = (given.get(key) for key in POLICY)
    return SitePolicy(
        0.0 if noise is None else _limit(noise),
        math.inf if clip is None else _limit(clip),
        None if algorithms is None else _allowed(str(algorithms)),
    )


def _limit(value: Value) -> float:
    if isinstance(value, bool | str):
        raise DataError(f"a limit of this node's policy is {value!r}; expected a number")
    return float(value)


def _allowed(text: str) -> tuple[str, ...]:
    names, known = tuple(map(str.strip, text.split(","))), (*ALGORITHMS, "weighed")
    if unknown := [name for name in names if name not in known]:
        raise DataError(
            f"this node's policy allows {', '.join(map(repr, unknown))}; expected some of "
            f"{', '.join(known)}"
        )
    return names


def _answering(handler: Handler) -> Handler:
    """Return a handler that answers an exception by its message, without the traceback."""

    def answer(message: Message, context: Context) -> Message:
        try:
            return handler(message, context)
        except Exception as error:
            code = ErrorCode.CLIENT_APP_RAISED_EXCEPTION
            return Message(Error(code, f"{type(error).__name__}: {error}"), reply_to=message)

    return answer


def _problem(given: Problem | None, job: Job) -> Problem:
    return load_problem(job.problem) if given is None else given


def _place(context: Context) -> tuple[int, int]:
    """Return which client this node is, and of how many."""
    found = [context.node_config.get(key) for key in ("partition-id", "num-partitions")]
    partition, n_partitions = (n if isinstance(n, int) else -1 for n in found)
    if not 0 <= partition < n_partitions:
        raise DataError(
            f"this node has partition-id {found[0]!r} and num-partitions {found[1]!r}; start the "
            f"SuperNode with --node-config 'partition-id=K num-partitions=N', K from 0 to N - 1"
        )
    return partition, n_partitions


@lru_cache(maxsize=1)
def _task(problem: Problem, settings: str) -> Task:
    """Return the model, built once in a process that answers several messages."""
    return problem.load_task(json.loads(settings))


def _file(context: Context, request: Request) -> Path | None:
    """Return the file that this client remembers in; None if Flower's context does."""
    root = context.node_config.get("memory-folder") or to_job(context.run_config).memory_folder
    if not root:
        return None
    return Path(str(root)) / f"session-{request.session}" / f"client-{request.client}"


def _recall(context: Context, request: Request) -> Memory:
    """Return what this client remembers of this session."""
    file = _file(context, request)
    if file is not None:
        return read(file)
    kept = context.state.config_records.get(MEMORY)
    if kept is None or kept["session"] != request.session:
        return Memory()
    return to_memory(cast("bytes", kept["memory"]))


def _remember(context: Context, request: Request, memory: Memory) -> None:
    file = _file(context, request)
    if file is not None:
        write(file, memory)
        return
    context.state[MEMORY] = ConfigRecord({"session": request.session, "memory": to_bytes(memory)})
