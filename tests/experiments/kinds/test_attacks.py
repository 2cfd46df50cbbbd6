import numpy as np
import pytest
import torch

from firecv import tree
from firecv.experiments.kinds.attacks import ATTACKS, Honest, Liars
from firecv.federated import Client, LocalFleet
from firecv.federated.algorithms import FedAvg, Fire
from firecv.federated.schema import class_shares_of, sketch_of
from firecv.fire.summaries import SketchSummary
from firecv.models import Task
from tests.federated.small import LOCAL, clients, network

SERVER = {"weights": {"0.a": torch.tensor([1.0, 2.0]), "2.a": torch.tensor([3.0, 4.0])}}
ANSWER = {
    "weights": {"0.a": torch.tensor([1.5, 2.0]), "2.a": torch.tensor([3.0, 5.0])},
    "report/sketch": SketchSummary.of_rows(np.eye(3), 10).to_tree(),
    "report/classes": {"shares": torch.tensor([0.5, 0.5]).double()},
}


def attacked(name):
    return ATTACKS[name](Honest(SERVER, ANSWER, "2."))


def test_what_each_attack_does_to_weights():
    assert attacked("none") is ANSWER
    found = {name: [v.tolist() for v in attacked(name)["weights"].values()] for name in ATTACKS}
    assert found["sign flip"] == [[0.5, 2.0], [3.0, 3.0]]
    assert found["scaled update"] == [[6.0, 2.0], [3.0, 14.0]]
    for name in ("permuted head", "false sketch", "false classes"):
        assert found[name] == [[1.5, 2.0], [5.0, 3.0]]
    assert found["sign flip x10"] == [[-4.0, 2.0], [3.0, -6.0]]
    for name in ("label flip", "backdoor"):  # these lie by what they train on
        assert attacked(name) is ANSWER


def test_model_replacement_makes_the_mean_that_of_the_liars():
    honest = Honest(SERVER, ANSWER, "2.", share=0.2)
    sent = ATTACKS["model replacement"](honest)["weights"]
    for name, value in sent.items():  # four of five clients send what they were sent
        mean = 0.2 * value + 0.8 * SERVER["weights"][name]
        assert torch.allclose(mean, ANSWER["weights"][name])


def test_noise_is_ten_times_as_long_as_the_update_and_another_for_each_client_and_round():
    places = [(1, 0), (1, 1), (2, 0), (1, 0)]
    found = [ATTACKS["noise"](Honest(SERVER, ANSWER, "2.", place=p))["weights"] for p in places]
    for weights in found:
        length = tree.squared_distance(weights, SERVER["weights"]).sqrt()
        assert float(length) == pytest.approx(10 * 1.25**0.5, rel=1e-5)
    assert len({float(weights["0.a"][0]) for weights in found}) == 3


def test_replay_sends_the_weights_of_the_first_round_and_the_report_of_this_one():
    first = {**ANSWER, "weights": SERVER["weights"]}
    found = ATTACKS["replay"](Honest(SERVER, ANSWER, "2.", first))
    assert found["weights"] is first["weights"]
    assert found["report/sketch"] is ANSWER["report/sketch"]
    task, made = Task(network()), clients(4)
    fleet = Liars(LocalFleet(FedAvg(LOCAL), task, made, 0), task, [2], "replay")
    sent = [
        dict(fleet.ask("train", number, range(4), lambda k: {"weights": task.weights()}))
        for number in (1, 2)
    ]
    for k in range(4):
        pair = [answers[k]["weights"]["2.weight"] for answers in sent]
        assert torch.equal(*pair) == (k == 2)  # others shuffle differently in the second round


def test_reports_that_lie_have_the_right_form():
    sketch, classes = attacked("false sketch"), attacked("false classes")
    assert sketch_of(3)(sketch["report/sketch"], 10) is None
    assert torch.allclose(sketch["report/sketch"]["mean"], 10 * ANSWER["report/sketch"]["mean"])
    assert class_shares_of(2)(classes["report/classes"], 10) is None
    assert classes["report/classes"]["shares"].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("algorithm", [FedAvg(LOCAL), Fire(local=LOCAL)], ids=["FedAvg", "FIRE"])
def test_only_liars_lie_and_what_is_sent_is_made_once(algorithm):
    task, made, sent = Task(network()), clients(4), []
    server = {"weights": task.weights(), "round": 0.0}

    def payload(client):
        sent.append(client)
        return server

    def asked(fleet):
        return dict(fleet.ask("report", 1, range(4), payload))

    honest = asked(LocalFleet(algorithm, task, made, 0))
    found = asked(Liars(LocalFleet(algorithm, task, made, 0), task, [2], "permuted head"))
    assert sent == [0, 1, 2, 3] * 2
    for k in range(4):
        same = torch.equal(found[k]["weights"]["2.weight"], honest[k]["weights"]["2.weight"])
        assert same == (k != 2)
    assert isinstance(made[0], Client)
