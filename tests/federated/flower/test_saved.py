"""Problems in a folder."""

import json
import math

import pytest
import torch

from firecv.errors import DataError
from firecv.federated import Client, LocalFleet, Plan, SitePolicy, rounds
from firecv.federated.flower.job import plan_of
from firecv.federated.flower.problem import load_problem
from firecv.federated.flower.saved import save
from firecv.fire.validation import Summary, Validation, as_validation
from firecv.fisher import Diagonal
from firecv.models import Task, cnn, federated_mlp, table_mlp
from tests.federated.flower.cases import CASES

RNG = torch.Generator().manual_seed(0)
NETWORKS = {
    "table_mlp": (table_mlp(6, 3, RNG), (6,)),
    "federated_mlp": (federated_mlp((1, 6, 6), 3, RNG), (1, 6, 6)),
    "cnn": (cnn((1, 6, 6), 3, RNG), (1, 6, 6)),
}


def data(n, shape):
    return torch.randn(n, *shape, generator=RNG), torch.randint(3, (n,), generator=RNG)


@pytest.mark.parametrize("model", NETWORKS)
def test_a_run_on_what_was_saved_is_the_run_itself(model, tmp_path):
    network, shape = NETWORKS[model]
    task = Task(network, [name for name, _ in network.named_parameters()][-2:])
    clients = [
        Client(data(9, shape), Validation("labelled", *data(4, shape)), data(3, shape)),
        Client(data(7, shape), policy=SitePolicy(0.0, math.inf, ("fedavg", "fire"))),
    ]
    holder, test = as_validation(data(5, shape)[0]), data(4, shape)
    plan = Plan(CASES["fedavg"], task, holder, seed=3, participation=0.5)
    job = save(tmp_path, plan, clients, 2, model=model, evaluate_on={"test": test})
    problem = load_problem(job.problem)
    there = [problem.load_client(k, 2, job.settings) for k in range(2)]
    for ours, theirs in zip(clients, there, strict=True):
        assert torch.equal(ours.data[0], theirs.data[0])
        assert torch.equal(ours.data[1], theirs.data[1])
        assert ours.validation.regime == theirs.validation.regime
        assert (ours.test is None) == (theirs.test is None)
        assert ours.policy == theirs.policy
    again = plan_of(job, problem)
    assert again.task.trainable == task.trainable and torch.equal(again.holder.x, holder.x)
    assert torch.equal(problem.load_sets(job.settings)["test"][0], test[0])
    *_, a = rounds(plan, LocalFleet(plan.algorithm, task, clients, 3), 2)
    *_, b = rounds(again, LocalFleet(again.algorithm, again.task, there, 3), 2)
    for name, value in a.state.server["weights"].items():
        assert torch.equal(b.state.server["weights"][name], value)


def test_nothing_is_pickled(tmp_path):
    network, shape = NETWORKS["table_mlp"]
    save(tmp_path, Plan(CASES["fedavg"], Task(network)), [Client(data(9, shape))], 1, model="cnn")
    for file in tmp_path.iterdir():
        if file.name == "policy-0":
            assert json.loads(file.read_text())["type"] == "sitepolicy"
        else:
            assert b"firecv-bundle" in file.read_bytes()[:400]


def test_models_that_have_no_name_are_refused(tmp_path):
    network, shape = NETWORKS["table_mlp"]
    with pytest.raises(DataError, match="there is no model 'resnet'"):
        save(tmp_path, Plan(CASES["fedavg"], Task(network)), [], 1, model="resnet")


def test_a_summary_of_v_cannot_be_saved(tmp_path):
    network, shape = NETWORKS["table_mlp"]
    fisher = Diagonal.zeros(Task(network).parameters())
    plan = Plan(CASES["fedavg"], Task(network), as_validation(Summary(fisher, "exact")))
    with pytest.raises(DataError, match="V is seen as 'summary'"):
        save(tmp_path, plan, [Client(data(9, shape))], 1, model="table_mlp")


def test_a_missing_file_is_named(tmp_path):
    network, shape = NETWORKS["table_mlp"]
    plan = Plan(CASES["fedavg"], Task(network))
    job = save(tmp_path, plan, [Client(data(9, shape))], 1, model="table_mlp")
    with pytest.raises(DataError, match="client-5"):
        load_problem(job.problem).load_client(5, 6, job.settings)
