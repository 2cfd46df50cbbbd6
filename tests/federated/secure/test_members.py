"""Clients whose uploads are masked beside a fleet that trains them."""

import torch

from firecv.federated.algorithms import FedAvg
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.fleet import Failure
from firecv.federated.secure.members import Members
from firecv.federated.weighing import Weighing
from tests.federated.secure.federation import fleet_of
from tests.federated.small import LOCAL, Faulty, plan_of


def members_of(algorithm, n=3):
    plan = plan_of(algorithm)
    server = algorithm.init(plan.task, plan.holder) if isinstance(algorithm, Faulty) else None
    return Members(fleet_of(plan, n)), server or {"weights": plan.task.weights()}


def ask(members, phase, clients, sent=None, number=1):
    return dict(members.ask(phase, number, clients, lambda _: sent or {}))


def test_a_sketch_leaves_the_upload_with_the_client():
    members, server = members_of(Weighed(FedAvg(LOCAL), Weighing("mixture")))
    answers = ask(members, "sketch", [0, 2], server)
    assert [list(answer) for answer in answers.values()] == [["report/sketch"]] * 2
    assert members.uploads.keys() == {0, 2} and list(members.uploads[0]) == ["weights"]


def test_keys_are_new_whenever_they_are_asked_for():
    members, _ = members_of(FedAvg(LOCAL))
    one, other = ask(members, "keys", [0, 1]), ask(members, "keys", [0])
    assert not torch.equal(one[0]["keys"]["0"], one[1]["keys"]["0"])
    assert not torch.equal(one[0]["keys"]["0"], other[0]["keys"]["0"])
    assert members.secrets.keys() == {0, 1}


def test_whatever_a_client_raises_is_its_failure():
    members, server = members_of(Faulty(((1, "raises"),)))
    assert ask(members, "shares", [0]) == {
        0: Failure("FederatedError: refused by the client: keys are of round 0, asked for round 1")
    }
    ask(members, "keys", [0, 1, 2])
    answers = ask(members, "masked", [0, 1], server)
    assert answers[1] == Failure("ValueError: out of order")
    assert answers[0].reason.endswith("refused by the client: no keys have been agreed on")
    assert ask(members, "sketch", [1], server) == {1: Failure("ValueError: out of order")}


def test_who_has_not_trained_for_its_report_is_not_asked_again():
    members, server = members_of(Weighed(FedAvg(LOCAL), Weighing("mixture")))
    ask(members, "sketch", [0], server)
    assert ask(members, "masked", [1])[1] == Failure("it has not trained")
