"""A grid whose nodes are computed in this process; everything is turned into bytes on the way."""

import itertools

from flwr.app import Context, Error, Message, RecordDict
from flwr.common.serde import (
    context_from_proto,
    context_to_proto,
    recorddict_from_proto,
    recorddict_to_proto,
)
from flwr.proto.node_pb2 import NodeInfo
from flwr.supercore.task_identity import TaskIdentity

TaskIdentity.run_id, TaskIdentity.task_id, TaskIdentity.node_id = 1, 1, 1


class InProcessGrid:
    """Nodes by number, which has nothing to do with the number of their client.

    Attributes
    ----------
    sent
        The bytes of every message to a client, with the client's number.
    broken
        Turns a client's reply into something else: called with client, message and reply.
    keys
        The public key of each node.
    """

    def __init__(self, app, run_config, n_clients):
        self.app, self.run_config, self.n_clients = app, dict(run_config), n_clients
        self.contexts, self.keys, self.numbers = {}, {}, itertools.count(1)
        self.replies, self.sent, self.asked = {}, [], []
        self.broken = lambda client, message, reply: reply
        for k in range(n_clients):
            self.join(k)

    def join(self, k, key=None, **node_config):
        """Return the number of a new node for client `k`."""
        node = 1000 - 37 * next(self.numbers)
        self.keys[node] = f"key {k}".encode() if key is None else key
        place = {"partition-id": k, "num-partitions": self.n_clients, **node_config}
        self.contexts[node] = Context(1, node, place, RecordDict(), dict(self.run_config))
        return node

    def leave(self, node):
        del self.contexts[node]

    def node_of(self, k):
        return next(n for n, c in self.contexts.items() if c.node_config["partition-id"] == k)

    def get_node_ids(self):
        return list(self.contexts)

    def get_nodes(self):
        return [NodeInfo(node_id=n, public_key=self.keys[n]) for n in self.contexts]

    def push_messages(self, messages):
        return [self._push(message) for message in messages]

    def pull_messages(self, message_ids):
        # The last that was asked answers first.
        return [self.replies.pop(i) for i in reversed(list(message_ids)) if i in self.replies]

    def _push(self, message):
        node = message.metadata.dst_node_id
        if node not in self.contexts:
            return None
        number = f"message-{next(self.numbers)}"
        message.metadata.__dict__["_message_id"] = number
        data = recorddict_to_proto(message.content)
        context = self.contexts[node]
        client = context.node_config["partition-id"]
        self.sent.append((client, data.SerializeToString()))
        self.asked.append((client, message.metadata.message_type))
        received = Message(recorddict_from_proto(data), reply_to=message)
        received.metadata.__dict__["_message_id"] = number
        received.metadata.__dict__["_message_type"] = message.metadata.message_type
        try:
            reply = self.broken(client, received, self.app(received, context))
        except Exception as error:
            reply = Message(Error(2, str(error)), reply_to=received)
        self.contexts[node] = context_from_proto(context_to_proto(context))
        if reply is not None:
            if not reply.has_error():
                there = recorddict_from_proto(recorddict_to_proto(reply.content))
                reply = Message(there, reply_to=received)
            reply.metadata.__dict__["_reply_to_message_id"] = number
            self.replies[number] = reply
        return number
