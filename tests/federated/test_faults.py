"""A federation of which some clients are broken, lie, are late, or are gone."""

import re
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from firecv import tree
from firecv.errors import FirecvNotice, ModelError
from firecv.federated import LocalFleet, rounds
from firecv.federated.algorithms import FedAS, FedAvg, Fire
from firecv.federated.algorithms.weighed import Weighed as Wrapped
from firecv.federated.fleet import Failure
from firecv.federated.history import RunStopped
from firecv.federated.run import Stop, run
from firecv.federated.schema import size
from firecv.federated.screening import Screen
from firecv.federated.weighing import Weighed
from tests.federated.small import FAULTS, LOCAL, Faulty, Told, clients, data, last, plan_of, same


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("client", [0, 3])
def test_garbage_never_reaches_the_average(fault, client):
    """What the server knows is what it would know had the client not answered at all."""
    found = last(Faulty(((client, fault),)))
    without = last(Faulty(((client, "raises"),)))
    assert same(found.state.server, without.state.server)
    assert found.clients == without.clients == tuple(k for k in range(5) if k != client)
    assert found.failures.keys() == {client}
    assert found.failures[client].startswith(("refused: ", "AttributeError", "TypeError"))


@pytest.mark.parametrize("fault", ["sends another shape", "sends less", "sends NaN"])
def test_two_of_five_who_agree_in_garbage_are_outvoted(fault):
    found = last(Faulty(((0, fault), (1, fault))))
    assert found.clients == (2, 3, 4) and found.failures.keys() == {0, 1}


def test_entries_that_grow_for_all_cost_one_round_and_not_the_run():
    faults = tuple((k, "sends an enormous Fisher") for k in range(5))
    algorithm = Faulty(faults, rounds=(3, 10**9))
    plan = plan_of(algorithm)
    fleet = LocalFleet(algorithm, plan.task, clients(), 0)
    heard = [len(done.clients) for done in rounds(plan, fleet, 5)]
    assert heard == [5, 5, 0, 5, 5]


@pytest.mark.parametrize("rule", ["median", "trimmed"])
def test_robust_rules_hold_against_flipped_labels(rule):
    """One client in five trains on wrong labels; its weights look like any other's."""
    test = data(500, 99)

    def accuracy(algorithm, rule):
        history = run(
            plan_of(algorithm, rule=rule), clients(), 12, evaluate_on={"test": test}, progress=False
        )
        assert not history.records[-1].failures
        return history.records[-1].scores["test_accuracy"]

    honest = accuracy(Faulty(), "mean")
    flipped = Faulty(((4, "flips its labels"),))
    assert accuracy(flipped, rule) > honest - 0.05
    assert accuracy(flipped, "mean") < accuracy(flipped, rule) + 0.02


def test_a_clipped_update_moves_the_mean_no_further_than_its_share():
    """Screening lets weights nine times as large pass; clipping does not let them count."""
    algorithm = Faulty(sends_fisher=False)
    plan = plan_of(algorithm, screen=Screen(clip=0.1))
    fleet = LocalFleet(algorithm, plan.task, clients(), 0)
    start = plan.task.weights()

    def far(k, answer):
        if k == 2:
            answer = {**answer, "weights": {n: 3 * v for n, v in answer["weights"].items()}}
        yield k, answer

    (done,) = rounds(plan, Told(fleet, far), 1)
    assert len(done.clients) == 5
    moved = sum((done.state.server["weights"][n] - start[n]).square().sum() for n in start)
    assert float(moved) ** 0.5 <= 0.1 * (1 + 1e-5)


def twice(k, answer):
    yield k, answer
    yield k, {name: part for name, part in answer.items()}


def twice_and_different(k, answer):
    yield k, answer
    yield k, {**answer, "weights": {n: v + 1 for n, v in answer["weights"].items()}}


def uninvited(k, answer):
    yield k, answer
    yield k + 100, answer


@pytest.mark.parametrize("told", [twice, twice_and_different, uninvited])
def test_an_answer_counts_once_and_only_of_those_asked(told):
    algorithm = Faulty()
    plan = plan_of(algorithm)
    plain = LocalFleet(algorithm, plan.task, clients(), 0)
    odd = Told(LocalFleet(algorithm, plan.task, clients(), 0), told)
    (one,), (other,) = rounds(plan, plain, 1), rounds(plan, odd, 1)
    assert same(one.state.server, other.state.server)
    assert one.clients == other.clients and one.bytes_up == other.bytes_up


