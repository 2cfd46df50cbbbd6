"""Rounds: who is asked, what counts, what stays as it is."""

import weakref
from itertools import pairwise

import pytest
import torch

from firecv.errors import DataError, FederatedError
from firecv.federated import LocalFleet, Plan, rounds, start
from firecv.federated.algorithms import SCAFFOLD, FedAvg, Fire
from firecv.federated.engine import one_round, sample, sent_to
from firecv.fire.validation import as_validation
from firecv.models import Task
from firecv.training import Training
from tests.federated.small import LOCAL, Faulty, Told, clients, data, network, plan_of, same

PLAIN = Training(2, 8, 0.1, "sgd")


def fleet_of(plan, some=None):
    return LocalFleet(plan.algorithm, plan.task, clients() if some is None else some, plan.seed)


def test_a_round_by_hand():
    """Two clients, one weight, one step each: the mean has weights n / N."""
    from firecv.federated import Client

    task = Task(torch.nn.Linear(1, 2, bias=False))
    algorithm = FedAvg(Training(1, None, 1.0, "sgd"))
    zeros, ones = torch.zeros(1).long(), torch.ones(3).long()
    some = [Client((torch.ones(1, 1), zeros)), Client((torch.ones(3, 1), ones))]
    plan = Plan(algorithm, task)
    begun = start(plan, fleet_of(plan, some))
    state = type(begun)(0, {"weights": {"weight": torch.zeros(2, 1)}}, begun.weights)
    done = one_round(plan, fleet_of(plan, some), state)
    # softmax(0, 0) = 1/2, so each client moves its class up by 1/2 and the other down by 1/2.
    wanted = 0.25 * torch.tensor([[0.5], [-0.5]]) + 0.75 * torch.tensor([[-0.5], [0.5]])
    assert torch.equal(done.state.server["weights"]["weight"], wanted)
    assert done.state.weights == (0.25, 0.75) and done.clients == (0, 1)
    assert done.bytes_up == done.bytes_down == 2 * 2 * 4


@pytest.mark.parametrize("participation", [0.2, 0.5, 1.0])
def test_cohorts_are_drawn_anew_each_round_and_the_same_each_run(participation):
    plan = plan_of(FedAvg(), participation=participation)
    cohorts = [sample(plan, 10, number) for number in range(1, 40)]
    assert cohorts == [sample(plan, 10, number) for number in range(1, 40)]
    assert all(len(set(c)) == round(10 * participation) and list(c) == sorted(c) for c in cohorts)
    assert set().union(*cohorts) == set(range(10))


def test_the_same_seed_gives_the_same_run_and_another_does_not():
    def weights(seed):
        plan = plan_of(FedAvg(LOCAL), seed=seed)
        return list(rounds(plan, fleet_of(plan), 2))[-1].state.server

    assert same(weights(0), weights(0)) and not same(weights(0), weights(1))


@pytest.mark.parametrize("algorithm", [FedAvg(LOCAL), SCAFFOLD(PLAIN)], ids=["fedavg", "scaffold"])
def test_going_on_from_a_state_is_one_run(algorithm):
    plan = plan_of(algorithm)
    whole = list(rounds(plan, fleet_of(plan), 4))[-1].state
    fleet = fleet_of(plan)
    half = list(rounds(plan, fleet, 2))[-1].state
    rest = list(rounds(plan, fleet, 4, half))[-1].state
    assert same(whole.server, rest.server) and rest.round == 4


def test_nothing_given_to_a_round_is_changed():
    plan = plan_of(SCAFFOLD(PLAIN))
    fleet = fleet_of(plan)
    own, before = plan.task.weights(), torch.get_rng_state()
    state = list(rounds(plan, fleet, 1))[-1].state
    kept = {n: {k: v.clone() for k, v in p.items()} for n, p in state.server.items() if n[0] != "g"}
    one_round(plan, fleet, state)
    assert all(same(state.server[name], part) for name, part in kept.items())
    assert same(own, plan.task.weights()) and torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("algorithm", [SCAFFOLD(PLAIN), Faulty()], ids=["scaffold", "faulty"])
def test_a_void_round_leaves_server_and_clients_as_they_were(algorithm):
    """Three of five are gone in round 2, and four are needed."""

    class Gone(LocalFleet):
        def ask(self, phase, number, clients, payload):
            for k, answer in super().ask(phase, number, clients, payload):
                if number != 2 or k < 2:
                    yield k, answer

    plan = plan_of(algorithm, min_clients=4)
    fleet = Gone(algorithm, plan.task, clients(), 0)
    first, second, third = rounds(plan, fleet, 3)
    assert second.clients == (0, 1) and second.state.round == 2
    assert same(second.state.server, first.state.server)
    assert len(third.clients) == 5
    # Round 3 goes as it would have gone after round 1.
    plain = fleet_of(plan)
    (before,) = rounds(plan, plain, 1)
    again = one_round(plan, plain, type(before.state)(2, before.state.server, before.state.weights))
    assert same(third.state.server, again.state.server)


