"""A run from the first round to the last."""

from dataclasses import replace

import pytest
import torch

from firecv.errors import DataError
from firecv.federated import LocalFleet, rounds
from firecv.federated.algorithms import SCAFFOLD, FedAvg, FedBN, FedDyn, Fire
from firecv.federated.history import RunStopped
from firecv.federated.run import Stop, run
from firecv.fire.validation import as_validation
from firecv.models import Task
from firecv.training import Training
from tests.federated.small import LOCAL, Faulty, clients, data, network, plan_of, same

PLAIN = Training(2, 8, 0.1, "sgd")
ALGORITHMS = {
    "fedavg": lambda: plan_of(FedAvg(LOCAL)),
    "scaffold": lambda: plan_of(SCAFFOLD(PLAIN), participation=0.6),
    "faulty": lambda: plan_of(Faulty(((2, "sends NaN"),), rounds=(2, 3))),
    "weigh": lambda: plan_of(
        Fire(rule="mixture", every=2, local=LOCAL), holder=as_validation(data(40, 8)[0] + 1)
    ),
    "quadratic": lambda: plan_of(
        Fire("quadratic", every=2, local=LOCAL), holder=as_validation(data(40, 8)[0])
    ),
}


def plain(records):
    return [replace(record, seconds=0.0) for record in records]


def run_(plan, n_rounds, some=None, **settings):
    settings = {"evaluate_on": {"test": data(60, 77)}, "progress": False, **settings}
    return run(plan, clients(has_test=True) if some is None else some, n_rounds, **settings)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_run_is_its_rounds(name):
    plan = ALGORITHMS[name]()
    history = run_(plan, 4)
    fleet = LocalFleet(plan.algorithm, plan.task, clients(has_test=True), plan.seed)
    *_, done = rounds(plan, fleet, 4)
    assert same(history.state.server, done.state.server)
    assert replace(history.state, server={}) == replace(done.state, server={})
    assert [record.round for record in history.records] == [0, 1, 2, 3, 4]
    assert history.records[-1].clients == done.clients
    assert history.records[-1].bytes_up == done.bytes_up


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("first", [1, 3])
def test_a_run_resumed_is_the_whole_run(name, first, tmp_path):
    plan = ALGORITHMS[name]()
    whole = run_(plan, 5)
    run_(plan, first, checkpoint=tmp_path)
    resumed = run_(plan, 5, checkpoint=tmp_path)
    assert same(resumed.state.server, whole.state.server)
    assert plain(resumed.records) == plain(whole.records)
    again = run_(plan, 5, checkpoint=tmp_path)
    assert plain(again.records) == plain(whole.records)
    assert same(again.weights, whole.weights)


