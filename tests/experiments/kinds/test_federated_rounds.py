"""What is told of rounds."""

from types import SimpleNamespace

import pytest
import torch

from firecv.experiments.kinds.federated_rounds import detail, scored, totals
from firecv.federated import ALGORITHMS, LocalFleet, Plan, rounds, run
from firecv.federated.algorithms import FedAvg, FedDyn
from firecv.federated.algorithms.weighed import Weighed
from firecv.models import Task
from tests.federated.algorithms import toy
from tests.federated.algorithms.test_contract import holder, make


def test_bytes_are_per_client_and_round_in_models_sent_there_and_back():
    heard = SimpleNamespace(clients=[0, 1], failures=[], bytes_up=40, bytes_down=40, weighed=None)
    failed = SimpleNamespace(clients=[0], failures=[1], bytes_up=20, bytes_down=40, weighed=None)
    found = totals([heard, failed], 10)
    assert found["bytes"] == pytest.approx((80 + 60) / 4 / 20)
    assert found["failures"] == 1 and found["rejections"] != found["rejections"]


def test_a_round_is_told_by_its_number():
    state = SimpleNamespace(round=3, weights=[0.25, 0.75])
    found = detail(SimpleNamespace(state=state), 0.5)
    assert found == {"round 3": 0.5, "weight 3 0": 0.25, "weight 3 1": 0.75}


def test_weights_that_diverged_have_no_score():
    task = Task(torch.nn.Sequential(torch.nn.Linear(2, 2)))
    test = torch.zeros(3, 2), torch.zeros(3, dtype=torch.int64)
    weights = task.weights()
    for value, is_finite in ((0.0, True), (float("nan"), False)):
        server = {"weights": {name: torch.full_like(w, value) for name, w in weights.items()}}
        done = SimpleNamespace(state=SimpleNamespace(server=server))
        found = scored(Plan(FedAvg(), task), done, test)
        assert (found["accuracy"] == found["accuracy"]) == is_finite


@pytest.mark.parametrize("name", [*ALGORITHMS, "feddyn weighed"])
def test_scores_are_those_of_a_run(name):
    """Whatever weights an algorithm wants scored, an experiment scores them as a run does."""
    algorithm = Weighed(FedDyn(toy.PLAIN, 0.5)) if name == "feddyn weighed" else make(name)
    plan = Plan(algorithm, toy.toy_task(), holder(name), screen=toy.LENIENT)
    clients, test = toy.toy_clients(), toy.toy_clients((40,))[0].data
    *_, done = rounds(plan, LocalFleet(algorithm, plan.task, clients, plan.seed), 2)
    records = run(plan, clients, 2, evaluate_on={"test": test}, progress=False).records
    found = scored(plan, done, test)
    assert found["accuracy"] == records[-1].scores["test_accuracy"]
    assert found["log_loss"] == pytest.approx(records[-1].scores["test_loss"], rel=1e-12)
    if "feddyn" in name:  # which sends other weights than it is scored by
        other = scored(Plan(FedAvg(), plan.task), done, test)
        assert other["log_loss"] != pytest.approx(found["log_loss"], rel=1e-3)
