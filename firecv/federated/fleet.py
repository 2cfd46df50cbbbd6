"""All clients of a federation, wherever they run, and those that run in this process.

The server asks clients to train; where clients are weighed it asks, every few rounds, for a report
on their data as well, taken at the weights it sent out. Both come in one answer. Between rounds it
may ask those who have data to be judged on how good its weights are.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import torch

from firecv.federated.bundles import Bundle
from firecv.federated.contract import Algorithm, Client
from firecv.federated.evaluation import client_scores
from firecv.federated.memories import Memories
from firecv.federated.policy import check_policy
from firecv.federated.weighing import weighing_of
from firecv.models import Task
from firecv.seeding import derive_torch

Phase = Literal["train", "report", "judge"]
"""What is asked for: training, training and a report, or how good the weights are."""
TRAINING: tuple[Phase, ...] = ("train", "report")
"""After which a client remembers something else."""
REPORT = "report/"
"""What the names of a report's entries begin with."""


class Failure(NamedTuple):
    """Why there is no answer of a client."""

    reason: str


Answer = tuple[int, Bundle | Failure]


@runtime_checkable
class Fleet(Protocol):
    """All clients of a federation.

    A fleet may also have ``settle(heard)``, called at the end of a round with the clients whose
    answers count; ``tested``, the clients that can be asked to judge; and ``memories``, a
    `Memories`, if what clients remember is kept with the server and belongs into a checkpoint.
    """

    @property
    def sizes(self) -> Sequence[int]:
        """The number of training samples of each client."""
        ...

    def ask(
        self,
        phase: Phase,
        number: int,
        clients: Sequence[int],
        payload: Callable[[int], Bundle],
    ) -> Iterator[Answer]:
        """Yield the answer of each client asked, or why there is none, in the order of `clients`.

        Parameters
        ----------
        phase
            What is asked for.
        number
            Number of the round, from 1.
        clients
            Which clients.
        payload
            What the server sends to a client.
        """
        ...


class LocalFleet:
    """Clients that are computed one after the other in this process.

    Parameters
    ----------
    algorithm
        What clients do.
    task
        The model.
    clients
        Their data; may be any sequence, so one that reads from disk keeps memory flat. If it has
        ``sizes`` and ``tested``, clients are not looked at before they are asked.
    seed
        Of all that clients draw.
    memories
        What clients remember from earlier rounds.

    Attributes
    ----------
    sizes
        The number of training samples of each client.
    tested
        The clients that have data to be judged on.
    memories
        What clients remember, by number.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        task: Task,
        clients: Sequence[Client],
        seed: int,
        memories: Mapping[int, Bundle] | None = None,
    ) -> None:
        self.algorithm, self.task, self.clients, self.seed = algorithm, task, clients, seed
        self.sizes, self.tested = described(clients)
        self.memories = Memories(memories)

    def settle(self, heard: Collection[int]) -> None:
        """End a round: all clients but those heard remember what they did before it."""
        self.memories.settle(heard)

    def ask(
        self,
        phase: Phase,
        number: int,
        clients: Sequence[int],
        payload: Callable[[int], Bundle],
    ) -> Iterator[Answer]:
        """Yield answers as they are computed; whatever a client raises is its failure."""
        if phase != "judge":
            self.memories.begin(number)
        for k in clients:
            try:
                answer, memory = answered(
                    self.algorithm,
                    self.task,
                    phase,
                    payload(k),
                    self.memories.get(k, {}),
                    self.clients[k],
                    client_rng(self.seed, number, k),
                )
            except Exception as error:
                yield k, Failure(f"{type(error).__name__}: {error}")
                continue
            if phase != "judge":
                self.memories.put(k, memory)
            yield k, answer


def answered(
    algorithm: Algorithm,
    task: Task,
    phase: Phase,
    server: Bundle,
    memory: Bundle,
    client: Client,
    rng: torch.Generator,
) -> tuple[Bundle, Bundle]:
    """Return what a client answers and what it remembers then, if its policy allows it.

    Parameters
    ----------
    algorithm, task, server, memory, client, rng
        As for `Algorithm.client_update`.
    phase
        What is asked for.
    """
    check_policy(client.policy, algorithm)
    if phase == "judge":
        return client_scores(algorithm, task, server, memory, client, rng), memory
    # The report is drawn by a generator of its own, so that training goes as it would without.
    report: Bundle = {}
    weighing = weighing_of(algorithm)
    if phase == "report" and weighing is not None:
        draws = derive_torch(rng.initial_seed(), "report")
        found = weighing.client_report(task, server, client, draws)
        report = {REPORT + name: part for name, part in found.items()}
    upload, memory = algorithm.client_update(task, server, memory, client, rng)
    return {**upload, **report}, memory


def parted(answer: Bundle) -> tuple[Bundle, Bundle]:
    """Return the report in a client's answer, under its own names, and the upload.

    Examples
    --------
    >>> parted({"loss": 0.5, "report/size": 10.0})
    ({'size': 10.0}, {'loss': 0.5})
    """
    is_report = {name: name.startswith(REPORT) for name in answer}
    return (
        {name.removeprefix(REPORT): answer[name] for name in answer if is_report[name]},
        {name: answer[name] for name in answer if not is_report[name]},
    )


def client_rng(seed: int, number: int, client: int) -> torch.Generator:
    """Return the generator of a client in a round, the same wherever it runs."""
    return derive_torch(seed, "client", number, client)


def described(clients: Sequence[Client]) -> tuple[list[int], list[int]]:
    """Return the size of each client, and which of them have data to be judged on.

    Parameters
    ----------
    clients
        Looked at one after the other, unless the sequence has ``sizes`` and ``tested``.
    """
    sizes: Sequence[int] | None = getattr(clients, "sizes", None)
    if sizes is not None:
        return list(sizes), list(getattr(clients, "tested", ()))
    found = [(len(client), client.test is not None) for client in clients]
    return [n for n, _ in found], [k for k, (_, is_tested) in enumerate(found) if is_tested]
