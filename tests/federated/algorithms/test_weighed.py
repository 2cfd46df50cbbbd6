from dataclasses import replace

import numpy as np
import pytest
import torch

from firecv.errors import FirecvNotice, RegimeError
from firecv.federated import Client, LocalFleet, Plan, rounds
from firecv.federated.algorithms import ALGORITHMS, SCAFFOLD, FedAvg, FedDyn, Fire
from firecv.federated.algorithms.weighed import Weighed, label_of
from firecv.federated.privacy import Private
from firecv.federated.schedule import for_run
from firecv.federated.schema import size
from firecv.federated.weighing import HOLD
from firecv.federated.weighing import Weighed as Found
from firecv.fire.validation import Unlabelled, Validation, as_validation
from firecv.fire.weigh.server_step import EVERY, NO_STEP, server_step
from firecv.fire.weigh.settings import RULES, Weighing
from firecv.models import Task, mlp
from firecv.seeding import derive_torch
from firecv.training import Training
from tests.federated.quadratics import QUICK, QuadraticTask, optimum, quadratics

SHARES = np.array([0.4, 0.3, 0.15, 0.1, 0.05])


class Fixed:
    """Gives clients the same weights from its first refresh on."""

    def __init__(self, first=1, weights=SHARES):
        self.first, self.weights = first, weights
        self.needs = "unlabelled"

    def is_due(self, number):
        return number == self.first

    def client_report(self, task, server, client, rng):
        return {"size": float(len(client))}

    def schema(self, task, server, holder):
        return {"size": size}

    def decide(self, task, server, reports, uploads, cohort, holder):
        assert sorted(reports) == [upload.client for upload in uploads]
        return Found(self.weights, None)


def error(base, weighing, n_rounds):
    task, clients = QuadraticTask(), quadratics()
    algorithm = Weighed(base, weighing)
    holder = Validation("unlabelled", x=clients[0].data[0])
    fleet = LocalFleet(algorithm, task, clients, seed=0)
    for done in rounds(Plan(algorithm, task, holder), fleet, n_rounds):
        assert not done.failures, done.failures
    judged = getattr(algorithm, "judged", lambda server: server["weights"])
    found = judged(done.state.server)["t"]
    return float((found - optimum(clients, list(weighing.weights))).abs().max())


@pytest.mark.parametrize("first", [1, 20], ids=["from the start", "later"])
@pytest.mark.parametrize("base", [SCAFFOLD(QUICK)], ids=["scaffold"])
def test_the_weighted_optimum_is_reached_with_weights_that_are_not_uniform(base, first):
    assert error(base, Fixed(first), 120) < 1e-9


def test_fedavg_misses_the_weighted_optimum():
    assert error(FedAvg(QUICK), Fixed(), 60) > 0.05


def test_feddyn_reaches_the_weighted_optimum():
    base = FedDyn(local=replace(QUICK, n_epochs=30), strength=1.0)
    assert error(base, Fixed(), 60) < 1e-6


def test_labels_name_both():
    assert label_of(Weighed(SCAFFOLD())) == "SCAFFOLD + weigh"


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_by_name_says_what_it_needs_of_v(rule):
    with pytest.raises(RegimeError):
        Weighed(FedAvg(), Weighing(rule)).init(QuadraticTask(), as_validation(None))


def test_a_private_algorithm_is_named_with_its_base():
    assert label_of(Private(Weighed(FedAvg()))) == "FedAvg + weigh + private"


LOCAL = Training(2, 16, 0.1, "sgd")
N_ROUNDS = 3


def samples(n, seed, shift=0.0, flipped=False):
    x = torch.randn(n, 4, generator=derive_torch(seed, "x"))
    x[:, 1] += shift
    return x, ((x[:, 0] > 0) ^ flipped).long()


V = samples(50, 99)
SEEN = {"labels": V, "inputs": Unlabelled(V), "nothing": None}


def fleet_of(n=4):
    """Return clients of different sizes, the second with the wrong labels."""
    return [Client(samples(30 + 10 * k, k, 0.5 * k, flipped=k == 1)) for k in range(n)]


def done_by(algorithm, v, n_rounds=N_ROUNDS, **plan):
    task = Task(mlp((4,), (8,), 2, derive_torch(0, "weights")))
    algorithm = for_run(algorithm, n_rounds)
    fleet = LocalFleet(algorithm, task, fleet_of(), seed=0)
    done = list(rounds(Plan(algorithm, task, as_validation(v), **plan), fleet, n_rounds))
    assert not any(each.failures for each in done), [each.failures for each in done]
    return done


def same(one, two):
    return all(torch.equal(value, two[name]) for name, value in one.items())


