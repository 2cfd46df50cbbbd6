"""The client half."""

from dataclasses import replace

import pytest
import torch
from flwr.app import Message, RecordDict
from flwr.common.config import parse_config_args

from firecv.federated import SitePolicy
from firecv.federated.flower.client import client_app, site_policy
from firecv.federated.flower.description import to_text
from firecv.federated.flower.job import Job, to_config
from firecv.federated.flower.records import Request, to_bundle, to_records, with_request
from tests.federated.flower import toy
from tests.federated.flower.cases import CASES
from tests.federated.flower.in_process import InProcessGrid

SCAFFOLD = CASES["scaffold"]


def grid_of(**node_config):
    job = Job(SCAFFOLD, 3, toy.__name__)
    grid = InProcessGrid(client_app(), to_config(job), 2)
    grid.contexts = {}
    grid.join(0, **node_config)
    return grid


def ask(grid, number, counted, client=0, session=1, algorithm=None, phase="train"):
    server = SCAFFOLD.init(toy.load_task({}), toy.load_validation({}))
    described = algorithm or to_text(SCAFFOLD)
    request = Request(phase, number, client, 0, session, counted, described)
    node = grid.node_of(0)
    message = Message(with_request(to_records(server), request), node, "train")
    (sent,) = grid.push_messages([message])
    (reply,) = grid.pull_messages([sent])
    return reply.error.reason if reply.has_error() else to_bundle(reply.content)


def same(a, b):
    return all(torch.equal(value, b[name][key]) for name in a for key, value in a[name].items())


@pytest.mark.parametrize("has_folder", [False, True])
def test_the_same_round_has_the_same_answer_however_often_it_is_asked(has_folder, tmp_path):
    grid = grid_of(**({"memory-folder": str(tmp_path)} if has_folder else {}))
    first = ask(grid, 1, 0)
    assert same(ask(grid, 1, 0), first)
    second = ask(grid, 2, 1)
    assert same(ask(grid, 2, 1), second) and not same(first, second)
    assert bool(list(tmp_path.rglob("client-0"))) == has_folder


def test_a_memory_in_a_folder_outlives_the_flower_run(tmp_path):
    grid = grid_of(**{"memory-folder": str(tmp_path)})
    ask(grid, 1, 0)
    expected = ask(grid, 2, 1)
    again = grid_of(**{"memory-folder": str(tmp_path)})
    assert same(ask(again, 2, 1), expected)


def test_another_session_has_another_memory(tmp_path):
    for grid in (grid_of(), grid_of(**{"memory-folder": str(tmp_path)})):
        first = ask(grid, 1, 0)
        ask(grid, 2, 1)
        assert same(ask(grid, 1, 0, session=2), first)
        assert "remembered after round 2" in ask(grid, 3, 2, session=3)


def test_a_message_for_another_client_is_refused():
    assert "asked as client 1, but this is client 0" in ask(grid_of(), 1, 0, client=1)


def test_errors_come_back_by_their_message_alone():
    grid = grid_of()
    grid.contexts[grid.node_of(0)].run_config["problem"] = "no.such.module"
    said = ask(grid, 1, 0)
    assert said.startswith("DataError: there is no module") and "Traceback" not in said


def test_a_problem_of_ones_own_is_used_instead_of_the_named_one():
    grid = grid_of()
    grid.contexts[grid.node_of(0)].run_config["problem"] = "no.such.module"
    grid.app = client_app(toy)
    assert "weights" in ask(grid, 1, 0)


POLICY = "policy.lowest-noise=2 policy.largest-clip=0.5 policy.algorithms='fedavg, fedprox'"


def node_with(policy):
    """Return a grid whose node was started with this configuration."""
    return grid_of(**parse_config_args([policy]))


