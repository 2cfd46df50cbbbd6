"""Where clients' losses are quadratics the optimum is known: who reaches it and who does not."""

import pytest

from firecv.federated.algorithms import SCAFFOLD, FedAvg, FedDyn, FedProx
from tests.federated.quadratics import (
    EXACT,
    QUICK,
    distance,
    error,
    last_state,
    optimum,
    quadratics,
)

EQUAL, UNEQUAL = (1, 1, 1, 1, 1), (1, 2, 3, 4, 5)
BIASED = {"fedavg": FedAvg, "fedprox": lambda local: FedProx(local, 1.0)}
UNBIASED = {"scaffold": SCAFFOLD, "feddyn": lambda local: FedDyn(local, 1.0)}


@pytest.mark.parametrize("name", BIASED)
def test_algorithms_that_only_average_miss_the_optimum(name):
    assert error(BIASED[name](QUICK), quadratics(), 40) > 0.1


@pytest.mark.parametrize("sizes", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
@pytest.mark.parametrize("name", UNBIASED)
def test_corrected_algorithms_reach_the_weighted_optimum(name, sizes):
    assert error(UNBIASED[name](QUICK), quadratics(sizes), 50) < 2e-6


def test_unequal_sizes_have_another_optimum():
    difference = optimum(quadratics(EQUAL)) - optimum(quadratics(UNEQUAL))
    assert difference.abs().max() > 0.01


@pytest.mark.parametrize("name", UNBIASED)
def test_corrected_algorithms_reach_it_with_two_of_five_clients_too(name):
    assert error(UNBIASED[name](QUICK), quadratics(UNEQUAL), 120, participation=0.4) < 1e-3


@pytest.mark.parametrize("name", UNBIASED)
def test_the_optimum_stays_where_it_is(name):
    """With corrections in place a round at the optimum moves nothing."""
    algorithm, clients = UNBIASED[name](QUICK), quadratics(UNEQUAL)
    state, fleet = last_state(algorithm, clients, 80)
    before = distance(algorithm, state, clients)
    state, _ = last_state(algorithm, clients, 81, state=state, fleet=fleet)
    assert before < 1e-8
    assert distance(algorithm, state, clients) < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sizes", "n_rounds", "participation", "bound"),
    [
        ("scaffold", EQUAL, 300, 1.0, 1e-14),
        ("scaffold", UNEQUAL, 300, 1.0, 1e-14),
        ("scaffold", EQUAL, 3000, 0.4, 1e-13),
        ("scaffold", UNEQUAL, 3000, 0.4, 1e-13),
        ("feddyn", EQUAL, 300, 1.0, 1e-13),
        ("feddyn", UNEQUAL, 300, 1.0, 1e-13),
        ("feddyn", EQUAL, 1000, 0.4, 1e-13),
        ("feddyn", UNEQUAL, 1000, 0.4, 1e-13),
    ],
)
def test_corrected_algorithms_reach_it_to_rounding(name, sizes, n_rounds, participation, bound):
    assert error(UNBIASED[name](EXACT), quadratics(sizes), n_rounds, participation) < bound


@pytest.mark.slow
@pytest.mark.parametrize("name", BIASED)
def test_algorithms_that_only_average_miss_it_however_long_they_run(name):
    assert error(BIASED[name](EXACT), quadratics(), 300) > 0.1
