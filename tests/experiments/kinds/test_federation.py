from dataclasses import replace

import pytest

from firecv.errors import DataError, RegimeError
from firecv.experiments.kinds.federation import Federation
from firecv.experiments.scores import SCORES

TINY = Federation(
    "digits",
    "bands",
    "fedavg",
    n_clients=4,
    n_train=400,
    n_validation=60,
    n_test=200,
    n_rounds=2,
    n_epochs=3,
    rate=0.1,
    hidden="16",
)
WEIGHED = replace(TINY, regime="summary", weigh="information")


def test_scores_and_traffic_are_measured():
    found = TINY.measure([3])
    assert set(SCORES) < set(found)
    assert found["seed"] == [3]
    assert 0 < found["accuracy"][0] < 1
    assert found["bytes"][0] == pytest.approx(1.0)  # the model there and back
    assert found["failures"] == [0]


def test_a_seed_does_not_depend_on_others():
    both, alone = TINY.measure([0, 1]), TINY.measure([1])
    for name, values in alone.items():
        assert both[name][1:] == pytest.approx(values, nan_ok=True)


def test_strength_zero_is_fedavg():
    fire = replace(TINY, algorithm="fire", form="quadratic", strength=0.0, regime="labelled")
    assert fire.measure([0])["accuracy"] == TINY.measure([0])["accuracy"]


def test_in_protocol_paper_v_itself_is_scored():
    # With V as large as all that is left there is no test set to take another score from.
    clean = TINY.measure([0])["log_loss"]
    paper = replace(TINY, protocol="paper").measure([0])["log_loss"]
    assert clean != paper


def test_rounds_and_weights_are_kept_if_asked_for():
    found = replace(WEIGHED, detailed=True).measure([0])
    assert found["round 2"] == found["accuracy"]
    weights = [found[f"weight 1 {k}"][0] for k in range(4)]
    assert sum(weights) == pytest.approx(1.0)
    assert "round 1" not in TINY.measure([0])


def test_the_sketch_can_be_smaller_and_of_one_layer():
    small = replace(WEIGHED, n_numbers=4, layers="last", guarded=False, every=2)
    assert small.measure([0])["bytes"][0] < WEIGHED.measure([0])["bytes"][0]


@pytest.mark.parametrize("weigh", ["mixture", "distance", "inputs", "activations", "loss"])
def test_every_way_to_weigh_runs(weigh):
    regime = "labelled_summary" if weigh == "loss" else "summary"
    assert replace(TINY, regime=regime, weigh=weigh).measure([0])["accuracy"][0] > 0


@pytest.mark.parametrize(
    "algorithm", ["scaffold", "moon", "fedfishr", "lfd", "fedas", "fedcfa", "pooled", "feddyn"]
)
def test_every_algorithm_of_the_tables_runs(algorithm):
    regime = "labelled" if algorithm == "pooled" else "none"
    assert replace(TINY, algorithm=algorithm, regime=regime).measure([0])["accuracy"][0] > 0


def test_fire_shares_v_with_clients_only_in_regimes_that_say_so():
    shared = replace(TINY, algorithm="fire", form="trace", regime="labelled")
    losses = {
        regime: replace(shared, regime=regime).measure([0])["log_loss"][0]
        for regime in ("none", "labelled_summary", "labelled")
    }
    # The trace needs V where training is; on the server it is of no use to it.
    assert losses["none"] == losses["labelled_summary"] != losses["labelled"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"world": "moon"}, "no world 'moon'"),
        ({"algorithm": "fedavrg"}, "no algorithm 'fedavrg'"),
        ({"regime": "summary", "weigh": "luck"}, "cannot be weighed by 'luck'"),
        ({"algorithm": "fire"}, "needs a form"),
        ({"protocol": "dirty"}, "expected 'clean' or 'paper'"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(changed, message):
    with pytest.raises(DataError, match=message):
        replace(TINY, **changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"weigh": "information"},
        {"weigh": "loss", "regime": "summary"},
        {"algorithm": "pooled", "regime": "summary"},
    ],
)
def test_nobody_gets_more_of_v_than_the_regime_says(changed):
    with pytest.raises(RegimeError):
        replace(TINY, **changed)


def test_data_that_are_not_here_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setenv("FIRECV_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "fashion_mnist is not at hand" in replace(TINY, dataset="fashion_mnist").missing()
    assert TINY.missing() == ""
