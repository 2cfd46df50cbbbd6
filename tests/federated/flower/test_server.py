"""The server half: whole runs, and runs that are resumed."""

from dataclasses import replace

import pytest
import torch

from firecv.errors import DataError, FederatedError, FirecvNotice
from firecv.federated.algorithms import FedFishr, PersonalizedFedAvg
from firecv.federated.flower.client import client_app
from firecv.federated.flower.job import Job, plan_of, to_config
from firecv.federated.flower.nodes import Nodes
from firecv.federated.flower.outcome import read_history
from firecv.federated.flower.server import serve, server_app
from firecv.federated.history import RunStopped
from firecv.federated.run import run
from tests.federated.flower import toy
from tests.federated.flower.cases import CASES
from tests.federated.flower.in_process import InProcessGrid

N = 3


class Died(BaseException):
    """The server process is gone."""


def job_for(name, folder=None, **words):
    return Job(
        CASES[name], 3, toy.__name__, checkpoint=None if folder is None else str(folder), **words
    )


def grid_for(job, folder=None):
    grid = InProcessGrid(client_app(), to_config(job), N)
    for context in grid.contexts.values():
        if folder is not None:
            context.node_config["memory-folder"] = str(folder)
    return grid


def embedded(job):
    clients = [toy.load_client(k, N, {}) for k in range(N)]
    return run(plan_of(job, toy), clients, job.n_rounds, every=job.every, progress=False)


def same(a, b):
    return all(torch.equal(value, b[name]) for name, value in a.items())


@pytest.mark.parametrize("name", ["fedavg", "scaffold", "fire", "fedfomo"])
def test_a_run_is_that_of_the_embedded_engine_scores_and_all(name, tmp_path):
    job = job_for(name, tmp_path)
    found, expected = serve(Nodes(grid_for(job), 5.0), job, toy), embedded(job)
    assert same(found.weights, expected.weights) and len(found.records) == 4
    for a, b in zip(found.records, expected.records, strict=True):
        assert replace(a, seconds=0) == replace(b, seconds=0)
    back = read_history(tmp_path, job.algorithm)
    assert back.records == found.records and same(back.weights, found.weights)
    assert back.stopped is None


@pytest.mark.parametrize(
    "algorithm", [FedFishr(strength=10.0), PersonalizedFedAvg()], ids=lambda each: each.label
)
def test_a_schedule_is_taken_from_the_run(algorithm):
    job = replace(job_for("fedavg"), algorithm=replace(algorithm, local=CASES["fedavg"].local))
    found = serve(Nodes(grid_for(job), 5.0), job, toy)
    assert not any(record.failures for record in found.records)
    assert same(found.weights, embedded(job).weights)
    assert not same(found.weights, embedded(job_for("fedavg")).weights)


@pytest.mark.parametrize("in_folder", [True, False])
@pytest.mark.parametrize("name", ["scaffold", "moon", "fire"])
def test_a_server_that_dies_in_a_round_goes_on_as_if_it_had_not(name, in_folder, tmp_path):
    memory = tmp_path / "memory" if in_folder else None
    job = job_for(name, tmp_path / "checkpoint")
    grid, count = grid_for(job, memory), []

    def dying(client, message, reply):
        count.append(client)
        if len(count) == 2 * N + N + 2:  # after all have said who they are
            raise Died
        return reply

    grid.broken = dying
    with pytest.raises(Died):
        serve(Nodes(grid, 5.0), job, toy)
    with pytest.raises(FederatedError, match="no run has ended"):
        read_history(job.checkpoint, job.algorithm)
    if in_folder:  # another Flower run, with contexts of its own
        grid = grid_for(job, memory)
    else:
        grid.broken = lambda client, message, reply: reply
    found = serve(Nodes(grid, 5.0), job, toy)
    assert same(found.weights, embedded(job).weights)
    assert not any(record.failures for record in found.records)


def test_without_any_client_the_run_ends_with_what_was_learned(tmp_path):
    job = replace(job_for("fedavg", tmp_path), n_rounds=20)
    grid = grid_for(job)
    nodes = Nodes(grid, 5.0)
    asked = []

    def silent(client, message, reply):
        asked.append(client)
        return reply if len(asked) < 3 * N + 1 else None

    grid.broken = silent
    nodes.wait_for_all()
    nodes.timeout = 0.2
    with pytest.raises(RunStopped, match="too few clients have answered"):
        serve(nodes, job, toy)
    with pytest.raises(RunStopped) as caught:
        read_history(tmp_path, job.algorithm)
    assert caught.value.history.state.round < 20 and caught.value.history.stopped


def test_sets_of_the_problem_are_judged_on(tmp_path, monkeypatch):
    monkeypatch.setattr(toy, "load_sets", lambda s: {"test": toy.points(30, 5)}, raising=False)
    job = job_for("fedavg", every=2)
    found = serve(Nodes(grid_for(job), 5.0), job, toy)
    assert ["test_accuracy" in record.scores for record in found.records] == [1, 0, 1, 1]


def test_the_app_runs_what_its_configuration_says(tmp_path, capsys):
    from flwr.app import Context, RecordDict

    job = job_for("fedavg", tmp_path, trust_nodes=True)
    grid = grid_for(job)
    with pytest.warns(FirecvNotice, match="TRUST-NODES IS ON"):
        server_app()(grid, Context(1, 0, {}, RecordDict(), to_config(job)))
    assert same(read_history(tmp_path, job.algorithm).weights, embedded(job).weights)
    assert "n_heard" in capsys.readouterr().out


def test_a_deployment_without_a_table_of_nodes_sends_nothing_and_says_what_to_write(tmp_path):
    from flwr.app import Context, RecordDict

    job = job_for("fedavg", tmp_path)
    grid = grid_for(job)
    for config in (to_config(job), to_config(job) | {"trust-nodes": "false"}):
        with pytest.raises(DataError, match=r"write a node table .* trust-nodes = true"):
            server_app()(grid, Context(1, 0, {}, RecordDict(), config))
    assert not grid.asked and not list(tmp_path.iterdir())
