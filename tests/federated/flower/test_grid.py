"""The engine's rounds on Flower's messages, all in one process."""

from functools import partial
from hashlib import shake_256

import pytest
import torch
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict

from firecv.federated import LocalFleet, Plan, privacy, rounds
from firecv.federated.bundles import n_bytes
from firecv.federated.engine import sample
from firecv.federated.flower.client import client_app
from firecv.federated.flower.grid import GridFleet
from firecv.federated.flower.job import Job, to_config
from firecv.federated.flower.node_table import Place
from firecv.federated.flower.nodes import Nodes
from firecv.federated.noise import add_noise
from firecv.federated.privacy import Private
from tests.federated.flower import toy
from tests.federated.flower.cases import CASES, SETTINGS
from tests.federated.flower.in_process import InProcessGrid

N = 4


def grid_for(algorithm, settings=None):
    job = Job(algorithm, 3, toy.__name__, settings or {})
    return InProcessGrid(client_app(), to_config(job), N)


def fleets(algorithm, settings=None, timeout=5.0):
    """Return the grid, a fleet on it, and the same clients in this process."""
    grid = grid_for(algorithm, settings)
    settings = settings or {}
    clients = [toy.load_client(k, N, settings) for k in range(N)]
    local = LocalFleet(algorithm, toy.load_task(settings), clients, seed=0)
    return grid, GridFleet(Nodes(grid, timeout), algorithm, seed=0), local


def plan_for(algorithm, settings=None, **words):
    return Plan(algorithm, toy.load_task(settings or {}), toy.load_validation({}), **words)


def same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    return torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


@pytest.mark.parametrize("participation", [1.0, 0.5])
@pytest.mark.parametrize("name", CASES)
def test_three_rounds_are_those_of_the_embedded_engine_bit_for_bit(name, participation):
    algorithm, settings = CASES[name], SETTINGS.get(name)
    _, there, here = fleets(algorithm, settings)
    assert there.sizes == here.sizes and there.tested == here.tested
    plan = plan_for(algorithm, settings, participation=participation)
    for a, b in zip(rounds(plan, there, 3), rounds(plan, here, 3), strict=True):
        assert not a.failures and a.clients == b.clients
        assert (a.bytes_up, a.bytes_down) == (b.bytes_up, b.bytes_down)
        assert a.state.weights == b.state.weights
        assert same(a.state.server, b.state.server)
        assert list(a.state.server) == list(b.state.server)


def test_noised_rounds_are_those_of_the_embedded_engine_if_noise_is(monkeypatch):
    algorithm = Private(CASES["fire"], 1.0, 0.01, clip_sketch=1.0)
    _, there, here = fleets(algorithm)
    plan = plan_for(algorithm)
    *_, one = rounds(plan, there, 2)
    *_, other = rounds(plan, here, 2)
    assert not same(one.state.server["weights"], other.state.server["weights"])
    fixed = partial(add_noise, _random=lambda n: shake_256(b"noise").digest(n))
    monkeypatch.setattr(privacy, "add_noise", fixed)
    for a, b in zip(rounds(plan, there, 3), rounds(plan, here, 3), strict=True):
        assert not a.failures and a.state.weights == b.state.weights
        assert same(a.state.server, b.state.server)


def test_clients_are_numbered_by_partition_whatever_their_nodes_are():
    algorithm = CASES["fedavg"]
    results = []
    for order in ([0, 1, 2, 3], [2, 0, 3, 1]):
        grid = grid_for(algorithm)
        grid.contexts = {}
        for k in order:
            grid.join(k)
        fleet = GridFleet(Nodes(grid, 5.0), algorithm, seed=0)
        assert fleet.sizes == [len(toy.load_client(k, N, {})) for k in range(N)]
        *_, done = rounds(plan_for(algorithm), fleet, 2)
        results.append(done.state.server)
    assert same(*results)