def test_who_never_answers_is_counted():
    algorithm = Faulty()
    plan = plan_of(algorithm)

    def silent(k, answer):
        if k not in (1, 2):
            yield k, answer

    fleet = Told(LocalFleet(algorithm, plan.task, clients(), 0), silent)
    (done,) = rounds(plan, fleet, 1)
    assert done.failures == {1: "no answer", 2: "no answer"} and done.clients == (0, 3, 4)


def test_half_of_the_clients_gone_for_five_rounds():
    algorithm = Faulty(tuple((k, "raises") for k in range(3)), rounds=(3, 7))
    history = run(
        plan_of(algorithm), clients(6), 10, evaluate_on={"test": data(500, 9)}, progress=False
    )
    heard = [len(record.clients) for record in history.records[1:]]
    assert heard == [6, 6, 3, 3, 3, 3, 3, 6, 6, 6]
    assert history.records[4].failures == {k: "ValueError: out of order" for k in range(3)}
    scores = [record.scores["test_accuracy"] for record in history.records]
    assert min(scores[3:]) > 0.7 and scores[-1] > 0.85


def test_all_clients_gone_ends_the_run_and_keeps_what_was_learned():
    algorithm = Faulty(tuple((k, "raises") for k in range(5)), rounds=(3, 10**9))
    with pytest.raises(RunStopped, match="last 4 rounds, up to round 6 .ValueError: out") as found:
        run(plan_of(algorithm), clients(), 20, stop=Stop(n_void=4), progress=False)
    history = found.value.history
    assert same(history.weights, last(Faulty(), 2).state.server["weights"])
    assert [record.is_void for record in history.records] == [False] * 3 + [True] * 4
    assert history.stopped == str(found.value)


class GoneFrom3To5(LocalFleet):
    def ask(self, phase, number, clients, payload):
        if 3 <= number <= 5:
            return iter([(k, Failure("gone")) for k in clients])
        return super().ask(phase, number, clients, payload)


def test_clients_that_come_back_in_time_go_on():
    algorithm = Faulty()
    plan = plan_of(algorithm)
    fleet = GoneFrom3To5(algorithm, plan.task, clients(), 0)
    history = run(plan, fleet, 8, stop=Stop(n_void=4), progress=False)
    assert history.stopped is None
    assert [record.is_void for record in history.records] == [False] * 3 + [True] * 3 + [False] * 3


def test_a_refused_client_does_not_remember_the_round():
    algorithm = Faulty(((1, "sends NaN"),), rounds=(2, 3))
    plan = plan_of(algorithm)
    fleet = LocalFleet(algorithm, plan.task, clients(), 0)
    for _ in rounds(plan, fleet, 4):
        pass
    asked = {k: memory["n_asked"] for k, memory in fleet.memories.items()}
    assert asked == {0: 4, 1: 2, 2: 4, 3: 4, 4: 4}


def test_a_failure_has_its_reason():
    algorithm = Faulty()
    plan = plan_of(algorithm)
    fleet = Told(
        LocalFleet(algorithm, plan.task, clients(), 0),
        lambda k, answer: [(k, Failure("on strike") if k == 4 else answer)],
    )
    (done,) = rounds(plan, fleet, 1)
    assert done.failures == {4: "on strike"}


def test_a_report_that_contradicts_the_known_size_is_refused():
    from firecv.federated.algorithms import Fire
    from firecv.fire.validation import as_validation

    algorithm = Fire(rule="mixture")
    plan = plan_of(algorithm, holder=as_validation(data(40, 7)[0]))

    def inflated(k, answer):
        if k == 3 and "report/sketch" in answer:
            sketch = {**answer["report/sketch"], "n": torch.tensor(10**6)}
            answer = {**answer, "report/sketch": sketch}
        yield k, answer

    fleet = Told(LocalFleet(algorithm, plan.task, clients(), 0), inflated)
    (done,) = rounds(plan, fleet, 1)
    assert done.failures.keys() == {3}
    assert "says 1e+06 samples, the client has 23" in done.failures[3]
    assert done.weighed is not None and len(done.weighed.weights) == 4


