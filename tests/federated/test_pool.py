"""Clients in processes of their own: the same results, and what happens when one dies."""

import os
import signal
from dataclasses import replace
from multiprocessing import active_children

import pytest
import torch

from firecv.errors import DataError, FederatedError
from firecv.federated import Client, LocalFleet, rounds
from firecv.federated.algorithms import SCAFFOLD, FedAvg, FedFomo, Fire
from firecv.federated.pool import AHEAD, ProcessFleet, _Letters
from firecv.federated.run import run
from firecv.federated.shared import Block
from firecv.fire.validation import as_validation
from firecv.training import Training
from tests.federated.small import LOCAL, Faulty, Lazy, clients, data, plan_of, same

PLAIN = Training(2, 8, 0.1, "sgd")


@pytest.fixture(autouse=True)
def one_thread():
    """Compare with one thread, as processes have."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def pool_of(plan, some, **settings):
    settings = {"n_processes": 2, **settings}
    return ProcessFleet(plan.algorithm, plan.task, some, plan.seed, **settings)


def children():
    """Return the processes for clients that are there."""
    return {process.pid for process in active_children()}


def test_trees_for_all_are_written_once_and_others_each_time():
    block, inbox = Block(), Block()
    letters, shared = _Letters(block), {"a": torch.ones(3)}
    for k in range(3):
        sent = {"number": float(k), "weights": shared, "own": {"b": torch.full((2,), float(k))}}
        remembered = {"m": {"c": torch.full((1,), k + 0.5)}}
        names, broadcast, own, memory = letters.addressed(inbox, sent, remembered)
        parts = block.read(broadcast) | inbox.read(own)
        assert same({name: parts[name] for name in names}, sent)
        assert same(inbox.read(memory), remembered)
        assert set(broadcast) == ({"weights", "own"} if k == 0 else {"weights"})


@pytest.mark.parametrize("settings", [{"n_processes": 0}, {"timeout": 0.0}], ids=str)
def test_settings_without_sense_are_named(settings):
    with pytest.raises(DataError, match="n_processes is at least 1"):
        pool_of(plan_of(FedAvg()), clients(), **settings)


def test_a_fleet_nobody_asks_starts_no_process():
    before = children()
    with pool_of(plan_of(FedAvg()), clients()) as fleet:
        assert fleet.sizes == [20, 21, 22, 23, 24] and fleet.tested == []
        assert children() == before


ALGORITHMS = {
    "fedavg": lambda: plan_of(FedAvg(LOCAL)),
    "fedfomo": lambda: plan_of(FedFomo(LOCAL)),
    "weigh": lambda: plan_of(
        Fire(rule="mixture", every=2, local=LOCAL), holder=as_validation(data(40, 8)[0] + 1)
    ),
    "quadratic": lambda: plan_of(
        Fire("quadratic", every=2, local=LOCAL), holder=as_validation(data(40, 8)[0])
    ),
    "faulty": lambda: plan_of(Faulty(((1, "raises"), (2, "sends NaN")), rounds=(2, 2))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ALGORITHMS)
def test_results_are_those_of_one_process(name):
    plan, some = ALGORITHMS[name](), clients(7, has_test=True)
    local = LocalFleet(plan.algorithm, plan.task, some, plan.seed)
    with pool_of(plan, some) as pool:
        pairs = zip(rounds(plan, local, 3), rounds(plan, pool, 3), strict=True)
        for one, other in pairs:
            assert same(one.state.server, other.state.server)
            assert replace(one, state=None, seconds=0, weighed=None) == replace(
                other, state=None, seconds=0, weighed=None
            )
            assert one.state.weights == other.state.weights
        assert local.memories.keys() == pool.memories.keys()
        assert all(same(local.memories[k], pool.memories[k]) for k in local.memories)
        server = one.state.server
        judged = [dict(f.ask("judge", 3, f.tested, lambda k: server)) for f in (local, pool)]
        assert judged[0] == judged[1] and len(judged[0]) == 7


@pytest.mark.slow
def test_a_process_that_dies_costs_its_client_only_and_comes_back():
    """Client 2 kills the process it runs in, in rounds 2 and 3."""
    plan = plan_of(Faulty(((2, "dies"),), rounds=(2, 3)))
    without = plan_of(Faulty(((2, "raises"),), rounds=(2, 3)))
    local = LocalFleet(without.algorithm, without.task, clients(), 0)
    wanted = list(rounds(without, local, 4))
    before = children()
    with pool_of(plan, clients()) as pool:
        found = list(rounds(plan, pool, 4))
    assert [done.failures for done in found] == [
        {},
        {2: "its process died with code -9"},
        {2: "its process died with code -9"},
        {},
    ]
    assert all(same(a.state.server, b.state.server) for a, b in zip(found, wanted, strict=True))
    assert children() == before


@pytest.mark.slow
def test_a_process_killed_while_idle_costs_nobody():
    plan = plan_of(FedAvg(LOCAL))
    with pool_of(plan, clients()) as pool:
        going = rounds(plan, pool, 2)
        next(going)
        for process in active_children():
            os.kill(process.pid, signal.SIGKILL)
            process.join()
        done = next(going)
    assert not done.failures and len(done.clients) == 5


@pytest.mark.slow
def test_who_is_late_is_dropped_and_counted(tmp_path):
    plan = plan_of(Faulty(((0, "sleeps"), (3, "sleeps")), rounds=(2, 2)))
    history = run(
        plan, clients(), 3, n_processes=2, timeout=8.0, checkpoint=tmp_path, progress=False
    )
    late = {0: "no answer within 8 s", 3: "no answer within 8 s"}
    assert [record.failures for record in history.records[1:]] == [{}, late, {}]
    assert history.records[2].clients == (1, 2, 4) and history.records[2].seconds > 8


@pytest.mark.slow
def test_clients_made_when_asked_for_are_made_in_the_processes():
    plan = plan_of(FedAvg(LOCAL))
    local = LocalFleet(plan.algorithm, plan.task, clients(6), 0)
    (wanted,) = rounds(plan, local, 1)
    with pool_of(plan, Lazy(6)) as pool:
        (found,) = rounds(plan, pool, 1)
    assert same(found.state.server, wanted.state.server)


@pytest.mark.slow
def test_a_round_given_up_leaves_a_fleet_that_can_be_asked_again():
    plan = plan_of(SCAFFOLD(PLAIN))
    local = LocalFleet(plan.algorithm, plan.task, clients(), 0)
    wanted = list(rounds(plan, local, 2))[-1]
    with pool_of(plan, clients()) as pool:
        server = plan.algorithm.init(plan.task, plan.holder)
        going = pool.ask("train", 1, range(5), lambda k: server)
        next(going)
        going.close()
        found = list(rounds(plan, pool, 2))[-1]
    assert same(found.state.server, wanted.state.server)


class Unpicklable(FedAvg):
    def __setstate__(self, state):
        raise ValueError("not here")


@pytest.mark.slow
def test_processes_that_cannot_start_are_an_error(capfd):
    plan = plan_of(Unpicklable(LOCAL))
    with pool_of(plan, clients()) as pool:
        with pytest.raises(FederatedError, match="before it was ready"):
            list(rounds(plan, pool, 1))
    assert "not here" in capfd.readouterr().err


@pytest.mark.slow
def test_answers_waiting_for_a_slow_client_are_few():
    """Client 0 sleeps until it is late; the others do not all run ahead of it."""
    plan = plan_of(Faulty(((0, "sleeps"),)))
    asked = []

    def payload(k):
        asked.append(k)
        return {"weights": plan.task.weights(), "round": 0.0}

    some = [Client(data(20 + k, k)) for k in range(30)]
    with pool_of(plan, some, timeout=8.0) as pool:
        going = pool.ask("train", 1, range(30), payload)
        next(going)
        assert max(asked) == 2 * AHEAD - 1
        assert [k for k, _ in going] == list(range(1, 30))


@pytest.mark.slow
def test_a_run_in_processes_resumes_one_in_this_process(tmp_path):
    plan = plan_of(SCAFFOLD(PLAIN), participation=0.6)
    whole = run(plan, clients(), 4, progress=False)
    run(plan, clients(), 2, checkpoint=tmp_path, progress=False)
    rest = run(plan, clients(), 4, checkpoint=tmp_path, n_processes=2, progress=False)
    assert same(rest.state.server, whole.state.server)
