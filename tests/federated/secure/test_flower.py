"""The stages on Flower: clients mask their uploads themselves, and keep secrets in its context."""

from dataclasses import replace

import pytest
import torch
from flwr.app import Message

from firecv.federated import Client, LocalFleet, Plan, rounds, run
from firecv.federated.algorithms import FedAvg
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.flower import save, simulate
from firecv.federated.flower.client import client_app
from firecv.federated.flower.grid import GridFleet
from firecv.federated.flower.job import Job, plan_of, to_config, to_job
from firecv.federated.flower.masks import SECRETS, UPLOAD
from firecv.federated.flower.nodes import Nodes
from firecv.federated.secure import Secure
from firecv.federated.weighing import Weighing
from firecv.fire.validation import as_validation
from firecv.models import Task, table_mlp
from tests.federated.flower import toy
from tests.federated.flower.cases import CASES
from tests.federated.flower.in_process import InProcessGrid
from tests.federated.flower.root import ROOT
from tests.federated.secure.federation import far

N = 4
SECURE = Secure(threshold=0.75)
QUIET = pytest.mark.filterwarnings("ignore:secure aggregation hides")
NAMES = {
    "fedavg": CASES["fedavg"],
    "scaffold": CASES["scaffold"],
    "weighed": Weighed(CASES["scaffold"], Weighing("mixture", every=2)),
}


def fleets(algorithm, folder=None):
    """Return the grid, a fleet on it, and the same clients in this process."""
    job = Job(algorithm, 3, toy.__name__, memory_folder=folder)
    grid = InProcessGrid(client_app(), to_config(job), N)
    clients = [toy.load_client(k, N, {}) for k in range(N)]
    here = LocalFleet(algorithm, toy.load_task({}), clients, seed=0)
    return grid, GridFleet(Nodes(grid, 5.0), algorithm, seed=0), here


def plan_for(algorithm, secure=SECURE):
    return Plan(algorithm, toy.load_task({}), toy.load_validation({}), secure=secure)


@QUIET
@pytest.mark.parametrize("name", NAMES)
def test_masked_rounds_on_flower_are_those_of_the_embedded_engine_bit_for_bit(name):
    algorithm = NAMES[name]
    _, there, here = fleets(algorithm)
    plan = plan_for(algorithm)
    for a, b in zip(rounds(plan, there, 3), rounds(plan, here, 3), strict=True):
        assert not a.failures and a.clients == b.clients == (0, 1, 2, 3)
        assert (a.bytes_up, a.bytes_down) == (b.bytes_up, b.bytes_down)
        assert a.state.weights == b.state.weights
        assert far(a.state.server, b.state.server) == 0


@QUIET
@pytest.mark.parametrize("name", NAMES)
def test_masked_rounds_on_flower_are_those_in_the_clear(name):
    algorithm = NAMES[name]
    _, there, here = fleets(algorithm)
    *_, found = rounds(plan_for(algorithm), there, 3)
    *_, wanted = rounds(plan_for(algorithm, None), here, 3)
    assert far(found.state.server, wanted.state.server) < 2e-6


@QUIET
@pytest.mark.parametrize("phase", ["keys", "shares", "masked", "unmask"])
@pytest.mark.parametrize("name", ["scaffold", "weighed"])
def test_a_client_that_is_lost_in_a_stage_comes_back_in_the_next_round(name, phase):
    """Round 2 goes without client 1, which remembers what it did after round 1."""
    algorithm = NAMES[name]
    grid, there, here = fleets(algorithm)

    def broken(client, message, reply):
        request = message.content.config_records.get("request")
        is_lost = request and (request["phase"], request["number"], client) == (phase, 2, 1)
        return None if is_lost else reply

    grid.broken = broken
    there._nodes.timeout = 0.3

    class Without(LocalFleet):
        def ask(self, phase_, number, clients, payload):
            for k, answer in super().ask(phase_, number, clients, payload):
                if number != 2 or k != 1 or phase == "unmask":
                    yield k, answer

    without = Without(algorithm, here.task, here.clients, 0)
    clear = rounds(plan_for(algorithm, None), without, 3)
    for a, b in zip(rounds(plan_for(algorithm), there, 3), clear, strict=True):
        assert a.clients == b.clients
        assert far(a.state.server, b.state.server) < 2e-6


@QUIET
def test_secrets_are_in_the_context_for_a_round_and_in_no_folder(tmp_path):
    grid, there, _ = fleets(NAMES["weighed"], str(tmp_path))
    kept = []

    def noted(client, message, reply):
        kept.append(
            {name: dict(r) for name, r in grid.contexts[grid.node_of(client)].state.items()}
        )
        return reply

    grid.broken = noted
    plan = plan_for(NAMES["weighed"])
    list(rounds(plan, there, 1))
    seeds = [len(each[SECRETS]["bundle"]) for each in kept if SECRETS in each]
    assert seeds and any(UPLOAD in each for each in kept)
    for context in grid.contexts.values():
        assert UPLOAD not in context.state
        assert b"shares" not in context.state[SECRETS]["bundle"]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files and all(b"seed" not in f.read_bytes() for f in files)


@QUIET
def test_a_server_that_asks_twice_for_shares_is_refused():
    grid, there, _ = fleets(NAMES["fedavg"])
    asked = {}

    def noted(client, message, reply):
        request = message.content.config_records.get("request")
        if request and request["phase"] == "unmask":
            asked[client] = message.content
        return reply

    grid.broken = noted
    list(rounds(plan_for(NAMES["fedavg"]), there, 1))
    message = Message(asked[0], grid.node_of(0), "train")
    (number,) = grid.push_messages([message])
    (reply,) = grid.pull_messages([number])
    assert "refused by the client" in reply.error.reason


@QUIET
def test_a_job_says_how_uploads_are_masked():
    job = Job(FedAvg(), 2, toy.__name__, secure=Secure(0.8, 32, 16.0))
    again = to_job(to_config(job))
    assert again == job and plan_of(again, toy).secure == job.secure
    assert to_job(to_config(replace(job, secure=None))).secure is None


@QUIET
@pytest.mark.slow
@pytest.mark.parametrize("name", ["fedavg", "weighed"])
def test_simulated_on_flower_masked_weights_are_those_of_a_run_here_in_the_clear(
    name, tmp_path, monkeypatch
):
    monkeypatch.chdir(ROOT)
    rng = torch.Generator().manual_seed(0)
    clients = [Client(toy.points(n, n)) for n in (12, 20, 16)]
    task = Task(table_mlp(toy.N_FEATURES, toy.N_CLASSES, rng))
    plan = Plan(NAMES[name], task, as_validation(toy.points(30, 1)[0]))
    expected = run(plan, clients, 2, progress=False)
    masked = replace(plan, secure=Secure())
    job = save(tmp_path, masked, clients, 2, model="table_mlp", timeout=200.0)
    found = simulate(job, 3, n_processes=2, limit=400)
    assert [record.clients for record in found.records[1:]] == [(0, 1, 2)] * 2
    assert far(found.weights, expected.weights) < 1e-4
    assert found.records[1].bytes_up > expected.records[1].bytes_up
