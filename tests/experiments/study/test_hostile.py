"""The declaration of the tables, and the attacks that they are about on a small world."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import beta

from firecv.experiments.kinds import attacks, poisoned
from firecv.experiments.kinds.attacked import Attacked
from firecv.experiments.kinds.federated_methods import FederatedMethod
from firecv.experiments.kinds.federation import Federation
from firecv.experiments.study.hostile import (
    ATTACKS,
    COLUMNS,
    MOST_LIKE_V,
    N_HOSTILE,
    TRIGGERED,
    table,
    trigger_table,
)


def test_what_is_named_here_is_what_there_is():
    assert set(ATTACKS) <= set(attacks.ATTACKS) and set(TRIGGERED) == set(poisoned.TRIGGERED)


def test_the_client_most_like_v_has_the_band_with_most_of_vs_angles():
    inside = np.diff(beta(6, 2).cdf(np.linspace(0, 1, 11)))
    assert int(inside.argmax()) == MOST_LIKE_V and round(100 * inside.max()) == 27


def test_all_attacks_by_all_numbers_in_both_worlds_and_two_rows_of_bands():
    found = table("clean")
    assert len(found.rows) == 2 * (1 + len(ATTACKS) * len(N_HOSTILE)) + 2
    assert found.columns == tuple(COLUMNS)
    assert all(cell.setting.federation.n_validation == 100 for cell in found.cells)
    triggers = trigger_table("clean")
    assert {cell.setting for cell in triggers.cells} < {cell.setting for cell in found.cells}
    assert len(triggers.rows) == 2 * len(TRIGGERED) * len(N_HOSTILE)


@cache
def measured(name, attack="none", n_liars=0):
    method, rule = COLUMNS[name]
    world = Federation(
        "digits", "iid", replace(method, rate=0.1), n_train=1000, n_validation=100, n_test=400,
        n_rounds=5, batch_size=16, hidden="32",
    )  # fmt: skip
    found = Attacked(world, rule, attack, n_liars).measure([0])
    assert n_liars or found["failures"] == [0.0]
    return {name: values[0] for name, values in found.items()}


@pytest.mark.parametrize("attack", ["sign flip x10", "noise", "label flip"])
@pytest.mark.parametrize("name", ["median", "trimmed mean", "Krum", "FLTrust"])
def test_robust_methods_hold_against_one_of_ten(name, attack):
    honest = measured(name)["accuracy"]
    assert honest > 0.75
    assert measured(name, attack, 1)["accuracy"] > honest - 0.08


@pytest.mark.parametrize(("attack", "least"), [("sign flip x10", 0.3), ("noise", 0.01)])
def test_attacks_cost_fedavg_something(attack, least):
    assert measured("FedAvg", attack, 3)["accuracy"] < measured("FedAvg")["accuracy"] - least


def test_six_of_ten_that_flip_signs_beat_the_median_and_not_fltrust():
    found = {name: measured(name, "sign flip x10", 6)["accuracy"] for name in COLUMNS}
    assert found["FLTrust"] > 0.7 > 0.5 > found["median"]


def test_a_backdoor_opens_and_does_not_show_in_the_accuracy():
    plain, replaced = (measured("FedAvg", attack, 1) for attack in TRIGGERED)
    assert plain["accuracy"] > measured("FedAvg")["accuracy"] - 0.1
    assert replaced["triggered"] > 0.8
    assert "triggered" not in measured("FedAvg")


def test_a_client_that_is_absent_or_lies_is_the_one_named():
    method = FederatedMethod(rate=0.1)
    world = Federation(
        "digits", "bands", method, n_clients=4, n_train=400, n_validation=60, n_test=200,
        n_rounds=2, hidden="16",
    )  # fmt: skip
    scores = {k: Attacked(world, absent=k).measure([0])["accuracy"][0] for k in range(4)}
    assert len(set(scores.values())) > 2
    flips = [Attacked(world, "mean", "sign flip", 1, liar=k).measure([0]) for k in (0, 3)]
    assert flips[0]["accuracy"] != flips[1]["accuracy"]
