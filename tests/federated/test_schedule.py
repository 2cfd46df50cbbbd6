"""Algorithms that do something else in a share of the rounds are told how many there are."""

from functools import partial

import pytest

from firecv.errors import FirecvNotice, ModelError
from firecv.experiments.kinds.federated_algorithms import algorithm as of_experiment
from firecv.experiments.kinds.federated_methods import FederatedMethod
from firecv.federated import LocalFleet, Plan, for_run, rounds, run
from firecv.federated.algorithms import FedAvg, FedFishr, PersonalizedFedAvg
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.privacy import Private
from firecv.federated.simulation import Simulation, build
from tests.federated.algorithms import toy

SCHEDULED = {
    "fedfishr": partial(FedFishr, strength=10.0),
    "personalizedfedavg": PersonalizedFedAvg,
}


@pytest.mark.parametrize("n_rounds", [2, 3, 6])
@pytest.mark.parametrize("name", SCHEDULED)
def test_no_run_of_more_than_a_round_is_fedavg_unnoticed(name, n_rounds):
    clients, task = toy.toy_clients(), toy.toy_task()
    found, plain = (
        run(Plan(algorithm, task, screen=toy.LENIENT), clients, n_rounds, progress=False)
        for algorithm in (SCHEDULED[name](toy.LOCAL), FedAvg(toy.LOCAL))
    )
    assert not toy.same(found.weights, plain.weights)
    assert [record.failures for record in found.records if record.failures] == []


@pytest.mark.parametrize("name", SCHEDULED)
def test_the_run_is_that_of_the_number_given(name):
    clients, task = toy.toy_clients(), toy.toy_task()
    found, given = (
        run(Plan(algorithm, task, screen=toy.LENIENT), clients, 5, progress=False)
        for algorithm in (SCHEDULED[name](toy.LOCAL), SCHEDULED[name](toy.LOCAL, n_rounds=5))
    )
    assert toy.same(found.weights, given.weights)


@pytest.mark.parametrize("name", SCHEDULED)
def test_rounds_with_a_fleet_that_was_not_told_are_refused(name):
    algorithm, task = SCHEDULED[name](), toy.toy_task()
    fleet = LocalFleet(algorithm, task, toy.toy_clients(), 0)
    with pytest.raises(ModelError, match="was not told how many"):
        next(rounds(Plan(algorithm, task), fleet, 5))
    with pytest.raises(ModelError, match="was not told how many"):
        run(Plan(algorithm, task), fleet, 5, progress=False)


def test_the_algorithm_within_another_is_told():
    wrapped = Private(Weighed(FedFishr()))
    assert for_run(wrapped, 7) == Private(Weighed(FedFishr(n_rounds=7)))
    plain = Private(Weighed(FedAvg()))
    assert for_run(plain, 7) is plain


def test_a_schedule_that_the_run_does_not_reach_the_end_of_is_told():
    assert for_run(FedFishr(n_rounds=5), 5).n_rounds == 5
    with pytest.warns(FirecvNotice, match="is for 100 rounds and the run ends after 5"):
        assert for_run(FedFishr(n_rounds=100), 5).n_rounds == 100


@pytest.mark.parametrize("name", SCHEDULED)
def test_experiments_tell_and_simulations_leave_it_to_the_run(name):
    assert of_experiment(FederatedMethod(name), 7, 3, 64).n_rounds == 7
    asked = Simulation("digits", fragments="iid:n=3", algorithm=name)
    assert build(asked).plan.algorithm.n_rounds is None


def test_fishr_has_no_run_of_one_round():
    with pytest.raises(ModelError, match="n_rounds is 1; expected a number from 2 on"):
        run(Plan(FedFishr(), toy.toy_task()), toy.toy_clients(), 1)
