"""All clients of a federation, wherever they run, and those that run in this process.

The server asks clients to train; where clients are weighed it asks, every few rounds, for a report
on their data as well, taken at the weights it sent out. Both come in one answer.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, Protocol

import torch

from firecv.federated.bundles import Bundle
from firecv.federated.contract import Algorithm, Client
from firecv.federated.weighing import weighing_of
from firecv.models import Task
from firecv.seeding import derive_torch

Phase = Literal["train", "report"]
"""What is asked for: training, or training and a report."""
REPORT = "report/"
"""What the names of a report's entries begin with."""


class Failure(NamedTuple):
    """Why there is no answer of a client."""

    reason: str


Answer = tuple[int, Bundle | Failure]


class Fleet(Protocol):
    """All clients of a federation."""

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
        Their data; may be any sequence, so one that reads from disk keeps memory flat.
    seed
        Of all that clients draw.
    memories
        What clients remember from earlier rounds.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        task: Task,
        clients: Sequence[Client],
        seed: int,
        memories: dict[int, Bundle] | None = None,
    ) -> None:
        self.algorithm, self.task, self.clients, self.seed = algorithm, task, clients, seed
        self.memories = dict(memories or {})
        self.sizes = [len(client) for client in clients]

    def ask(
        self,
        phase: Phase,
        number: int,
        clients: Sequence[int],
        payload: Callable[[int], Bundle],
    ) -> Iterator[Answer]:
        """Yield answers as they are computed; whatever a client raises is its failure."""
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
            if memory:
                self.memories[k] = memory
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
    """Return what a client answers and what it remembers then.

    Parameters
    ----------
    algorithm, task, server, memory, client, rng
        As for `Algorithm.client_update`.
    phase
        What is asked for.
    """
    # The report is drawn by a generator of its own, so that training goes as it would without.
    report: Bundle = {}
    weighing = weighing_of(algorithm)
    if phase == "report" and weighing is not None:
        draws = derive_torch(rng.initial_seed(), "report")
        found = weighing.client_report(task, server, client, draws)
        report = {REPORT + name: part for name, part in found.items()}
    upload, memory = algorithm.client_update(task, server, memory, client, rng)
    return {**upload, **report}, memory


def client_rng(seed: int, number: int, client: int) -> torch.Generator:
    """Return the generator of a client in a round, the same wherever it runs."""
    return derive_torch(seed, "client", number, client)
