"""The server's mean of what clients hold, while weights change."""

import numpy as np
import pytest
import torch

from firecv.errors import DataError
from firecv.federated import LocalFleet, Plan, rounds
from firecv.federated.algorithms import SCAFFOLD, FedAvg, FedDyn
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.contract import Cohort
from firecv.federated.evaluation import judged
from firecv.federated.held import mean_held
from firecv.federated.schema import size
from firecv.federated.uploads import Upload, Uploads
from firecv.federated.weighing import Weighed as Found
from firecv.fire.validation import Validation
from tests.federated.quadratics import N_CLIENTS, QUICK, QuadraticTask, optimum, quadratics

START = np.full(N_CLIENTS, 1 / N_CLIENTS)
TARGET = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
CORRECTED = {"scaffold": (SCAFFOLD(QUICK), "control"), "feddyn": (FedDyn(QUICK, 1.0), "drift")}


class Moving:
    """Gives clients weights that depend on the round, as far as they take part in it."""

    needs = "unlabelled"

    def __init__(self, weights, last=10**6):
        self.weights, self.last = weights, last

    def is_due(self, number):
        return number <= self.last

    def client_report(self, task, server, client, rng):
        return {"size": float(len(client))}

    def schema(self, task, server, holder):
        return {"size": size}

    def decide(self, task, server, reports, uploads, cohort, holder):
        found = self.weights(cohort.round)[sorted(reports)]
        return Found(found / found.sum(), None)


def trembling(middle):
    """Return weights that change in every round, and hardly so."""
    return lambda number: middle + 1e-9 * np.cos(number + np.arange(N_CLIENTS))


def drifting(number):
    return TARGET + 0.98**number * (START - TARGET)


def at_random(number):
    return np.random.default_rng(number).dirichlet(np.ones(N_CLIENTS))


def run(base, weighing, n_rounds, participation=1.0):
    """Yield every round's record with the fleet."""
    task, clients = QuadraticTask(), quadratics()
    algorithm = Weighed(base, weighing)
    holder = Validation("unlabelled", x=clients[0].data[0])
    fleet = LocalFleet(algorithm, task, clients, seed=0)
    for done in rounds(Plan(algorithm, task, holder, participation=participation), fleet, n_rounds):
        assert not done.failures, done.failures
        yield done, fleet


def error(base, done):
    """Return how far what was learned is from the optimum at the weights of the round."""
    wanted = optimum(quadratics(), list(done.state.weights))
    return float((judged(base, done.state.server)["t"] - wanted).abs().max())


@pytest.mark.parametrize("name", CORRECTED)
@pytest.mark.parametrize("participation", [1.0, 0.4], ids=["all", "two of five"])
def test_it_is_the_weighted_mean_after_every_round_whatever_weights_do(name, participation):
    base, entry = CORRECTED[name]
    for done, fleet in run(base, Moving(at_random), 30, participation):
        held = {k: memory[entry]["t"] for k, memory in fleet.memories.items()}
        mean = sum(done.state.weights[k] * value for k, value in held.items())
        assert (done.state.server[entry]["t"] - mean).abs().max() < 1e-13


@pytest.mark.parametrize("name", CORRECTED)
@pytest.mark.parametrize("middle", [START, TARGET], ids=["equal", "unequal"])
def test_weights_refreshed_in_every_round_leave_the_optimum_where_it_is(name, middle):
    base, _ = CORRECTED[name]
    *_, (done, _) = run(base, Moving(trembling(middle)), 60)
    assert error(base, done) < 1e-6
    *_, (plain, _) = run(FedAvg(QUICK), Moving(trembling(middle)), 60)
    assert error(FedAvg(QUICK), plain) > 0.05


@pytest.mark.parametrize("name", CORRECTED)
def test_so_they_do_with_two_of_five_clients(name):
    base, _ = CORRECTED[name]
    *_, (done, _) = run(base, Moving(trembling(START)), 150, participation=0.4)
    assert error(base, done) < 1e-3


@pytest.mark.parametrize("name", CORRECTED)
def test_the_optimum_of_weights_that_drift_is_followed(name):
    base, _ = CORRECTED[name]
    errors = [error(base, done) for done, _ in run(base, Moving(drifting), 250)]
    plain = [error(FedAvg(QUICK), done) for done, _ in run(FedAvg(QUICK), Moving(drifting), 60)]
    assert max(errors[30:60]) < 0.01 and min(plain[30:60]) > 0.05
    assert errors[-1] < 1e-3 * max(errors[30:60]) + 1e-4


@pytest.mark.parametrize("name", CORRECTED)
@pytest.mark.parametrize("participation", [1.0, 0.4], ids=["all", "two of five"])
def test_when_weights_come_to_rest_the_optimum_is_that_of_the_last(name, participation):
    base, _ = CORRECTED[name]
    *_, (done, _) = run(base, Moving(at_random, last=30), 200, participation)
    assert error(base, done) < 1e-3


def test_a_round_of_two_of_three_clients_by_hand():
    """Weights go from (1/4, 1/4, 1/2) to (3/5, 1/5, 1/5); client 2 holds 8 and is not heard."""
    held, change = {0: (5.0, 1.0), 1: (-2.0, -3.0)}, {2: 8.0}
    mean = 0.25 * 4.0 + 0.25 * 1.0 + 0.5 * change[2]
    cohort = Cohort(1, (0, 1), (0.6, 0.2, 0.2), before=(0.25, 0.25, 0.5))
    uploads = Uploads(
        Upload(k, cohort.weights[k], {"held": one(after), "change": one(by)})
        for k, (after, by) in held.items()
    )
    average, found = mean_held(one(mean), uploads, cohort, lambda upload: upload["change"])
    assert float(found["t"]) == pytest.approx(0.6 * 5.0 + 0.2 * -2.0 + 0.2 * 8.0, abs=1e-12)
    assert float(average.trees["change"]["t"]) == pytest.approx((0.6 - 0.6) / 0.8, abs=1e-12)


def test_weights_that_change_where_nobody_says_what_it_holds_are_an_error():
    cohort = Cohort(1, (0,), (0.6, 0.4), before=(0.5, 0.5))
    uploads = Uploads([Upload(0, 0.6, {"change": one(1.0)})])
    with pytest.raises(DataError, match="held"):
        mean_held(one(0.0), uploads, cohort, lambda upload: upload["change"])


@pytest.mark.parametrize("name", CORRECTED)
def test_what_is_held_is_sent_in_rounds_with_a_refresh_alone(name):
    base, _ = CORRECTED[name]
    size = 8 * quadratics()[0].data[0].shape[-1]
    sent = [done.bytes_up // N_CLIENTS for done, _ in run(base, Moving(at_random, last=2), 4)]
    report = 8  # the client's size
    assert sent[0] == sent[1] == sent[2] + size + report and sent[2] == sent[3]


def one(value):
    return {"t": torch.tensor([value], dtype=torch.float64)}
