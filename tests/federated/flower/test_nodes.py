"""Which node is which client."""

import time

import pytest
from flwr.app import Error, Message, MetricRecord, RecordDict
from flwr.common.constant import ErrorCode

from firecv.errors import FederatedError, FirecvNotice
from firecv.federated.flower.client import client_app
from firecv.federated.flower.job import Job, to_config
from firecv.federated.flower.node_table import Place
from firecv.federated.flower.nodes import Nodes, reason_of
from tests.federated.flower import toy
from tests.federated.flower.cases import CASES
from tests.federated.flower.in_process import InProcessGrid


def grid_of(n_clients):
    job = Job(CASES["fedavg"], 3, toy.__name__)
    return InProcessGrid(client_app(), to_config(job), n_clients)


def test_all_clients_are_waited_for_no_longer_than_the_timeout():
    grid = grid_of(3)
    grid.leave(grid.node_of(1))
    with pytest.raises(FederatedError, match=r"waited 0.4 s in vain for clients \[1\] of 3"):
        Nodes(grid, 0.4).wait_for_all()


def test_no_client_at_all_is_an_error_too():
    with pytest.raises(FederatedError, match="in vain for any client"):
        Nodes(grid_of(0), 0.3).wait_for_all()


def test_clients_are_asked_once_who_they_are():
    grid = grid_of(3)
    nodes = Nodes(grid, 5.0)
    known = nodes.wait_for_all()
    assert [each.node for each in known] == [grid.node_of(k) for k in range(3)]
    assert nodes.wait_for_all() == known and nodes.connected().keys() == {0, 1, 2}
    assert grid.asked == [(k, "query") for k in (2, 1, 0)]


def test_a_newcomer_that_stays_silent_holds_up_nobody():
    grid = grid_of(2)
    nodes = Nodes(grid, 60.0)
    nodes.wait_for_all()
    grid.broken = lambda client, message, reply: None
    newcomer, began = grid.join(1), time.monotonic()
    for _ in range(3):
        assert nodes.connected().keys() == {0, 1}
    assert time.monotonic() - began < 20 and len(grid.asked) == 3
    assert newcomer not in nodes.connected().values()


def test_a_node_that_flower_lost_the_message_of_is_asked_again():
    grid, lost = grid_of(2), []

    def broken(client, message, reply):
        if client == 1 and not lost:
            lost.append(client)
            return Message(Error(ErrorCode.MESSAGE_UNAVAILABLE), reply_to=message)
        return reply

    grid.broken = broken
    assert len(Nodes(grid, 5.0).wait_for_all()) == 2 and lost == [1]


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"partition": 5, "n-partitions": 2, "n-samples": 3, "is-tested": 0},
        {"partition": 1, "n-partitions": 7, "n-samples": 3, "is-tested": 0},
        {"partition": 1, "n-partitions": 2, "n-samples": 0, "is-tested": 0},
        {"partition": 1.0, "n-partitions": 2, "n-samples": 3, "is-tested": 0},
    ],
)
def test_nodes_that_say_nonsense_take_no_part(said):
    grid = grid_of(2)
    nodes = Nodes(grid, 5.0)
    nodes.wait_for_all()
    odd = grid.join(1)
    grid.app = lambda message, context: Message(
        RecordDict({"client": MetricRecord(said)}), reply_to=message
    )
    with pytest.warns(FirecvNotice, match=f"node {odd} takes no part"):
        assert odd not in nodes.connected().values()


def test_a_node_without_a_partition_says_what_to_do():
    grid = grid_of(1)
    nodes = Nodes(grid, 5.0)
    nodes.wait_for_all()
    node = grid.join(0)
    del grid.contexts[node].node_config["partition-id"]
    grid.contexts[node].node_config |= {"partition-id": "zero"}
    with pytest.warns(FirecvNotice, match="--node-config"):
        nodes.connected()


