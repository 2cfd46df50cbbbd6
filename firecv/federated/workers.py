"""A process that answers for clients, seen from both sides."""

import copy
import math
import signal
import time
from collections import deque
from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Final, NamedTuple

import torch

from firecv.errors import FederatedError
from firecv.federated.bundles import Bundle
from firecv.federated.contract import Algorithm, Client
from firecv.federated.fleet import Failure, Phase, answered, client_rng
from firecv.federated.shared import Block, Layout
from firecv.models import Task

SLOTS: Final = 2
"""Clients a process may have: one it is at work on, and the next, so that it need not wait."""
PATIENCE: Final = 5.0
"""Seconds that a process is given to end by itself."""
TRIES: Final = 3
"""How often a process that is killed before it is ready is started again."""
LONGEST: Final = 3600.0
"""Seconds after which a wait looks around, where there is no time limit."""


class Job(NamedTuple):
    """What a client is asked.

    Attributes
    ----------
    phase, number, client
        As for `Fleet.ask`.
    slot
        Which of its boxes the process reads from and answers to.
    names
        Of the entries sent, in their order.
    broadcast, own
        Where those lie that go to all clients, and those in the process's inbox.
    memory
        Where in the inbox it lies what the client remembers.
    """

    phase: Phase
    number: int
    client: int
    slot: int
    names: tuple[str, ...]
    broadcast: Layout
    own: Layout
    memory: Layout


class Done(NamedTuple):
    """Where an answer lies in the outbox, or why there is none; no memory if it is as it was."""

    answer: Layout | str
    memory: Layout | None = None


class Taken(NamedTuple):
    """An answer, and the place of its client among those asked."""

    place: int
    client: int
    answer: Bundle | Failure
    memory: Bundle | None = None


