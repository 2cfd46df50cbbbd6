from dataclasses import replace

import pytest
import torch

from firecv.errors import DataError
from firecv.experiments.kinds import worlds
from firecv.experiments.kinds.federated_methods import FederatedMethod
from firecv.experiments.kinds.federation import Federation
from firecv.experiments.spec import canonical
from firecv.federated.contract import Client
from firecv.federated.worlds import World
from firecv.models.scores import SCORES

TINY = Federation(
    "digits",
    "bands",
    n_clients=4,
    n_train=400,
    n_validation=60,
    n_test=200,
    n_rounds=2,
    n_epochs=3,
    method=FederatedMethod(rate=0.1),
    hidden="16",
)


def tiny(*words, **settings):
    """Return a tiny federation with another method."""
    return replace(TINY, method=FederatedMethod(*words, rate=0.1, **settings))


WEIGHED = tiny("fedavg", "summary", weigh="information")


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
    fire = tiny("fire", "labelled", form="quadratic", strength=0.0)
    assert fire.measure([0])["accuracy"] == TINY.measure([0])["accuracy"]


def test_in_protocol_paper_v_itself_is_scored():
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
    method = replace(WEIGHED.method, n_numbers=4, layers="last", guarded=False, every=2)
    small = replace(WEIGHED, method=method)
    assert small.measure([0])["bytes"][0] < WEIGHED.measure([0])["bytes"][0]


@pytest.mark.parametrize("weigh", ["mixture", "distance", "inputs", "activations", "loss"])
def test_every_way_to_weigh_runs(weigh):
    regime = "labelled_summary" if weigh == "loss" else "summary"
    assert tiny("fedavg", regime, weigh=weigh).measure([0])["accuracy"][0] > 0


@pytest.mark.parametrize(
    "algorithm", ["scaffold", "moon", "fedfishr", "lfd", "fedas", "fedcfa", "pooled", "feddyn"]
)
def test_every_algorithm_of_the_tables_runs(algorithm):
    regime = "labelled" if algorithm == "pooled" else "none"
    assert tiny(algorithm, regime).measure([0])["accuracy"][0] > 0


def test_fire_shares_v_with_clients_only_in_regimes_that_say_so():
    losses = {
        regime: tiny("fire", regime, form="trace").measure([0])["log_loss"][0]
        for regime in ("none", "labelled_summary", "labelled")
    }
    # The trace needs V where training is; on the server it is of no use to it.
    assert losses["none"] == losses["labelled_summary"] != losses["labelled"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"world": "moon"}, "no world 'moon'"),
        ({"protocol": "dirty"}, "expected 'clean' or 'paper'"),
    ],
)
def test_what_makes_no_sense_is_refused(changed, message):
    with pytest.raises(DataError, match=message):
        replace(TINY, **changed).check()


def test_data_that_are_not_here_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setenv("FIRECV_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "fashion_mnist is not at hand" in replace(TINY, dataset="fashion_mnist").missing()
    assert TINY.missing() == ""


def test_the_convolutional_network_gets_the_images_as_they_were():
    sizes = (4, 400, 60, 200)
    rows = worlds.made_world("digits", "iid", 0, sizes)
    images = worlds.made_world("digits", "iid", 0, sizes, "cnn")
    x, y = images.clients[2].data
    assert x.shape[1:] == (1, 8, 8) and torch.equal(y, rows.clients[2].data[1])
    assert torch.equal(x.flatten(1), rows.clients[2].data[0])
    small = replace(TINY, world="iid", model="cnn", n_rounds=1, n_epochs=1)
    assert small.measure([0])["accuracy"][0] > 0
    with pytest.raises(DataError, match="model is 'x'"):
        replace(TINY, model="x").check()


def test_color_comes_first_in_images():
    x = torch.arange(2 * 2 * 3.0).reshape(1, -1)  # one pixel after the other, three colors each
    batch = x, torch.zeros(1).long()
    made = worlds.with_shape(World((Client(batch),), batch, batch), (2, 2, 3))
    assert made.test[0][0, 1].tolist() == [[1.0, 4.0], [7.0, 10.0]]


def test_a_model_that_is_not_named_leaves_the_id_as_it_was():
    assert "model" not in canonical(TINY) and "cnn" in canonical(replace(TINY, model="cnn"))