@pytest.mark.parametrize("name", ["fedavg", "scaffold"])
def test_a_client_that_raises_is_a_failure_in_both_engines_alike(name, monkeypatch):
    algorithm = CASES[name]
    _, there, here = fleets(algorithm)
    original = type(algorithm).client_update

    def update(self, task, server, memory, client, rng):
        if len(client) == there.sizes[2]:
            raise ValueError("the disk is full")
        return original(self, task, server, memory, client, rng)

    monkeypatch.setattr(type(algorithm), "client_update", update)
    plan = plan_for(algorithm)
    for a, b in zip(rounds(plan, there, 2), rounds(plan, here, 2), strict=True):
        assert a.failures == b.failures == {2: "ValueError: the disk is full"}
        assert a.clients == (0, 1, 3) and same(a.state.server, b.state.server)


def garbage(kind):
    def broken(client, message, reply):
        if client != 1 or message.metadata.message_type != "train":
            return reply
        weights = reply.content["tree/weights"]
        first = next(iter(weights))
        content = {
            "nothing": RecordDict(),
            "nan": RecordDict(
                {
                    "tree/weights": ArrayRecord(
                        {n: torch.full(tuple(a.shape), torch.nan) for n, a in weights.items()}
                    )
                }
            ),
            "list": RecordDict(
                {"tree/weights": weights, "numbers": MetricRecord({"loss": [1.0, 2.0]})}
            ),
            "names": RecordDict({"tree/weights": ArrayRecord({first: weights[first]})}),
            "shape": RecordDict(
                {"tree/weights": ArrayRecord({n: torch.zeros(1) for n in weights})}
            ),
            "bytes": RecordDict({"tree/weights": ArrayRecord(dict(weights))}),
        }[kind]
        if kind == "bytes":
            content["tree/weights"][first].data = b"\x93NUMPY no array at all"
        return Message(content, reply_to=message)

    return broken


@pytest.mark.parametrize("kind", ["nothing", "nan", "list", "names", "shape", "bytes"])
def test_garbage_of_a_client_is_left_out_and_the_rest_counts(kind):
    algorithm = CASES["fedavg"]
    grid, there, _ = fleets(algorithm)
    grid.broken = garbage(kind)
    *_, done = rounds(plan_for(algorithm), there, 2)
    assert done.clients == (0, 2, 3) and list(done.failures) == [1]
    assert all(bool(v.isfinite().all()) for v in done.state.server["weights"].values())


def test_pickles_are_not_unpickled():
    algorithm = CASES["fedavg"]
    grid, there, _ = fleets(algorithm)

    def broken(client, message, reply):
        if client == 1 and message.metadata.message_type == "train":
            for array in reply.content["tree/weights"].values():
                array.data = b"\x80\x04\x95\x1c\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94."
        return reply

    grid.broken = broken
    done = next(rounds(plan_for(algorithm), there, 1))
    assert "malformed answer" in done.failures[1] and "pickle" in done.failures[1].lower()


def test_a_client_that_never_answers_is_waited_for_no_longer_than_the_timeout():
    algorithm = CASES["fedavg"]
    grid, there, _ = fleets(algorithm, timeout=0.5)
    grid.broken = lambda client, message, reply: None if client == 3 else reply
    done = next(rounds(plan_for(algorithm), there, 1))
    assert done.failures == {3: "no answer within 0.5 s"} and done.clients == (0, 1, 2)
    assert 0.5 <= done.seconds < 5


def test_a_node_that_left_is_not_waited_for_and_may_come_back():
    algorithm = CASES["fedavg"]
    grid, there, here = fleets(algorithm, timeout=60.0)
    plan = plan_for(algorithm)
    run = rounds(plan, there, 3)
    next(run)
    grid.leave(grid.node_of(2))
    done = next(run)
    assert done.failures == {2: "its node is not connected"} and done.seconds < 30
    grid.join(2)
    with pytest.warns(UserWarning, match="client 2 is now on node"):
        assert next(run).clients == (0, 1, 2, 3)


def test_a_client_that_lost_what_the_server_counts_on_says_so():
    algorithm = CASES["scaffold"]
    grid, there, _ = fleets(algorithm)
    run = rounds(plan_for(algorithm), there, 2)
    next(run)
    grid.leave(grid.node_of(2))
    grid.join(2)
    with pytest.warns(UserWarning, match="client 2 is now on node"):
        done = next(run)
    assert "remembered after round 1" in done.failures[2] and done.clients == (0, 1, 3)


