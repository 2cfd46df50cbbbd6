"""All clients of a federation, wherever they run, and those that run in this process.

The server asks clients in two phases: "report" for small answers at the weights it sends out, which
decide how clients are weighed, and "train".
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, Protocol

import torch

from firecv.federated.bundles import Bundle
from firecv.federated.contract import Algorithm, Client
from firecv.federated.weighing import Weighing, weighing_of
from firecv.models import Task
from firecv.seeding import derive_torch

Phase = Literal["report", "train"]


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
                    derive_torch(self.seed, phase, number, k),
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
    if phase == "train":
        return algorithm.client_update(task, server, memory, client, rng)
    weighing: Weighing | None = weighing_of(algorithm)
    assert weighing is not None
    return weighing.client_report(task, server, client, rng), memory
