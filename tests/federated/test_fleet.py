"""Clients computed one after the other in this process."""

import pytest
import torch

from firecv.federated import Client, LocalFleet
from firecv.federated.algorithms import SCAFFOLD, FedAvg
from firecv.federated.fleet import Failure, Fleet, client_rng, described
from firecv.models import Task
from firecv.training import Training
from tests.federated.small import FIRST, LOCAL, Faulty, Lazy, clients, data, network, same


def fleet_of(algorithm, some=None):
    return LocalFleet(algorithm, Task(network()), clients() if some is None else some, seed=3)


def ask(fleet, number=1, who=(0, 1, 2, 3, 4), phase="train"):
    server = fleet.algorithm.init(fleet.task, None)
    return dict(fleet.ask(phase, number, who, lambda k: server))


def test_answers_come_in_the_order_asked():
    fleet = fleet_of(FedAvg())
    server = fleet.algorithm.init(fleet.task, None)
    order = [k for k, _ in fleet.ask("train", 1, [3, 0, 4], lambda k: server)]
    assert order == [3, 0, 4]


def test_an_answer_does_not_depend_on_who_else_is_asked():
    alone, together = ask(fleet_of(FedAvg()), who=[2]), ask(fleet_of(FedAvg()))
    assert same(alone[2], together[2])


def test_answers_differ_from_round_to_round():
    fleet = fleet_of(FedAvg(LOCAL))
    assert not same(ask(fleet, 1)[0], ask(fleet, 2)[0])


def test_whatever_a_client_raises_is_its_failure():
    found = ask(fleet_of(Faulty(((1, "raises"),))))
    assert found[1] == Failure("ValueError: out of order")
    assert sum(isinstance(answer, Failure) for answer in found.values()) == 1


def test_an_interruption_is_no_failure_of_a_client():
    class Stops(FedAvg):
        def client_update(self, task, server, memory, client, rng):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(fleet_of(Stops()))


def test_asked_again_for_the_same_round_the_answer_is_the_same():
    fleet = fleet_of(SCAFFOLD(Training(2, 8, 0.1, "sgd")))
    ask(fleet, 1)
    fleet.settle(range(5))
    first = ask(fleet, 2)
    again = ask(fleet, 2)
    assert all(same(first[k], again[k]) for k in first)
    fleet.settle(range(5))
    assert not same(ask(fleet, 3)[0], first[0])


def test_memories_of_those_not_heard_stay_as_they_were():
    fleet = fleet_of(Faulty())
    ask(fleet, 1)
    fleet.settle([0, 1, 2])
    assert [bool(fleet.memories.get(k)) for k in range(5)] == [True, True, True, False, False]


def test_judging_changes_no_memory():
    fleet = fleet_of(Faulty(), clients(has_test=True))
    ask(fleet, 1)
    fleet.settle(range(5))
    before = {k: dict(memory) for k, memory in fleet.memories.items()}
    found = ask(fleet, 1, phase="judge")
    assert fleet.memories == before
    assert found[0].keys() == {"accuracy", "loss", "n"}


def test_clients_without_a_test_set_judge_nothing():
    assert ask(fleet_of(FedAvg()), phase="judge")[0] == {}


def test_sizes_and_tests_are_found_by_looking():
    some = [Client(data(3)), Client(data(5), test=data(2))]
    assert described(some) == ([3, 5], [1])


def test_a_sequence_that_knows_its_sizes_is_not_looked_at():
    class Closed(Lazy):
        def __getitem__(self, k):
            raise AssertionError

    fleet = fleet_of(FedAvg(), Closed(4))
    assert fleet.sizes == [FIRST, FIRST + 1, FIRST + 2, FIRST + 3] and fleet.tested == []


def test_clients_made_when_asked_for_answer_as_others_do():
    lazy, eager = ask(fleet_of(FedAvg(), Lazy(5))), ask(fleet_of(FedAvg()))
    assert all(same(lazy[k], eager[k]) for k in range(5))


def test_a_fleet_is_told_from_a_list_of_clients():
    assert isinstance(fleet_of(FedAvg()), Fleet)
    assert not isinstance(clients(), Fleet) and not isinstance(Lazy(3), Fleet)


def test_generators_belong_to_round_and_client():
    draws = {
        (number, k): float(torch.rand((), generator=client_rng(0, number, k)))
        for number in (1, 2)
        for k in (0, 1)
    }
    assert len(set(draws.values())) == 4
