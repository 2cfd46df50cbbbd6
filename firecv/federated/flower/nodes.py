"""Flower's nodes as clients: which node is which client, and messages there and back in time."""

import time
import warnings
from collections.abc import Iterator
from typing import Final, NamedTuple

from flwr.app import Message, MessageType, MetricRecord, RecordDict
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid

from firecv.display import visible
from firecv.errors import FederatedError, FirecvNotice
from firecv.federated.flower.job import TIMEOUT
from firecv.federated.flower.node_table import NodeTable, Said, said_of
from firecv.federated.flower.records import CLIENT

POLL: Final = 0.2
"""Seconds between two looks for answers."""
REASON: Final = 300
"""Characters of an error that are kept."""
FINAL: Final = (ErrorCode.CLIENT_APP_RAISED_EXCEPTION, ErrorCode.LOAD_CLIENT_APP_EXCEPTION)
"""Errors of a client's own; others are Flower's, and a message may be sent again."""


class Known(NamedTuple):
    """A client, and the node that it is on.

    Attributes
    ----------
    node
        Flower's number of it.
    n_samples
        The number of training samples of the client.
    is_tested
        Whether the client has data to be evaluated on.
    refusal
        Why the client takes no part in the run; nothing if it does. Whatever it said of its samples
        is then not believed, and it counts as one.
    """

    node: int
    n_samples: int = 1
    is_tested: bool = False
    refusal: str = ""


class Nodes:
    """The nodes that a grid reaches, by the clients they are.

    A client's number is its partition, so that it does not depend on the numbers Flower gives to
    nodes. With a table the server knows the partition of each node by its key: a node that is not
    in it is never sent anything, and one that claims what the table does not allow takes no part,
    while the run goes on without it. Without a table nodes are believed; one that is started again
    is a new one, and the client is then reached there.

    Parameters
    ----------
    grid
        Reaches the nodes.
    timeout
        Seconds to wait for all clients to be there, and for the replies to messages.
    table
        Which node is which client; None if nodes are believed, as they may be in simulations only.
    """

    def __init__(
        self, grid: Grid, timeout: float = TIMEOUT, table: NodeTable | None = None
    ) -> None:
        self.timeout = timeout
        self._grid, self._table, self._n_clients = grid, table, len(table or ())
        self._keys: dict[int, bytes] = {}
        self._clients: dict[int, Known] = {}
        self._asked: set[int] = set()
        self._queries: dict[str, int] = {}

    def wait_for_all(self) -> list[Known]:
        """Return every client there should be, once all of them have told their size."""
        deadline = time.monotonic() + self.timeout
        self._meet()
        while not self._clients or len(self._clients) < self._n_clients:
            if time.monotonic() > deadline:
                lacking = sorted(set(range(self._n_clients)) - self._clients.keys())
                which = (
                    f"clients {lacking} of {self._n_clients}" if self._n_clients else "any client"
                )
                raise FederatedError(
                    f"waited {self.timeout:g} s in vain for {which}; start their SuperNodes, each "
                    f"with its own partition-id and all with the same num-partitions"
                )
            time.sleep(POLL)
            self._meet()
        if len(refused := self.refused()) == self._n_clients:
            raise FederatedError(f"every client was refused; client 0: {refused[0]}")
        return [self._clients[k] for k in range(self._n_clients)]

    def refused(self) -> dict[int, str]:
        """Return why each client that takes no part does not."""
        return {k: each.refusal for k, each in self._clients.items() if each.refusal}

    def connected(self) -> dict[int, int]:
        """Return the node of each client that takes part and is connected now."""
        self._meet()
        there = set(self._grid.get_node_ids())
        return {
            k: each.node
            for k, each in self._clients.items()
            if each.node in there and not each.refusal
        }

    def send(self, content: RecordDict, node: int, kind: str) -> str | None:
        """Return the number of a message that was sent; None if it could not be."""
        # One by one: a grid that cannot send a message leaves it out, or puts None in its place.
        message = Message(content, node, kind, ttl=self.timeout)
        return next(iter(self._grid.push_messages([message])), None)

    def replies(self, pending: dict[str, int]) -> Iterator[tuple[int, Message]]:
        """Yield replies as they come in, until all are there or it is too late.

        Parameters
        ----------
        pending
            Who each message was sent to, by the number of the message; emptied on the way.
        """
        deadline = time.monotonic() + self.timeout
        while pending and time.monotonic() < deadline:
            found = list(self._grid.pull_messages(list(pending)))
            for reply in found:
                receiver = pending.pop(reply.metadata.reply_to_message_id, None)
                if receiver is not None:
                    yield receiver, reply
            if not found:
                time.sleep(POLL)

    def _meet(self) -> None:
        """Ask nodes that are new which client they are, and hear what others have said since.

        Nobody is waited for, so that a silent newcomer does not hold up those who are there.
        """
        keys = {info.node_id: info.public_key for info in self._grid.get_nodes()}
        for node in sorted(keys.keys() - self._asked):
            self._keys[node] = keys[node]
            if self._table is not None and keys[node] not in self._table:
                self._asked.add(node)
                self._leave_out(node, "its key is not in the node table")
            elif (sent := self.send(RecordDict(), node, MessageType.QUERY)) is not None:
                self._asked.add(node)
                self._queries[sent] = node
        for reply in self._grid.pull_messages(list(self._queries)) if self._queries else ():
            node = self._queries.pop(reply.metadata.reply_to_message_id)
            if not reply.has_error():
                about = reply.content.metric_records.get(CLIENT, MetricRecord())
                self._note(node, said_of(about))
            elif reply.error.code in FINAL:
                self._leave_out(node, reason_of(reply))
            else:
                self._asked.discard(node)  # the message was lost

    def _note(self, node: int, said: Said) -> None:
        """Take down which client a node is, or why it takes no part."""
        if self._table is not None:
            place = self._table[self._keys[node]]
            refusal = place.refusal(said, self._n_clients)
        else:
            self._n_clients = self._n_clients or max(said.n_partitions, 0)
            is_client = 0 <= said.partition < said.n_partitions == self._n_clients
            is_fine = is_client and said.n_samples >= 1
            refusal = "" if is_fine else f"it says {said}, expected one of {self._n_clients}"
        if refusal:
            self._leave_out(node, refusal)
        else:
            self._take(said.partition, Known(node, said.n_samples, said.is_tested == 1))

    def _leave_out(self, node: int, reason: str) -> None:
        warnings.warn(f"node {node} takes no part: {reason}", FirecvNotice, stacklevel=2)
        if self._table is not None and (place := self._table.get(self._keys[node])) is not None:
            self._take(place.partition, Known(node, refusal=reason))

    def _take(self, client: int, known: Known) -> None:
        if client in self._clients:
            before = self._clients[client].node
            notice = f"client {client} is now on node {known.node}, no longer on {before}"
            warnings.warn(notice, FirecvNotice, stacklevel=2)
        self._clients[client] = known


def reason_of(reply: Message) -> str:
    """Return what an error says last, which in a traceback is what went wrong."""
    said = reply.error.reason or ""
    lines = [line for line in said.splitlines() if line.strip(" '>\"")]
    return visible(lines[-1] if lines else f"error {reply.error.code}")[:REASON]
