"""A federated run from the first round to the last: evaluated, saved, resumed, stopped in time."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from firecv.errors import DataError, FederatedError
from firecv.federated.bundles import Bundle
from firecv.federated.checkpoint import Checkpoint
from firecv.federated.contract import Client
from firecv.federated.engine import Plan, State, one_round, sent_to, start
from firecv.federated.evaluation import check_sets, for_judging, judged, plausible, score
from firecv.federated.fleet import Failure, Fleet, LocalFleet
from firecv.federated.history import History, Record, RunStopped, Scores, record_of
from firecv.federated.identity import identity
from firecv.federated.memories import Memories
from firecv.federated.pool import ProcessFleet
from firecv.federated.progress import rounds_shown
from firecv.federated.schedule import for_run
from firecv.federated.stopping import STOP, Stop, Watch
from firecv.models import Batch


def run(
    plan: Plan,
    clients: Sequence[Client] | Fleet,
    n_rounds: int,
    *,
    checkpoint: str | Path | None = None,
    evaluate_on: Mapping[str, Batch] | None = None,
    every: int = 1,
    n_processes: int = 1,
    timeout: float | None = None,
    stop: Stop = STOP,
    progress: bool = True,
) -> History:
    """Return what a federated run has learned and what happened in its rounds.

    Whatever interrupts a run with a checkpoint, calling it again goes on from the last whole round
    and gives what the run would have given, bit for bit; with `Private`, whose noise is never drawn
    twice, it gives another result of the same distribution. A run that diverges ends early, with
    the last state that was good.

    Parameters
    ----------
    plan
        What to run.
    clients
        The clients, or a fleet of them.
    n_rounds
        Number of the last round.
    checkpoint
        Folder that every round is saved to, and that the run goes on from if it holds one; a
        second run on it, while one is under way, raises `firecv.errors.InUseError`.
    evaluate_on
        Labelled sets by name that the weights are judged on; the algorithm does not see them.
        Clients that have a test set are judged on it as well.
    every
        Rounds from one evaluation to the next; the last is evaluated in any case.
    n_processes
        Processes that clients are computed in; see `ProcessFleet`.
    timeout
        Seconds a client has to answer, after which the round does without it; clients then have
        processes of their own.
    stop
        When to end early.
    progress
        Whether to show a bar on a terminal.

    Raises
    ------
    RunStopped
        If too many void rounds follow each other; its `history` has what was learned.

    Examples
    --------
    >>> import torch
    >>> from firecv.federated.algorithms import FedAvg
    >>> from firecv.models import Task
    >>> x = torch.eye(4).repeat(20, 1)
    >>> left, right = Client((x[:, :], x.argmax(1))), Client((x[:8], x[:8].argmax(1)))
    >>> plan = Plan(FedAvg(), Task(torch.nn.Linear(4, 4)))
    >>> history = run(plan, [left, right], 20, evaluate_on={"test": left.data})
    >>> list(history.table()["round"])[-1], history.records[-1].scores["test_accuracy"]
    (20, 1.0)
    """
    sets = dict(evaluate_on or {})
    check_sets(sets)
    if n_rounds < 1 or every < 1:
        raise DataError(f"n_rounds and every are at least 1, got {n_rounds} and {every}")
    if not isinstance(clients, Fleet):  # a fleet has been told by whoever made it
        plan = replace(plan, algorithm=for_run(plan.algorithm, n_rounds))
    with (
        _fleet(plan, clients, n_processes, timeout) as fleet,
        _store(checkpoint, plan, fleet) as store,
    ):
        judge = _Judge(plan, fleet, sets)
        state, records = _begun(plan, fleet, store, judge)
        good, watch = state, Watch(stop, records[0])
        with rounds_shown(n_rounds, state.round, progress) as show:
            while state.round < n_rounds:
                try:
                    done = one_round(plan, fleet, state)
                except FederatedError as error:
                    return _history(plan, good, records, str(error))
                record = record_of(done, plan.min_clients)
                is_judged = done.state.round % every == 0 or done.state.round == n_rounds
                if is_judged:
                    record = judge(record, done.state)
                if why := watch.divergence(record, good.round):
                    return _history(plan, good, records, why)
                state = done.state
                good = state if is_judged or not judge.has_data else good
                records.append(record)
                if store is not None:
                    store.save(state, _memories(fleet), record)
                show(record)
                if why := watch.silence(records):
                    raise RunStopped(why, _history(plan, state, records, why))
    return _history(plan, state, records, None)


@contextmanager
def _fleet(
    plan: Plan, clients: Sequence[Client] | Fleet, n_processes: int, timeout: float | None
) -> Generator[Fleet]:
    """Give a fleet; one that is made here is closed afterwards."""
    in_processes = n_processes != 1 or timeout is not None
    if isinstance(clients, Fleet):
        if in_processes:
            raise DataError(
                "n_processes and timeout are for clients given as a sequence; a fleet has its own"
            )
        yield clients
    elif not len(clients):
        raise DataError("there are no clients; give at least one")
    elif in_processes:
        with ProcessFleet(
            plan.algorithm,
            plan.task,
            clients,
            plan.seed,
            n_processes=n_processes,
            timeout=timeout,
        ) as fleet:
            yield fleet
    else:
        yield LocalFleet(plan.algorithm, plan.task, clients, plan.seed)


@contextmanager
def _store(checkpoint: str | Path | None, plan: Plan, fleet: Fleet) -> Generator[Checkpoint | None]:
    """Give the checkpoint, if there is to be one, with no other process using it."""
    if checkpoint is None:
        yield None
        return
    with Checkpoint(checkpoint, identity(plan, fleet)).held() as store:
        yield store


def _begun(
    plan: Plan, fleet: Fleet, store: Checkpoint | None, judge: "_Judge"
) -> tuple[State, list[Record]]:
    """Return where to go on, and the records up to there."""
    saved = None if store is None else store.load()
    memories = getattr(fleet, "memories", None)
    if saved is not None:
        if isinstance(memories, Memories):
            memories.restore(saved.memories)
        return saved.state, saved.records
    state = start(plan, fleet)
    record = judge(Record(0, weights=state.weights), state)
    if store is not None:
        store.save(state, _memories(fleet), record)
    return state, [record]


def _memories(fleet: Fleet) -> Mapping[int, Bundle]:
    found = getattr(fleet, "memories", None)
    return found if isinstance(found, Memories) else {}


def _history(plan: Plan, state: State, records: list[Record], stopped: str | None) -> History:
    return History(state, judged(plan.algorithm, state.server), tuple(records), stopped)


class _Judge:
    """Adds to a record how good the server's weights are."""

    def __init__(self, plan: Plan, fleet: Fleet, sets: Mapping[str, Batch]) -> None:
        self.plan, self.fleet, self.sets = plan, fleet, sets
        self.tested: Sequence[int] = getattr(fleet, "tested", ())

    @property
    def has_data(self) -> bool:
        return bool(self.sets) or bool(self.tested)

    def __call__(self, record: Record, state: State) -> Record:
        scores: dict[str, float] = {}
        weights = judged(self.plan.algorithm, state.server)
        for name, data in self.sets.items():
            found = score(self.plan.task, weights, data)
            scores |= {f"{name}_accuracy": found.accuracy, f"{name}_loss": found.loss}
        return replace(record, scores=scores, client_scores=dict(self._client_scores(state)))

    def _client_scores(self, state: State) -> Generator[tuple[int, Scores]]:
        algorithm, server = self.plan.algorithm, state.server

        def payload(client: int) -> Bundle:
            return for_judging(algorithm, server, sent_to(algorithm, server, client))

        if not self.tested:
            return
        for client, answer in self.fleet.ask("judge", state.round, self.tested, payload):
            if not isinstance(answer, Failure):
                yield client, plausible(answer)