def test_the_sum_of_control_variates_stays_their_mean_when_clients_fail():
    """What SCAFFOLD's server holds is the weighted mean of what its clients hold."""
    algorithm = SCAFFOLD(PLAIN)
    plan = plan_of(algorithm)
    inner = fleet_of(plan)

    def odd(k, answer):
        broken = {n: v * float("nan") for n, v in answer["control"].items()}
        yield k, {**answer, "control": broken} if k == 2 else answer

    fleet = Told(inner, odd)
    fleet.settle = inner.settle
    *_, done = rounds(plan, fleet, 4)
    assert done.failures.keys() == {2}
    control = done.state.server["control"]
    for name, value in control.items():
        mean = sum(
            done.state.weights[k] * inner.memories[k]["control"][name]
            for k in range(5)
            if inner.memories.get(k)
        )
        assert torch.allclose(value, mean, atol=1e-6)


def test_weights_that_are_not_finite_end_the_run():
    class Explodes(FedAvg):
        def server_update(self, task, server, uploads, cohort, holder):
            new = super().server_update(task, server, uploads, cohort, holder)
            factor = float("inf") if cohort.round == 2 else 1.0
            return {"weights": {n: v * factor for n, v in new["weights"].items()}}

    plan = plan_of(Explodes(LOCAL))
    going = rounds(plan, fleet_of(plan), 3)
    next(going)
    with pytest.raises(FederatedError, match="in round 2; what was learned up to round 1 is kept"):
        next(going)


def test_shares_of_clients_follow_a_refresh_and_stand_until_the_next():
    algorithm = Fire(rule="mixture", every=2)
    plan = plan_of(algorithm, holder=as_validation(data(60, 3)[0] + 3.0))
    first, second, third = rounds(plan, fleet_of(plan), 3)
    assert first.weighed is not None and second.weighed is None and third.weighed is not None
    assert first.weighed.test.rejects
    assert second.state.weights == first.state.weights
    assert sum(third.state.weights) == pytest.approx(1)
    assert all(done.bytes_up > 0 for done in (first, second, third))


def test_typical_sizes_are_kept_from_round_to_round():
    algorithm = Faulty()
    plan = plan_of(algorithm)
    states = [done.state for done in rounds(plan, fleet_of(plan), 3)]
    assert states[0].typical.keys() == {"fisher", "count"}
    assert all(a.typical["fisher"] <= b.typical["fisher"] for a, b in pairwise(states))


def test_less_than_the_whole_state_can_be_sent():
    class Spare(FedAvg):
        def sends(self, server, client):
            return {"weights": server["weights"], "number": float(client)}

    server = {"weights": {}, "secret": 1.0}
    assert sent_to(Spare(), server, 4) == {"weights": {}, "number": 4.0}
    assert sent_to(FedAvg(), server, 4) is server


@pytest.mark.parametrize("sends_fisher", [False, True], ids=["weights", "weights and Fisher"])
def test_of_many_answers_few_are_kept_at_a_time(sends_fisher):
    """Only the first round with a new entry holds all answers back."""
    alive, most = weakref.WeakSet(), []

    class Counted(Faulty):
        def client_update(self, *arguments):
            upload, memory = super().client_update(*arguments)
            alive.add(upload["weights"]["0.weight"])
            most[-1] = max(most[-1], len(alive))
            return upload, memory

    algorithm = Counted(sends_fisher=sends_fisher)
    plan = plan_of(algorithm)
    fleet = fleet_of(plan, clients(40))
    state = None
    for number in range(2):
        most.append(0)
        state = one_round(plan, fleet, state or start(plan, fleet)).state
        assert most[-1] == (40 if sends_fisher and number == 0 else 3)


@pytest.mark.parametrize("rule", ["mean", "median", "trimmed"])
def test_every_rule_learns(rule):
    plan = plan_of(FedAvg(LOCAL), rule=rule)
    *_, done = rounds(plan, fleet_of(plan), 8)
    x, y = data(300, 50)
    with torch.no_grad():
        scores = plan.task.scores(x, done.state.server["weights"])
    assert float((scores.argmax(1) == y).float().mean()) > 0.8


@pytest.mark.parametrize("settings", [{"participation": 0.0}, {"min_clients": 0}], ids=str)
def test_numbers_without_sense_are_named(settings):
    with pytest.raises(DataError, match="participation is a share"):
        Plan(FedAvg(), Task(network()), **settings)
