"""The client half."""

import pytest
import torch
from flwr.app import Message

from firecv.federated.flower.client import client_app
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


def ask(grid, number, counted, client=0, session=1):
    server = SCAFFOLD.init(toy.load_task({}), toy.load_validation({}))
    request = Request("train", number, client, 0, session, counted, to_text(SCAFFOLD))
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
