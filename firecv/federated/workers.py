"""A process that answers for clients, seen from both sides."""

import copy
import signal
import time
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
    """A process, and what it is at work on.

    Parameters
    ----------
    broadcast, algorithm, task, clients, seed
        What the process gets when it starts.
    """

    def __init__(
        self,
        broadcast: Block,
        algorithm: Algorithm,
        task: Task,
        clients: Sequence[Client],
        seed: int,
    ) -> None:
        self.inbox, self._outbox = Block(), Block()
        self._given = (self.inbox, self._outbox, broadcast, algorithm, task, clients, seed)
        self._is_started = self._is_ready = False
        self._deadline = float("inf")
        self._n_killed = 0
        self._at: tuple[int, int] | None = None

    def start(self) -> None:
        """Start the process if there is none, or it has died with nothing to do."""
        if self._is_started and self._at is None and not self._process.is_alive():
            self._kill()
        if self._is_started:
            return
        context = get_context("spawn")
        self.pipe, far = context.Pipe()
        self._process = context.Process(target=_work, args=(far, *self._given), daemon=True)
        self._process.start()
        far.close()
        self._is_started = True

    @property
    def is_free(self) -> bool:
        """Whether the process waits for something to do."""
        return self._is_ready and self._at is None

    @property
    def seconds_left(self) -> float:
        """How long there is to wait for an answer."""
        return min(max(self._deadline - time.monotonic(), 0.0), LONGEST)

    def hand(self, place: int, job: Job, timeout: float | None) -> None:
        """Give the process something to do."""
        self._at = place, job.client
        self._deadline = float("inf") if timeout is None else time.monotonic() + timeout
        try:
            self.pipe.send(job)
        except OSError:  # it has just died, which shows when the pipe is read
            pass

    def taken(self) -> Taken | None:
        """Return what has come through the pipe; None for the word that the process is ready."""
        try:
            done: Done | None = self.pipe.recv()
        except (EOFError, OSError):
            self._process.join(PATIENCE)
            code = self._process.exitcode
            if self._at is None and code is not None and code < 0 and self._n_killed < TRIES:
                self._n_killed += 1
                self._kill()
                self.start()
                return None
            if self._at is None:
                raise FederatedError(
                    f"a process for clients ended with code {code} before it was ready; what it "
                    f"printed says why. A script has to call run(), or create a ProcessFleet, "
                    f"under: if __name__ == '__main__':"
                ) from None
            return self.lost(f"its process died with code {code}")
        if done is None or self._at is None:
            self._is_ready, self._n_killed = True, 0
            return None
        (place, client), self._at, self._deadline = self._at, None, float("inf")
        if isinstance(done.answer, str):
            return Taken(place, client, Failure(done.answer))
        memory = None if done.memory is None else self._outbox.read(done.memory)
        return Taken(place, client, self._outbox.read(done.answer), memory)

    def lost(self, why: str) -> Taken:
        """Return a failure, and start the process again."""
        assert self._at is not None
        place, client = self._at
        self.drop()
        self.start()
        return Taken(place, client, Failure(why))

    def drop(self) -> None:
        """End the process if it is at work on something, which is forgotten."""
        if self._at is not None:
            self._kill()

    def end(self) -> None:
        """End the process and give shared memory back."""
        if self._is_started:
            if self.is_free:
                try:
                    self.pipe.send(None)
                except OSError:
                    pass
                self._process.join(PATIENCE)
            self._kill()
        self.inbox.close()
        self._outbox.close()

    def _kill(self) -> None:
        self._process.kill()
        self._process.join()
        self._process.close()
        self.pipe.close()
        self._is_started = self._is_ready = False
        self._at, self._deadline = None, float("inf")


def _work(
    pipe: Connection,
    inbox: Block,
    outbox: Block,
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