@pytest.mark.parametrize("phase", ["train", "report", "judge"])
@pytest.mark.parametrize(
    ("algorithm", "words"),
    [
        ("fedavg", "PolicyError: the server asks for FedAvg without noise"),
        ('{"type": "private", "base": {"type": "fedavg"}, "clip": 0.5, "noise": 0}', "noise 0"),
        ('{"type": "private", "base": {"type": "fedavg"}, "clip": 0.5, "noise": 1}', "noise 1"),
        ('{"type": "private", "base": {"type": "fedavg"}, "clip": 1.0, "noise": 4}', "clip 1"),
        ('{"type": "private", "base": {"type": "fedcfa"}, "noise": 4}', "'fedcfa'"),
        ('{"type": "private", "base": {"type": "fedavg"}, "clip": NaN, "noise": 4}', "bounds are"),
        ('{"type": "private", "base": {"type": "fedavg"}, "clip": 0.5, "noise": NaN}', "bounds"),
        ('{"type": "private", "base": {"type": "fedavg"}, "seeded": true}', "no setting 'seeded'"),
    ],
)
def test_a_server_that_asks_for_less_than_the_nodes_policy_is_refused(algorithm, words, phase):
    said = ask(node_with(POLICY), 1, 0, algorithm=algorithm, phase=phase)
    assert isinstance(said, str) and words in said


def test_a_refusal_comes_before_data_are_read():
    grid = node_with(POLICY)
    grid.contexts[grid.node_of(0)].run_config["problem"] = "no.such.module"
    assert "PolicyError" in ask(grid, 1, 0, algorithm="fedavg")


def test_what_the_policy_allows_is_answered_with_noise():
    asked = '{"type": "private", "base": {"type": "fedavg"}, "clip": 0.5, "noise": 2}'
    one, other = (ask(node_with(POLICY), 1, 0, algorithm=asked) for _ in range(2))
    for name, value in one["weights"].items():
        assert not torch.equal(value, other["weights"][name])


def test_the_policy_of_the_clients_own_data_counts_too():
    class Careful:
        load_task, load_validation = toy.load_task, toy.load_validation

        @staticmethod
        def load_client(partition, n_partitions, settings):
            client = toy.load_client(partition, n_partitions, settings)
            return replace(client, policy=SitePolicy(lowest_noise=1.0))

    grid = grid_of()
    grid.app = client_app(Careful)
    assert "PolicyError" in ask(grid, 1, 0, algorithm="fedavg")


def test_the_run_configuration_which_is_the_servers_has_no_say():
    grid = node_with(POLICY)
    grid.contexts[grid.node_of(0)].run_config["policy.lowest-noise"] = 0.0
    assert "PolicyError" in ask(grid, 1, 0, algorithm="fedavg")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("policy.lowest_noise=2", "'policy.lowest_noise'; expected policy.lowest-noise"),
        ("policy-lowest-noise=2", "'policy-lowest-noise'"),
        ("policy='strict'", "with 'policy'"),
        ("policy.lowest-noise='2'", "'2'; expected a number"),
        ("policy.lowest-noise=true", "True; expected a number"),
        ("policy.lowest-noise=-1", "from 0 on"),
        ("policy.largest-clip=0", "above 0"),
        ("policy.algorithms='fedavgg'", "'fedavgg'; expected some of fedavg"),
        ("policy.algorithms=''", "''; expected some of"),
    ],
)
def test_a_policy_that_cannot_be_read_is_an_error_and_not_left_aside(config, words):
    grid = node_with(config)
    (sent,) = grid.push_messages([Message(RecordDict(), grid.node_of(0), "query")])
    (described,) = grid.pull_messages([sent])
    for said in (ask(grid, 1, 0), described.error.reason):
        assert said.startswith("DataError") and words in said


def test_a_policy_may_be_a_table_in_a_file(tmp_path):
    file = tmp_path / "site.toml"
    file.write_text(
        'partition-id = 0\nnum-partitions = 2\n[policy]\nlowest-noise = 2\nalgorithms = "fedavg"\n'
    )
    found = site_policy(parse_config_args([str(file)]))
    assert found == SitePolicy(lowest_noise=2.0, algorithms=("fedavg",))