def test_three_of_forty_who_leave_a_field_out_cost_their_own_answers():
    """They answer first, in a round that holds no answers back."""
    found = last(Faulty(tuple((k, "sends less") for k in range(3)), rounds=(2, 2)), 2, n=40)
    assert found.clients == tuple(range(3, 40)) and found.failures.keys() == {0, 1, 2}


@dataclass(frozen=True)
class Decided:
    """A weigher that decides what it is told to; raises what is an exception."""

    weights: object
    needs: str = "none"

    def is_due(self, number):
        return True

    def client_report(self, task, server, client, rng):
        return {"size": float(len(client))}

    def schema(self, task, server, holder):
        return {"size": size}

    def decide(self, task, server, reports, uploads, cohort, holder):
        if isinstance(self.weights, Exception):
            raise self.weights
        return Weighed(np.array(self.weights), None)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.linalg.LinAlgError("not positive definite"), "LinAlgError: not positive definite"),
        ((0.5, 0.5, float("nan"), 0.0, 0.0), "not finite"),
        ((0.5, 0.5), "shape .2,. for 5 clients"),
        ((1.5, -0.5, 0.0, 0.0, 0.0), "from -0.5 on"),
        ((0.0, 0.0, 0.0, 0.0, 0.0), "sum to 0"),
    ],
    ids=["raises", "NaN", "too few", "negative", "zero"],
)
def test_a_decision_that_fails_is_n_over_n_and_is_counted(weights, words):
    algorithm = Wrapped(FedAvg(LOCAL), Decided(weights))
    with pytest.warns(FirecvNotice, match=words):
        history = run(plan_of(algorithm), clients(), 2, progress=False)
    plain = run(plan_of(FedAvg(LOCAL)), clients(), 2, progress=False)
    assert same(history.weights, plain.weights)
    assert [record.weights for record in history.records] == [
        pytest.approx(record.weights) for record in plain.records
    ]
    failed = [record.unweighed for record in history.records]
    assert failed[0] is None and all(re.search(words, why) for why in failed[1:])
    assert history.table()["unweighed"].notna().sum() == 2


@pytest.mark.parametrize("rule", ["median", "trimmed"])
def test_robust_rules_count_by_n_over_n_whatever_clients_are_weighed(rule):
    """A client to which weighing gives nearly everything is one of five to a robust rule."""
    algorithm = Wrapped(FedAvg(LOCAL), Decided((0.96, 0.01, 0.01, 0.01, 0.01)))
    found = run(plan_of(algorithm, rule=rule), clients(), 3, progress=False)
    plain = run(plan_of(FedAvg(LOCAL), rule=rule), clients(), 3, progress=False)
    assert same(found.weights, plain.weights)
    assert found.records[-1].weights == plain.records[-1].weights
    mean = run(plan_of(algorithm), clients(), 3, progress=False)
    assert mean.records[-1].weights[0] == pytest.approx(0.96)


@pytest.mark.parametrize("rule", ["median", "trimmed"])
def test_robust_rules_do_not_believe_what_a_client_says_of_its_own_weight(rule):
    """FedAS counts clients by the information that they say they have."""
    plan = plan_of(FedAS(LOCAL), rule=rule)

    def after(information):
        def told(k, answer):
            yield k, ({**answer, "information": information} if k == 0 else answer)

        fleet = Told(LocalFleet(plan.algorithm, plan.task, clients(), 0), told)
        (done,) = rounds(plan, fleet, 1)
        assert not done.failures
        return done.state.server

    assert same(after(1e-3), after(0.5))


def test_a_fisher_that_lies_does_not_move_the_median():
    fire = Fire("quadratic", fisher_on="client", every=1, local=LOCAL)

    def after(rule, factor):
        plan = plan_of(fire, rule=rule)

        def told(k, answer):
            fisher = {n: factor * v for n, v in answer["fisher"].items()}
            yield k, ({**answer, "fisher": fisher} if k == 0 else answer)

        fleet = Told(LocalFleet(fire, plan.task, clients(), 0), told)
        (done,) = rounds(plan, fleet, 1)
        assert not done.failures
        return tree.total(done.state.server["carried"])

    assert after("mean", 900.0) > 20 * after("mean", 1.0)
    assert after("median", 900.0) < 2 * after("median", 1.0)


def test_fishers_without_entries_have_no_median():
    with pytest.raises(ModelError, match="block Fisher has no entries"):
        last(Fire("quadratic", structure="block", fisher_on="client", local=LOCAL), rule="median")
