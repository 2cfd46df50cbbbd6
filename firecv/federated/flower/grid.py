"""All clients of a federation that are reached through Flower: a `Fleet` over its grid."""

import secrets
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from flwr.app import Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp import Grid

from firecv.errors import DataError, FederatedError, FirecvNotice
from firecv.federated.bundles import Bundle, number_of
from firecv.federated.contract import Algorithm
from firecv.federated.fleet import Answer, Failure, Phase
from firecv.federated.flower.client import CLIENT, REMEMBERS
from firecv.federated.flower.description import to_text
from firecv.federated.flower.job import TIMEOUT
from firecv.federated.flower.records import Request, to_bundle, to_records, with_request

POLL: Final = 0.2
"""Seconds between two looks for answers."""
REASON: Final = 300
"""Characters of an error that are kept."""


class _Known(NamedTuple):
    """A client's node and what it said of itself."""

    node: int
    n_samples: int
    is_tested: bool


class GridFleet:
    """Clients on Flower's nodes, numbered by their partitions.

    Parameters
    ----------
    grid
        Reaches the nodes.
    algorithm
        What clients do.
    seed
        Of all that clients draw.
    timeout
        Seconds to wait for all clients to be there, and for the answers of a round.

    Attributes
    ----------
    sizes
        The number of training samples of each client.
    tested
        The clients that have data to be judged on.
    """

    def __init__(
        self, grid: Grid, algorithm: Algorithm, seed: int, timeout: float = TIMEOUT
    ) -> None:
        self._grid, self._algorithm, self._seed = grid, to_text(algorithm), seed
        self._timeout, self._session = timeout, secrets.randbits(53)
        self._known: dict[int, _Known] = {}
        self._nodes: set[int] = set()
        self._n_clients = 0
        self._remembering: dict[int, int] = {}
        self._counted: dict[int, int] = {}
        self._meet_all()
        known = [self._known[k] for k in range(self._n_clients)]
        self.sizes = [each.n_samples for each in known]
        self.tested = [k for k, each in enumerate(known) if each.is_tested]

    @property
    def memories(self) -> dict[int, Bundle]:
        """Which answer of each client left the memory that counts; the memory stays with it."""
        session = float(self._session)
        return {
            k: {"session": session, "counted": float(number)}
            for k, number in sorted(self._counted.items())
        }

    def restore(self, memories: Mapping[int, Bundle]) -> None:
        """Go on with clients that remember an earlier part of this run."""
        self._counted = {k: int(number_of(kept, "counted")) for k, kept in memories.items()}
        for kept in memories.values():
            self._session = int(number_of(kept, "session"))

    def settle(self, heard: Collection[int]) -> None:
        """End a round: answers of all clients but those heard do not count."""
        self._counted |= {k: n for k, n in self._remembering.items() if k in set(heard)}
        self._remembering = {}

    def ask(
        self,
        phase: Phase,
        number: int,
        clients: Sequence[int],
        payload: Callable[[int], Bundle],
    ) -> Iterator[Answer]:
        """Yield answers in the order of `clients`; those late or lost are failures."""
        self._meet_new()
        there, pending, answers = set(self._grid.get_node_ids()), dict[str, int](), {}
        for k in clients:
            if self._known[k].node not in there:
                answers[k] = Failure("its node is not connected")
                continue
            request = Request(
                phase,
                number,
                k,
                self._seed,
                self._session,
                self._counted.get(k, 0),
                self._algorithm,
            )
            content = with_request(to_records(payload(k)), request)
            if (sent := self._send(content, self._known[k].node, MessageType.TRAIN)) is None:
                answers[k] = Failure("the message could not be sent")
            else:
                pending[sent] = k
        replies = self._replies(pending)
        for k in clients:
            while k not in answers and (reply := next(replies, None)) is not None:
                answers[reply[0]] = self._answer(reply[0], number, phase, reply[1])
            late = Failure(f"no answer within {self._timeout:g} s")
            yield k, answers.pop(k, late)

    def _answer(self, client: int, number: int, phase: Phase, reply: Message) -> Bundle | Failure:
        if reply.has_error():
            return Failure(_reason(reply.error.reason))
        try:
            answer = to_bundle(reply.content)
        except DataError as error:
            return Failure(f"malformed answer: {error}")
        about = reply.content.metric_records.get(CLIENT, MetricRecord())
        if phase != "judge" and about.get(REMEMBERS):
            self._remembering[client] = number
        return answer

    def _send(self, content: RecordDict, node: int, kind: str) -> str | None:
        # One by one: a grid that cannot send a message leaves it out, or puts None in its place.
        message = Message(content, node, kind, ttl=self._timeout)
        return next(iter(self._grid.push_messages([message])), None)

    def _replies(self, pending: dict[str, int]) -> Iterator[tuple[int, Message]]:
        """Yield replies as they come in, until all are there or it is too late."""
        deadline = time.monotonic() + self._timeout
        while pending and time.monotonic() < deadline:
            found = list(self._grid.pull_messages(list(pending)))
            for reply in found:
                client = pending.pop(reply.metadata.reply_to_message_id, None)
                if client is not None:
                    yield client, reply
            if not found:
                time.sleep(POLL)

    def _meet_all(self) -> None:
        """Wait until every client there should be has told its size."""
        deadline = time.monotonic() + self._timeout
        while not self._known or len(self._known) < self._n_clients:
            if time.monotonic() > deadline:
                lacking = sorted(set(range(self._n_clients)) - self._known.keys())
                which = f"clients {lacking} of {self._n_clients}" if self._known else "any client"
                raise FederatedError(
                    f"{which} did not appear within {self._timeout:g} s; start their SuperNodes, "
                    f"or fewer with another num-partitions"
                )
            self._meet_new()
            time.sleep(POLL)

    def _meet_new(self) -> None:
        """Ask nodes that are new which client they are."""
        new = set(self._grid.get_node_ids()) - self._nodes
        pending: dict[str, int] = {}
        for node in sorted(new):
            if (sent := self._send(RecordDict(), node, MessageType.QUERY)) is not None:
                pending[sent] = node
        for node, reply in self._replies(pending):
            self._nodes.add(node)
            if reply.has_error():
                warnings.warn(
                    f"node {node} takes no part: {_reason(reply.error.reason)}",
                    FirecvNotice,
                    stacklevel=2,
                )
                continue
            self._meet(node, reply.content.metric_records.get(CLIENT, MetricRecord()))

    def _meet(self, node: int, about: MetricRecord) -> None:
        names = ("partition", "n-partitions", "n-samples", "is-tested")
        values = [about.get(name) for name in names]
        client, n_clients, n_samples, is_tested = (v if isinstance(v, int) else -1 for v in values)
        self._n_clients = self._n_clients or n_clients
        if not 0 <= client < n_clients == self._n_clients or n_samples < 1:
            why = f"it says {dict(zip(names, values, strict=True))} where others say N clients"
            warnings.warn(f"node {node} takes no part: {why}", FirecvNotice, stacklevel=2)
            return
        if client in self._known:
            why = f"client {client} is now node {node}, no longer {self._known[client].node}"
            warnings.warn(why, FirecvNotice, stacklevel=2)
        self._known[client] = _Known(node, n_samples, bool(is_tested))


def _reason(text: str) -> str:
    """Return what an error says last, which in a traceback is what went wrong."""
    lines = [line for line in text.strip().splitlines() if line.strip(" '>\"")]
    return (lines[-1] if lines else "unknown error")[:REASON]