@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("rule", [None, *RULES])
@pytest.mark.parametrize("seen", SEEN)
def test_fire_is_the_weighed_fedavg_bit_for_bit(seen, rule, every):
    fire = Fire(rule=rule, every=every, local=LOCAL)
    wrapped = Weighed(FedAvg(LOCAL), Weighing(rule, every=every))
    if rule is not None and (seen == "nothing" or (rule == "likelihood" and seen == "inputs")):
        for each in (fire, wrapped):
            with pytest.raises(RegimeError):
                done_by(each, SEEN[seen])
        return
    holder = as_validation(SEEN[seen])
    assert fire.sees(holder) == wrapped.sees(holder)
    for one, two in zip(done_by(fire, SEEN[seen]), done_by(wrapped, SEEN[seen]), strict=True):
        assert one.state.weights == two.state.weights
        assert one.state.server.keys() == two.state.server.keys()
        assert same(one.state.server["weights"], two.state.server["weights"])
        assert (one.bytes_up, one.bytes_down) == (two.bytes_up, two.bytes_down)


def test_the_rule_follows_from_what_there_is_of_v():
    regimes = {"labels": "labelled_summary", "inputs": "summary", "nothing": "none"}
    for seen, regime in regimes.items():
        for each in (Fire(), Weighed(FedAvg())):
            assert each.sees(as_validation(SEEN[seen])) == regime
    labelled, inputs, nothing = (done_by(Fire(local=LOCAL), v) for v in SEEN.values())
    plain = done_by(FedAvg(LOCAL), None)
    assert all(each.weighed.test is None for each in labelled)
    assert all(each.weighed.test is not None for each in inputs)
    assert all(each.weighed is None for each in nothing)
    assert same(nothing[-1].state.server["weights"], plain[-1].state.server["weights"])


@pytest.mark.parametrize("rounds_apart", [1, 2])
@pytest.mark.parametrize("server_step", [True, False])
def test_with_labels_clients_send_and_receive_fedavgs_bytes_exactly(server_step, rounds_apart):
    fire = Fire(every=rounds_apart, server_step=server_step, local=LOCAL)
    for one, two in zip(done_by(fire, V), done_by(FedAvg(LOCAL), V), strict=True):
        assert (one.bytes_up, one.bytes_down) == (two.bytes_up, two.bytes_down)


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name != "fire"])
def test_any_algorithm_is_weighed_by_labels(name):
    base = ALGORITHMS[name]()
    plain = base.local.momentum == 0 and base.local.optimiser == "sgd"
    base = replace(base, local=replace(LOCAL, rate=0.02, momentum=0.0 if plain else 0.5))
    done = done_by(Weighed(base), V)
    assert done[-1].weighed.failed is None
    weights = np.array(done[-1].state.weights)
    assert weights.sum() == pytest.approx(1) and np.isfinite(weights).all()


def test_a_client_with_the_wrong_labels_loses_most_of_its_weight():
    found, plain = (done_by(each, V)[-1] for each in (Fire(local=LOCAL), FedAvg(LOCAL)))
    assert found.state.weights[1] < 0.5 * plain.state.weights[1]


def test_strength_0_is_fedavg_bit_for_bit():
    plain = done_by(FedAvg(LOCAL), V)
    for each in (Fire(strength=0, local=LOCAL), Weighed(FedAvg(LOCAL), Weighing(strength=0))):
        done = done_by(each, V)
        assert same(done[-1].state.server["weights"], plain[-1].state.server["weights"])


def test_the_hold_of_the_step_is_chosen_every_few_rounds_and_kept_between(monkeypatch):
    asked = []

    def chosen(task, weights, x, y, *, rng):
        asked.append(weights)
        return 0.3 if len(asked) == 1 else NO_STEP

    monkeypatch.setattr("firecv.federated.algorithms.weighed.chosen_hold", chosen)
    stepped = done_by(Fire(local=LOCAL), V, n_rounds=EVERY + 2)
    holds = [each.state.server[HOLD] for each in stepped]
    assert holds == [0.3] * EVERY + [NO_STEP] * 2 and len(asked) == 2
    task = Task(mlp((4,), (8,), 2, derive_torch(0, "weights")))
    plain = done_by(Fire(server_step=False, local=LOCAL), V, n_rounds=1)[0].state.server["weights"]
    assert same(stepped[0].state.server["weights"], server_step(task, plain, *V, 0.3))


def test_where_the_model_that_is_scored_does_not_go_out_there_is_no_step():
    assert all(HOLD not in d.state.server for d in done_by(Weighed(FedDyn(LOCAL, 0.5)), V))
    assert all(HOLD in d.state.server for d in done_by(Weighed(SCAFFOLD(LOCAL)), V))


def test_labels_that_the_model_does_not_know_end_no_run():
    x, y = V
    with pytest.warns(FirecvNotice, match="no server step|could not be weighed"):
        done = done_by(Fire(local=LOCAL), (x, y + 7))
    plain = done_by(FedAvg(LOCAL), None)
    assert same(done[-1].state.server["weights"], plain[-1].state.server["weights"])
    assert all(each.weighed.failed for each in done)


def test_a_private_algorithm_is_weighed_by_what_it_sends():
    done = done_by(Private(Weighed(FedAvg(LOCAL)), clip=1.0, noise=0.0), V)
    assert all(each.weighed.failed is None for each in done)
    again = done_by(Private(Weighed(FedAvg(LOCAL)), clip=1.0, noise=0.0), None)
    assert all(each.weighed is None for each in again)