@pytest.mark.parametrize("name", ["scaffold", "moon", "fedfomo"])
def test_clients_whose_answers_do_not_count_forget_them_in_both_engines(name):
    algorithm = CASES[name]
    _, there, here = fleets(algorithm)
    results = []
    for fleet in (there, here):
        ask = fleet.ask

        def lossy(phase, number, clients, payload, ask=ask):
            for k, answer in ask(phase, number, clients, payload):
                lost = number == 2 and k == 1
                yield k, {"weights": {"no": torch.zeros(1)}} if lost else answer

        fleet.ask = lossy
        *_, done = rounds(plan_for(algorithm), fleet, 4)
        results.append(done.state.server)
    assert same(*results)


def test_the_server_never_sends_v_or_anything_but_its_state():
    """V is on the server; every byte to clients is looked at."""
    for name in ("fire", "fire quadratic", "scaffold weighed"):
        algorithm = CASES[name]
        grid, there, _ = fleets(algorithm)
        plan = plan_for(algorithm)
        for done in rounds(plan, there, 3):
            assert not done.failures
        rows = [row.numpy().tobytes() for row in plan.holder.x]
        rows += [row[:3].numpy().tobytes() for row in plan.holder.x]
        rows += [column.contiguous().numpy().tobytes()[:16] for column in plan.holder.x.T]
        for _, data in grid.sent:
            assert not any(row in data for row in rows)
        allowed = {"tree/weights", "numbers", "request"}
        allowed |= {"tree/information"} if name == "fire quadratic" else set()
        allowed |= {"tree/control"} if name == "scaffold weighed" else set()
        assert sent_names(grid) <= allowed
        assert mentions(grid, rows[0]) is False


def test_the_inspection_of_bytes_would_find_v_if_it_were_sent():
    algorithm = CASES["fedavg"]
    grid, there, _ = fleets(algorithm)
    x = toy.load_validation({}).x
    list(there.ask("train", 1, [0], lambda k: {"weights": {"x": x}}))
    assert mentions(grid, x[5].numpy().tobytes())


def mentions(grid, row):
    return any(row in data for _, data in grid.sent)


def sent_names(grid):
    from flwr.proto.recorddict_pb2 import RecordDict as Proto

    names = set()
    for _, data in grid.sent:
        names |= {item.key for item in Proto.FromString(data).items}
    return names


def test_a_message_holds_little_beside_the_bundle():
    algorithm = CASES["fedavg"]
    grid, there, _ = fleets(algorithm)
    weights = {"weights": {"a": torch.zeros(100_000)}}
    list(there.ask("train", 1, [0], lambda k: weights))
    assert len(grid.sent[-1][1]) < n_bytes(weights) + 2000


def test_the_cohort_is_that_of_the_embedded_engine():
    algorithm = CASES["fedavg"]
    grid, there, _ = fleets(algorithm)
    plan = plan_for(algorithm, participation=0.5)
    list(rounds(plan, there, 3))
    trained = [k for k, kind in grid.asked if kind == "train"]
    assert trained == [k for number in (1, 2, 3) for k in sample(plan, N, number)]


@pytest.mark.parametrize("name", ["fedavg", "fire"])
def test_a_client_that_claims_too_many_samples_weighs_nothing_and_is_counted(name):
    algorithm = CASES[name]
    grid = grid_for(algorithm)

    def broken(client, message, reply):
        if client == 3 and message.metadata.message_type == "query":
            reply.content["client"]["n-samples"] = 10**12
        return reply

    grid.broken = broken
    table = {f"key {k}".encode(): Place(k, 100) for k in range(N)}
    with pytest.warns(UserWarning, match="it claims 1000000000000 samples"):
        fleet = GridFleet(Nodes(grid, 5.0, table), algorithm, seed=0)
    plan = plan_for(algorithm)
    clients = [toy.load_client(k, N, {}) for k in range(3)]
    honest = LocalFleet(algorithm, plan.task, clients, seed=0)
    for a, b in zip(rounds(plan, fleet, 2), rounds(plan, honest, 2), strict=True):
        assert a.clients == b.clients == (0, 1, 2)
        assert a.failures[3].startswith("refused: it claims 1000000000000 samples")
        for key, value in a.state.server["weights"].items():
            torch.testing.assert_close(value, b.state.server["weights"][key])
    assert 3 not in fleet.tested and not [k for k, kind in grid.asked if k == 3 and kind == "train"]