@pytest.mark.parametrize("client", [0, 2])
def test_an_interruption_loses_no_round(tmp_path, client, monkeypatch):
    """The second round is interrupted while some clients have answered."""
    plan = plan_of(SCAFFOLD(PLAIN))
    whole = run_(plan, 4)
    update, asked = SCAFFOLD.client_update, []

    def interrupted(self, *arguments):
        asked.append(1)
        if len(asked) == 5 + client + 1:
            raise KeyboardInterrupt
        return update(self, *arguments)

    fleet = LocalFleet(plan.algorithm, plan.task, clients(has_test=True), plan.seed)
    with monkeypatch.context() as patch:
        patch.setattr(SCAFFOLD, "client_update", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_(plan, 4, fleet, checkpoint=tmp_path)
    resumed = run_(plan, 4, fleet, checkpoint=tmp_path)
    assert same(resumed.state.server, whole.state.server)
    assert plain(resumed.records) == plain(whole.records)


def test_weights_are_judged_on_sets_and_by_clients():
    history = run_(plan_of(FedAvg(LOCAL)), 6, evaluate_on={"one": data(50, 1), "two": data(80, 2)})
    last = history.records[-1]
    assert last.scores.keys() == {"one_accuracy", "one_loss", "two_accuracy", "two_loss"}
    assert last.client_scores.keys() == set(range(5))
    assert last.scores["two_accuracy"] > history.records[0].scores["two_accuracy"]
    x, y = data(80, 2)
    with torch.no_grad():
        right = Task(network()).scores(x, history.weights).argmax(1) == y
    assert last.scores["two_accuracy"] == pytest.approx(float(right.double().mean()))
    assert {"one_accuracy", "client_loss"} <= set(history.table().columns)


def test_weights_of_clients_own_are_judged_where_there_are_such():
    algorithm = FedBN(LOCAL)
    plan = replace(plan_of(algorithm), task=Task(network(batch_norm=True).eval()))
    last = run_(plan, 2).records[-1]
    assert all("personal_accuracy" in scores for scores in last.client_scores.values())


def test_what_an_algorithm_wants_judged_is_what_a_run_returns():
    plan = plan_of(FedDyn(Training(2, 8, 0.05, "sgd")))
    history = run_(plan, 3)
    assert same(history.weights, plan.algorithm.judged(history.state.server))


def test_evaluation_every_few_rounds_and_at_the_end():
    history = run_(plan_of(FedAvg(LOCAL)), 5, every=2)
    is_judged = [bool(record.scores) for record in history.records]
    assert is_judged == [True, False, True, False, True, True]


def test_evaluating_changes_nothing():
    one = run_(plan_of(FedAvg(LOCAL)), 3)
    other = run_(plan_of(FedAvg(LOCAL)), 3, clients(), evaluate_on=None)
    assert same(one.state.server, other.state.server)


def test_the_shift_test_and_the_weights_are_in_the_records():
    records = run_(ALGORITHMS["weigh"](), 3).records
    assert records[1].statistic is not None and records[2].statistic is None
    assert 0 <= records[1].p_value <= 1
    assert sum(records[3].weights) == pytest.approx(1)


class Explodes(FedAvg):
    """FedAvg whose server goes astray in round 3."""

    def server_update(self, task, server, uploads, cohort, holder):
        new = super().server_update(task, server, uploads, cohort, holder)
        factor = {3: 1e4, 4: float("inf")}.get(cohort.round, 1.0)
        return {"weights": {n: v * factor for n, v in new["weights"].items()}}


def test_a_run_that_diverges_ends_with_the_last_good_state(tmp_path):
    plan = plan_of(Explodes(LOCAL))
    history = run_(plan, 9, checkpoint=tmp_path)
    assert history.state.round == 2 and history.stopped is not None
    assert "the test_loss is" in history.stopped and "the state of round 2 is kept" in (
        history.stopped
    )
    assert same(history.weights, run_(plan_of(FedAvg(LOCAL)), 2).weights)
    assert run_(plan, 9, checkpoint=tmp_path).stopped == history.stopped


def test_with_rare_evaluation_the_last_good_state_is_one_that_was_judged():
    history = run_(plan_of(Explodes(LOCAL)), 8, every=2, stop=Stop(rise=5))
    assert history.state.round == 2


def test_a_run_whose_weights_are_not_finite_ends_with_the_last_state():
    history = run_(plan_of(Explodes(LOCAL)), 9, clients(), evaluate_on=None)
    assert history.state.round == 3
    assert "NaN or infinite in round 4" in (history.stopped or "")


def test_too_few_clients_for_too_long_is_an_error(tmp_path):
    algorithm = Faulty(tuple((k, "raises") for k in range(4)))
    with pytest.raises(RunStopped, match="lower min_clients") as found:
        run_(plan_of(algorithm, min_clients=2), 9, checkpoint=tmp_path)
    assert found.value.history.state.round == 5
    with pytest.raises(RunStopped):
        run_(plan_of(algorithm, min_clients=2), 9, checkpoint=tmp_path)


def test_one_client_and_one_sample_suffice():
    x, y = data(1)
    history = run_(plan_of(FedAvg(LOCAL)), 2, [replace(clients(1)[0], data=(x, y))])
    assert history.state.weights == (1.0,)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_rounds": 0}, "n_rounds and every are at least 1"),
        ({"every": 0}, "n_rounds and every are at least 1"),
        ({"clients": []}, "there are no clients"),
        ({"evaluate_on": {"test": (torch.zeros(0, 4), torch.zeros(0))}}, "'test' has 0 samples"),
        ({"fleet": True, "n_processes": 2}, "a fleet has its own"),
        ({"fleet": True, "timeout": 1.0}, "a fleet has its own"),
        ({"n_processes": 0}, "n_processes is at least 1"),
        ({"timeout": -1.0}, "timeout a number of seconds"),
    ],
    ids=lambda value: value if isinstance(value, str) else "settings",
)
def test_mistakes_are_named(settings, words):
    plan = plan_of(FedAvg(LOCAL))
    given = {"n_rounds": 2, "clients": clients(), **settings}
    if given.pop("fleet", False):
        given["clients"] = LocalFleet(plan.algorithm, plan.task, clients(), 0)
    with pytest.raises(DataError, match=words):
        run(plan, progress=False, **given)
