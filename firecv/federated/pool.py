"""Clients that are computed in processes of their own, several at a time.

Model, algorithm and data go to every process once; in a round only what the server sends and what
a client remembers, through memory that both sides see. Results are those of `LocalFleet` bit for
bit, if that runs on one thread.
"""

import copy
import os
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from multiprocessing import connection
from typing import Final, Self

from firecv.errors import DataError
from firecv.federated.bundles import Bundle
from firecv.federated.contract import Algorithm, Client
from firecv.federated.fleet import Answer, Phase, described
from firecv.federated.memories import Memories
from firecv.federated.shared import Block, Layout, Place, SharedClients
from firecv.federated.workers import SLOTS, Job, Worker
from firecv.models import Task
from firecv.tree import Tree

AHEAD: Final = 4
"""Clients per process that may be computed before an earlier one has answered."""


class ProcessFleet:
    """Clients that are computed in several processes.

    A process that dies, or takes longer than `timeout`, costs the client it was at work on and is
    started again. In a script, create a fleet under ``if __name__ == "__main__":``, since
    processes read the script when they start.

    Parameters
    ----------
    algorithm, task, seed, memories
        As for `LocalFleet`.
    clients
        Their data. A list or tuple is put into shared memory once; any other sequence is sent as it
        is and asked for clients by every process, so one that reads from disk keeps memory flat.
    n_processes
        How many; by default one per core.
    timeout
        Seconds a client has to answer; None for as long as it takes.

    Attributes
    ----------
    sizes, tested, memories
        As for `LocalFleet`.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        task: Task,
        clients: Sequence[Client],
        seed: int,
        memories: Mapping[int, Bundle] | None = None,
        *,
        n_processes: int | None = None,
        timeout: float | None = None,
    ) -> None:
        n_processes = (os.cpu_count() or 1) if n_processes is None else n_processes
        if n_processes < 1 or (timeout is not None and not timeout > 0):
            raise DataError(
                f"n_processes is at least 1 and timeout a number of seconds above 0, got "
                f"{n_processes} and {timeout}"
            )
        self.clients, self.memories = clients, Memories(memories)
        self.sizes, self.tested = described(clients)
        self._broadcast = Block()
        self._shared = SharedClients(clients) if isinstance(clients, list | tuple) else None
        sent = clients if self._shared is None else self._shared
        task = copy.deepcopy(task)  # what is handed to a process is moved to memory it can see
        self._workers = [
            Worker(self._broadcast, algorithm, task, sent, seed, timeout)
            for _ in range(min(n_processes, len(self.sizes)))
        ]

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
        """Yield answers in the order of `clients`, each as soon as it is its turn."""
        if phase != "judge":
            self.memories.begin(number)
        for worker in self._workers:
            worker.start()
        letters, waiting = _Letters(self._broadcast), deque(enumerate(clients))
        found: dict[int, Answer] = {}
        try:
            for place in range(len(clients)):
                end = place + AHEAD * len(self._workers)
                while place not in found:
                    while waiting and waiting[0][0] < end and (worker := self._free(waiting)):
                        i, k = waiting.popleft()
                        slot, inbox = worker.free_slot()
                        sent = letters.addressed(inbox, payload(k), self.memories.get(k, {}))
                        worker.hand(i, Job(phase, number, k, slot, *sent))
                    found |= self._collected(phase)
                yield found.pop(place)
        finally:
            for worker in self._workers:
                worker.drop()

    def close(self) -> None:
        """End all processes and give shared memory back."""
        for worker in self._workers:
            worker.end()
        self._broadcast.close()
        if self._shared is not None:
            self._shared.close()

    def __enter__(self) -> Self:
        """Return the fleet."""
        return self

    def __exit__(self, *error: object) -> None:
        """End all processes."""
        self.close()

    def _free(self, waiting: Sequence[tuple[int, int]]) -> Worker | None:
        """Return a process that can be given a client; near the end only one that has none."""
        most = SLOTS if len(waiting) > len(self._workers) else 1
        free = [worker for worker in self._workers if worker.is_ready and worker.n_jobs < most]
        return min(free, key=lambda worker: worker.n_jobs, default=None)

    def _collected(self, phase: Phase) -> dict[int, Answer]:
        """Return answers that have come in, or ran out of time, by their place in the round."""
        busy = {w.pipe: w for w in self._workers if w.n_jobs or not w.is_ready}
        ready = connection.wait(list(busy), min(w.seconds_left for w in busy.values()))
        found: dict[int, Answer] = {}
        for pipe, worker in busy.items():
            if pipe in ready:
                taken = worker.taken()
            elif worker.seconds_left <= 0:
                taken = worker.late()
            else:
                continue
            if taken is not None:
                if taken.memory is not None and phase != "judge":
                    self.memories.put(taken.client, taken.memory)
                found[taken.place] = taken.client, taken.answer
        return found


class _Letters:
    """What is sent in a round; trees that go to all clients are written once."""

    def __init__(self, broadcast: Block) -> None:
        self._broadcast = broadcast
        self._known: dict[int, tuple[Tree, dict[str, Place]]] | None = None

    def addressed(
        self, inbox: Block, sent: Bundle, memory: Bundle
    ) -> tuple[tuple[str, ...], Layout, Layout, Layout]:
        """Return the names sent, what lies where all can read it, and what in an inbox."""
        if self._known is None:  # what the first client gets, most others get as well
            layout, _ = self._broadcast.write(sent)
            self._known = {
                id(part): (part, places)
                for name, part in sent.items()
                if isinstance(part, dict) and isinstance(places := layout[name], dict)
            }
        broadcast: Layout = {}
        rest: Bundle = {}
        for name, part in sent.items():
            if isinstance(part, dict) and id(part) in self._known:
                broadcast[name] = self._known[id(part)][1]
            else:
                rest[name] = part
        own, end = inbox.write(rest)
        remembered, _ = inbox.write(memory, end)
        return tuple(sent), broadcast, own, remembered
