from dataclasses import replace

import numpy as np
import pytest

from firecv.errors import RegimeError
from firecv.federated import LocalFleet, Plan, rounds
from firecv.federated.algorithms import SCAFFOLD, FedAvg, FedDyn
from firecv.federated.algorithms.weighed import Weighed, label_of
from firecv.federated.privacy import Private
from firecv.federated.schema import size
from firecv.federated.weighing import Weighed as Found
from firecv.fire.validation import Validation, as_validation
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


def test_without_v_there_is_nothing_to_weigh_by():
    with pytest.raises(RegimeError):
        Weighed(FedAvg()).init(QuadraticTask(), as_validation(None))


def test_a_private_algorithm_is_named_with_its_base():
    assert label_of(Private(Weighed(FedAvg()))) == "FedAvg + weigh + private"
