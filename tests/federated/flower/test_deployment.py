"""A SuperLink and SuperNodes, each a process of its own, on the loopback address."""

import time
from dataclasses import replace

import pytest

from firecv.federated.flower import Job
from firecv.federated.flower.app_folder import write_app
from firecv.federated.flower.outcome import ENDED, read_history
from tests.federated.flower import toy
from tests.federated.flower.cases import CASES
from tests.federated.flower.deployment import Deployment, descendants_named, kill
from tests.federated.flower.jobs import far, write_several

pytestmark = pytest.mark.slow

LIMIT = 550.0
UNTESTED = {"untested": True}  # every message starts a process, so none is spent on scores


def job_for(folder, name, n_rounds=3, timeout=120.0, nodes=None):
    return Job(
        CASES[name],
        n_rounds,
        toy.__name__,
        UNTESTED,
        timeout=timeout,
        checkpoint=str(folder / "checkpoint"),
        nodes=None if nodes is None else str(nodes),
        trust_nodes=nodes is None,
    )


def lie(app):
    """Let the nodes of an app lie if their configuration says so."""
    (app / "firecv_run" / "client_app.py").write_text(
        "from tests.federated.flower.odd_client import app\n\n__all__ = ['app']\n"
    )


def check(folder, name, n_clients, said=""):
    assert (folder / ENDED).exists(), said[-3000:]
    found = read_history(folder, CASES[name])
    expected = toy.embedded(CASES[name], n_clients, 3)
    assert found.state.round == 3 and not any(r.failures for r in found.records)
    assert far(found.state.server["weights"], expected.server["weights"]) < 1e-5


def wait_for(path, seconds=300):
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.2)


def test_three_rounds_in_the_clear_are_those_of_the_embedded_engine(tmp_path):
    names = ["fedavg", "scaffold", "fire"]
    job = job_for(tmp_path, "fedavg")
    write_several(tmp_path / "app", job, {name: (CASES[name], 1.0) for name in names})
    with Deployment(tmp_path / "processes", 2) as deployment:
        said = deployment.run(tmp_path / "app", LIMIT)
    for name in names:
        check(tmp_path / "checkpoint" / name, name, 2, said)


def test_three_rounds_over_tls_with_known_nodes_and_a_stranger_is_refused(tmp_path):
    job = job_for(tmp_path, "scaffold", nodes=table_of(tmp_path))
    write_app(tmp_path / "app", job)
    with Deployment(tmp_path / "processes", 2, is_secure=True) as deployment:
        stranger = deployment.start_node(1, key=2)
        refused = deployment.nodes[1]
        said = deployment.run(tmp_path / "app", LIMIT)
        assert refused.wait(60) != 0
    assert "Failed to activate SuperNode" in (stranger / "log").read_text()
    why = "No SuperNode found with the given public key"
    assert why in (deployment.home / "log").read_text()
    check(tmp_path / "checkpoint", "scaffold", 2, said)


LIES = {
    "claims 10^12 samples": ('claims="1000000000000"', "it claims 1000000000000 samples"),
    "claims another's place": ("partition-id=0 num-partitions=1", "it claims to be partition 0"),
}


@pytest.mark.parametrize(("config", "why"), LIES.values(), ids=LIES)
def test_one_node_of_three_that_lies_about_itself_costs_its_answers_only(config, why, tmp_path):
    job = job_for(tmp_path, "fedavg", nodes=table_of(tmp_path))
    write_app(tmp_path / "app", job)
    lie(tmp_path / "app")
    with Deployment(tmp_path / "processes", 3, is_secure=True, configs={2: config}) as deployment:
        said = deployment.run(tmp_path / "app", LIMIT)
    assert (tmp_path / "checkpoint" / ENDED).exists(), said[-3000:]
    found = read_history(tmp_path / "checkpoint", job.algorithm)
    assert found.state.round == 3 and "takes no part" in said
    for record in found.records[1:]:
        assert record.clients == (0, 1) and why in record.failures[2]
    honest = toy.embedded(CASES["fedavg"], 2, 3)
    assert far(found.state.server["weights"], honest.server["weights"]) < 1e-5


def test_a_deployment_without_a_table_is_refused(tmp_path):
    job = replace(job_for(tmp_path, "fedavg"), trust_nodes=False)
    write_app(tmp_path / "app", job)
    with Deployment(tmp_path / "processes", 1) as deployment:
        said = deployment.run(tmp_path / "app", LIMIT)
    assert "nothing says which node is which client" in said
    assert not (tmp_path / "checkpoint").exists()


def table_of(folder):
    """Return the table that a secure deployment in this folder writes."""
    return folder / "processes" / "certificates" / "nodes.toml"


def test_clients_that_die_refuse_or_send_garbage_do_not_end_the_run(tmp_path):
    job = job_for(tmp_path, "fedavg", n_rounds=3, timeout=60.0)
    write_app(tmp_path / "app", job)
    lie(tmp_path / "app")
    configs = {1: 'sends="garbage"', 3: "policy.lowest-noise=2.0"}
    with Deployment(tmp_path / "processes", 4, configs=configs) as deployment:
        running = deployment.begin(tmp_path / "app")
        wait_for(tmp_path / "checkpoint" / "round-00000001.json")
        deployment.kill_node(2)
        running.wait(LIMIT)
    history = read_history(tmp_path / "checkpoint", job.algorithm)
    assert history.state.round == 3 and history.stopped is None
    first, *_, last = history.records[1:]
    assert first.clients == (0, 2) and "refused" in first.failures[1]
    assert last.clients == (0,) and "refused" in last.failures[1] and 2 in last.failures
    assert all("this site's policy is noise of" in r.failures[3] for r in history.records[1:])


def test_a_server_that_is_killed_goes_on_from_its_checkpoint(tmp_path):
    job = job_for(tmp_path, "scaffold")
    write_app(tmp_path / "app", job)
    config = f'memory-folder="{tmp_path / "memory"}"'
    with Deployment(tmp_path / "processes", 2, configs={0: config, 1: config}) as deployment:
        running = deployment.begin(tmp_path / "app")
        wait_for(tmp_path / "checkpoint" / "round-00000001.json")
        wait_for_answers(tmp_path / "memory", 2)
        (server,) = descendants_named("flwr-serverapp", deployment.home)
        kill(server)
        running.wait(LIMIT)
        assert not (tmp_path / "checkpoint" / ENDED).exists()
        said = deployment.run(tmp_path / "app", LIMIT)
    check(tmp_path / "checkpoint", "scaffold", 2, said)


def wait_for_answers(folder, number, seconds=300):
    """Wait until a client has answered the round of this number."""
    from firecv.federated.flower.memory import read

    deadline = time.monotonic() + seconds
    while not any(read(path).number >= number for path in folder.glob("session-*/client-?")):
        assert time.monotonic() < deadline, f"nobody has answered round {number}"
        time.sleep(0.1)
