"""All clients of a federation that are reached through Flower: a `Fleet` over its nodes."""

import logging
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from flwr.app import Message, MessageType, MetricRecord

from firecv.errors import DataError
from firecv.federated.bundles import Bundle, number_of
from firecv.federated.contract import Algorithm
from firecv.federated.fleet import TRAINING, Answer, Failure, Phase
from firecv.federated.flower.description import to_text
from firecv.federated.flower.nodes import Nodes, reason_of
from firecv.federated.flower.records import (
    CLIENT,
    REMEMBERS,
    Request,
    to_bundle,
    to_records,
    with_request,
)
from firecv.federated.memories import Memories

LOG: Final = logging.getLogger("flwr")
"""Flower's own, whose lines `flwr run --stream` shows."""


class GridFleet:
    """Clients on Flower's nodes.

    Parameters
    ----------
    nodes
        Where clients are; all of them are waited for.
    algorithm
        What clients do.
    seed
        Of all that clients draw.

    Attributes
    ----------
    sizes
        The number of training samples of each client.
    tested
        The clients that have data to be judged on.
    memories
        Which answer of each client left the memory that counts; the memory itself stays with it.
    """

    def __init__(self, nodes: Nodes, algorithm: Algorithm, seed: int) -> None:
        self._nodes, self._algorithm, self._seed = nodes, to_text(algorithm), seed
        self._session = secrets.randbits(53)  # a float can hold it
        self._number = 0
        self.memories = Memories()
        known = nodes.wait_for_all()
        self.sizes = [each.n_samples for each in known]
        self.tested = [k for k, each in enumerate(known) if each.is_tested]

    def settle(self, heard: Collection[int]) -> None:
        """End a round: all clients but those heard remember what they did before it."""
        self.memories.settle(heard)
        LOG.info("round %d: %d of %d clients count", self._number, len(heard), len(self.sizes))

    def ask(
        self,
        phase: Phase,
        number: int,
        clients: Sequence[int],
        payload: Callable[[int], Bundle],
    ) -> Iterator[Answer]:
        """Yield answers in the order of `clients`; those late or lost are failures."""
        if phase in TRAINING:
            self._number = number
            self.memories.begin(number)
        nodes, pending = self._nodes.connected(), dict[str, int]()
        for k in clients:
            if k in nodes:
                records = with_request(to_records(payload(k)), self._request(phase, number, k))
                sent = self._nodes.send(records, nodes[k], MessageType.TRAIN)
                pending |= {} if sent is None else {sent: k}
        for k, answer in self._in_order(clients, nodes, pending):
            found = self._read(phase, number, k, answer) if isinstance(answer, Message) else answer
            if isinstance(found, Failure):
                LOG.warning("round %d, %s: client %d: %s", number, phase, k, found.reason)
            yield k, found

    def _in_order(
        self, clients: Sequence[int], nodes: dict[int, int], pending: dict[str, int]
    ) -> Iterator[tuple[int, Message | Failure]]:
        """Yield replies in the order of `clients`, those that come too early being held back."""
        asked, early = set(pending.values()), dict[int, Message]()
        replies, refused = self._nodes.replies(pending), self._nodes.refused()
        for k in clients:
            while k in asked and k not in early and (found := next(replies, None)) is not None:
                early[found[0]] = found[1]
            if k in early:
                yield k, early.pop(k)
            elif k in asked:
                yield k, Failure(f"no answer within {self._nodes.timeout:g} s")
            elif k in nodes:
                yield k, Failure("the message could not be sent")
            elif k in refused:
                yield k, Failure(f"refused: {refused[k]}")
            else:
                yield k, Failure("its node is not connected")

    def _request(self, phase: Phase, number: int, client: int) -> Request:
        kept = self.memories.get(client, {})
        session = int(number_of(kept, "session", self._session))
        counted = int(number_of(kept, "counted"))
        return Request(phase, number, client, self._seed, session, counted, self._algorithm)

    def _read(self, phase: Phase, number: int, client: int, reply: Message) -> Bundle | Failure:
        if reply.has_error():
            return Failure(reason_of(reply))
        try:
            answer = to_bundle(reply.content)
        except DataError as error:
            return Failure(f"malformed answer: {error}")
        about = reply.content.metric_records.get(CLIENT, MetricRecord())
        if phase in TRAINING and about.get(REMEMBERS):
            session = float(self._request(phase, number, client).session)
            self.memories.put(client, {"session": session, "counted": float(number)})
        return answer