TABLE = {f"key {k}".encode(): Place(k, 50) for k in range(3)}
LIES = {
    "samples": {"n-samples": 10**12},
    "no samples": {"n-samples": 0},
    "fewer clients": {"partition": 0, "n-partitions": 1},
    "another's place": {"partition": 0},
    "nothing": None,
}


def lying(lie, client=2):
    """Return how a client's description of itself becomes a lie."""

    def broken(k, message, reply):
        if k != client or message.metadata.message_type != "query":
            return reply
        if lie is None:
            return Message(RecordDict(), reply_to=message)
        for name, value in lie.items():
            reply.content["client"][name] = value
        return reply

    return broken


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_with_a_table_a_client_that_lies_takes_no_part_and_the_others_do(lie):
    grid = grid_of(3)  # the client that lies has the lowest node number, and is met first
    grid.broken = lying(lie)
    nodes = Nodes(grid, 5.0, TABLE)
    with pytest.warns(FirecvNotice, match=f"node {grid.node_of(2)} takes no part: it claims"):
        known = nodes.wait_for_all()
    honest = [len(toy.load_client(k, 3, {})) for k in (0, 1)]
    assert [each.n_samples for each in known] == [*honest, 1]
    assert nodes.connected() == {k: grid.node_of(k) for k in (0, 1)}
    assert list(nodes.refused()) == [2]


def test_a_stranger_is_sent_nothing_and_replaces_nobody():
    grid = grid_of(3)
    nodes = Nodes(grid, 5.0, TABLE)
    nodes.wait_for_all()
    n_asked = len(grid.asked)
    stranger = grid.join(1, key=b"another key")
    with pytest.warns(FirecvNotice, match=f"node {stranger} takes no part: its key is not in"):
        assert stranger not in nodes.connected().values()
    assert len(grid.asked) == n_asked and nodes.connected().keys() == {0, 1, 2}


def test_a_client_whose_node_is_registered_again_is_reached_there():
    grid = grid_of(3)
    nodes = Nodes(grid, 5.0, TABLE)
    nodes.wait_for_all()
    grid.leave(grid.node_of(1))
    node = grid.join(1)
    with pytest.warns(FirecvNotice, match=f"client 1 is now on node {node}"):
        assert nodes.connected()[1] == node


def test_a_client_that_fails_when_it_is_met_does_not_hold_up_the_others():
    grid = grid_of(3)

    def broken(k, message, reply):
        if k == 1:
            raise RuntimeError("unreadable disk")
        return reply

    grid.broken = broken
    nodes = Nodes(grid, 5.0, TABLE)
    with pytest.warns(FirecvNotice, match="takes no part"):
        nodes.wait_for_all()
    assert nodes.refused() == {1: "unreadable disk"}


def test_a_run_of_refused_clients_alone_does_not_begin():
    grid = grid_of(3)
    nodes = Nodes(grid, 5.0, {key: Place(place.partition, 1) for key, place in TABLE.items()})
    with (
        pytest.warns(FirecvNotice, match="takes no part"),
        pytest.raises(FederatedError, match="every client was refused; client 0: it claims"),
    ):
        nodes.wait_for_all()


def test_the_table_says_how_many_clients_there_are():
    grid = grid_of(3)
    grid.leave(grid.node_of(1))
    with pytest.raises(FederatedError, match=r"in vain for clients \[1\] of 3"):
        Nodes(grid, 0.4, TABLE).wait_for_all()


def test_the_last_line_of_a_traceback_is_the_reason():
    grid = grid_of(1)
    context = grid.contexts[grid.node_of(0)]
    message = Message(RecordDict(), context.node_id, "train")
    message.metadata.__dict__["_message_id"] = "1"
    text = "Traceback (most recent call last):\n  File\nValueError: no data\n'>"
    assert reason_of(Message(Error(2, text), reply_to=message)) == "ValueError: no data"
    assert reason_of(Message(Error(5), reply_to=message)) == "error 5"
