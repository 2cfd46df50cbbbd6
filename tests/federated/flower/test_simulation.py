"""Runs on Flower's simulation engine."""

import subprocess
from dataclasses import replace

import pytest
import torch

from firecv.errors import DataError, FederatedError
from firecv.federated import Client, Plan
from firecv.federated.flower import Job, save, simulate
from firecv.federated.flower.outcome import read_history
from firecv.federated.flower.superlink import (
    CONNECTION,
    environment,
    found_executables,
    superlink,
)
from firecv.federated.run import run
from firecv.fire.validation import as_validation
from firecv.models import Task, table_mlp
from tests.federated.flower import toy
from tests.federated.flower.cases import CASES
from tests.federated.flower.jobs import far, write_several
from tests.federated.flower.root import ROOT

N, N_ROUNDS = 4, 3
NAMES = [*CASES, "fedavg of half"]


def case(name):
    """Return algorithm and participation."""
    return (CASES["fedavg"], 0.5) if name == "fedavg of half" else (CASES[name], 1.0)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Return the folder in which one Flower run has left a checkpoint of every case."""
    folder, commands = tmp_path_factory.mktemp("simulated"), found_executables()
    job = Job(CASES["fedavg"], N_ROUNDS, toy.__name__, timeout=200.0)
    job = replace(job, checkpoint=str(folder / "checkpoints"))
    write_several(folder / "app", job, {name: case(name) for name in NAMES})
    env = environment(folder / "home", commands) | {"PYTHONPATH": str(ROOT)}
    words = f"num-supernodes={N} client-resources-num-cpus=1 init-args-num-cpus=2"
    command = [str(commands / "flwr"), "run", str(folder / "app"), CONNECTION, "--stream"]
    with superlink(folder / "home", env):
        done = subprocess.run(
            [*command, "--federation-config", words],
            env=env,
            timeout=500,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    (folder / "said").write_text(done.stdout)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_three_simulated_rounds_are_those_of_the_embedded_engine(name, simulated):
    algorithm, participation = case(name)
    assert (simulated / "checkpoints" / name).exists(), (simulated / "said").read_text()[-3000:]
    found = read_history(simulated / "checkpoints" / name, algorithm)
    expected = toy.embedded(algorithm, N, N_ROUNDS, {}, participation)
    assert found.state.round == N_ROUNDS and not any(r.failures for r in found.records)
    assert far(found.state.server["weights"], expected.server["weights"]) < 1e-5
    assert found.state.weights == pytest.approx(expected.weights, abs=1e-5)


@pytest.mark.slow
def test_simulate_gives_the_history_of_a_run_here_also_in_two_parts(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    rng = torch.Generator().manual_seed(0)
    clients = [Client(toy.points(n, n), test=toy.points(9, n)) for n in (12, 20, 16)]
    task = Task(table_mlp(toy.N_FEATURES, toy.N_CLASSES, rng))
    plan = Plan(CASES["scaffold"], task, as_validation(toy.points(10, 1)[0]), participation=0.7)
    sets = {"test": toy.points(40, 77)}
    expected = run(plan, clients, 3, evaluate_on=sets, progress=False)
    job = save(tmp_path, plan, clients, 3, model="table_mlp", evaluate_on=sets, timeout=200.0)
    job = replace(job, checkpoint=str(tmp_path / "checkpoint"))
    begun = simulate(replace(job, n_rounds=2), 3, n_processes=2, limit=250)
    assert begun.state.round == 2
    found = simulate(job, 3, n_processes=2, limit=250)
    assert far(found.weights, expected.weights) < 1e-5
    assert [r.clients for r in found.records] == [r.clients for r in expected.records]
    for a, b in zip(found.records, expected.records, strict=True):
        assert a.scores == pytest.approx(b.scores, abs=1e-4)
        assert a.client_scores.keys() == b.client_scores.keys()


@pytest.mark.slow
def test_a_simulation_that_breaks_off_says_why(monkeypatch):
    monkeypatch.chdir(ROOT)
    job = Job(CASES["fedavg"], 1, "no.such.module", timeout=60.0)
    with pytest.raises(FederatedError, match="there is no module 'no.such.module'"):
        simulate(job, 2, limit=300)


@pytest.mark.parametrize(("n_clients", "n_processes"), [(0, 1), (1, 0)])
def test_nonsense_is_refused_before_anything_is_started(n_clients, n_processes):
    with pytest.raises(DataError, match="at least one client and process"):
        simulate(Job(CASES["fedavg"], 1, "m"), n_clients, n_processes=n_processes)