class Worker:
    """A process, and the clients it has to answer for.

    Parameters
    ----------
    broadcast, algorithm, task, clients, seed
        What the process gets when it starts.
    timeout
        Seconds it has for a client; None for as long as it takes.
    """

    def __init__(
        self,
        broadcast: Block,
        algorithm: Algorithm,
        task: Task,
        clients: Sequence[Client],
        seed: int,
        timeout: float | None,
    ) -> None:
        self._inboxes = tuple(Block() for _ in range(SLOTS))
        self._outboxes = tuple(Block() for _ in range(SLOTS))
        self._given = (self._inboxes, self._outboxes, broadcast, algorithm, task, clients, seed)
        self._timeout, self._deadline = math.inf if timeout is None else timeout, math.inf
        self._is_started = self._is_ready = False
        self._n_killed = 0
        self._jobs: deque[tuple[int, Job]] = deque()

    @property
    def n_jobs(self) -> int:
        """How many clients it has."""
        return len(self._jobs)

    @property
    def is_ready(self) -> bool:
        """Whether the process is there and waits for what comes."""
        return self._is_ready

    @property
    def seconds_left(self) -> float:
        """How long there is to wait for an answer."""
        return min(max(self._deadline - time.monotonic(), 0.0), LONGEST)

    def start(self) -> None:
        """Start the process if there is none, or it has died with nothing to do."""
        if self._is_started and not self._jobs and not self._process.is_alive():
            self._kill()
        if self._is_started:
            return
        context = get_context("spawn")
        self.pipe, far = context.Pipe()
        self._process = context.Process(target=_work, args=(far, *self._given), daemon=True)
        self._process.start()
        far.close()
        self._is_started = True

    def free_slot(self) -> tuple[int, Block]:
        """Return a slot without a client, and its inbox."""
        taken = {job.slot for _, job in self._jobs}
        slot = next(slot for slot in range(SLOTS) if slot not in taken)
        return slot, self._inboxes[slot]

    def hand(self, place: int, job: Job) -> None:
        """Give the process a client, by its place among those asked."""
        self._jobs.append((place, job))
        self._send(job)
        if len(self._jobs) == 1:
            self._wait_anew()

    def taken(self) -> Taken | None:
        """Return what has come through the pipe; None for the word that the process is ready."""
        try:
            done: Done | None = self.pipe.recv()
        except (EOFError, OSError):
            return self._died()
        if done is None:
            self._is_ready, self._n_killed = True, 0
            for _, job in self._jobs:  # those whose process died before it came to them
                self._send(job)
            self._wait_anew()
            return None
        place, job = self._jobs.popleft()
        self._wait_anew()
        if isinstance(done.answer, str):
            return Taken(place, job.client, Failure(done.answer))
        box = self._outboxes[job.slot]
        memory = None if done.memory is None else box.read(done.memory)
        return Taken(place, job.client, box.read(done.answer), memory)

    def late(self) -> Taken:
        """Return that the client at work on has run out of time."""
        return self._lost(f"no answer within {self._timeout:g} s")

    def drop(self) -> None:
        """Forget all clients."""
        if self._jobs:
            self._jobs.clear()
            if self._is_started:
                self._kill()

    def end(self) -> None:
        """End the process and give shared memory back."""
        if self._is_started:
            if self._is_ready and not self._jobs:
                self._send(None)
                self._process.join(PATIENCE)
            self._kill()
        self._jobs.clear()
        for box in (*self._inboxes, *self._outboxes):
            box.close()

    def _died(self) -> Taken | None:
        self._process.join(PATIENCE)
        code = self._process.exitcode
        if self._is_ready and self._jobs:
            return self._lost(f"its process died with code {code}")
        if code is not None and code < 0 and self._n_killed < TRIES:
            self._n_killed += 1
            self._kill()
            self.start()
            return None
        raise FederatedError(
            f"a process for clients ended with code {code} before it was ready; what it printed "
            f"says why. A script has to call run(), or create a ProcessFleet, under: "
            f"if __name__ == '__main__':"
        )

    def _lost(self, why: str) -> Taken:
        """Return a failure of the client at work on, and start the process again for the next."""
        place, job = self._jobs.popleft()
        self._kill()
        self.start()
        return Taken(place, job.client, Failure(why))

    def _send(self, job: Job | None) -> None:
        try:
            self.pipe.send(job)
        except OSError:  # it has just died, which shows when the pipe is read
            pass

    def _wait_anew(self) -> None:
        self._deadline = time.monotonic() + self._timeout if self._jobs else math.inf

    def _kill(self) -> None:
        self._process.kill()
        self._process.join()
        self._process.close()
        self.pipe.close()
        self._is_started = self._is_ready = False
        self._deadline = math.inf


def _work(
    pipe: Connection,
    inboxes: Sequence[Block],
    outboxes: Sequence[Block],
    broadcast: Block,
    algorithm: Algorithm,
    task: Task,
    clients: Sequence[Client],
    seed: int,
) -> None:
    """Answer for clients until there is nothing more to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides what an interruption means
    torch.set_num_threads(1)
    task = copy.deepcopy(task)  # what comes with a starting process is memory that others see
    pipe.send(None)
    while True:
        try:
            job: Job | None = pipe.recv()
        except (EOFError, OSError):  # the server is gone
            return
        if job is None:
            return
        inbox, outbox = inboxes[job.slot], outboxes[job.slot]
        try:
            parts = broadcast.read(job.broadcast, copy=False) | inbox.read(job.own, copy=False)
            server = {name: parts[name] for name in job.names}
            memory = inbox.read(job.memory, copy=False)
            rng, client = client_rng(seed, job.number, job.client), clients[job.client]
            answer, new = answered(algorithm, task, job.phase, server, memory, client, rng)
            layout, end = outbox.write(answer)
            done = Done(layout, None if new is memory else outbox.write(new, end)[0])
        except Exception as error:
            done = Done(f"{type(error).__name__}: {error}")
        pipe.send(done)
