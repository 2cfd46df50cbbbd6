"""Rotated images: pairing, disjoint sets, protocols and limits, on scikit-learn's digits."""

import os
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from firecv.data.rotation import rotate
from firecv.errors import DataError
from firecv.estimators import METHODS
from firecv.estimators.methods import FIRE_MODELS
from firecv.experiments.kinds import images, turned_images
from firecv.experiments.kinds.images import REGIMES, inputs
from firecv.experiments.kinds.rotated import Rotated
from firecv.models.scores import SCORES
from firecv.regimes import sees_at_most

SMALL = Rotated("digits", 2, 5, "erm", "none", None, "mlp", 300, 60, 200, n_fragments=3, n_epochs=2)
MOST = {
    name: next(r for r in reversed(REGIMES) if sees_at_most(r, listed.most))
    for name, listed in METHODS.items()
    if name not in FIRE_MODELS
}
NETWORKS = [name for name in METHODS if name not in FIRE_MODELS]
CHEAP = [name for name in NETWORKS if name not in ("eiwerm", "riwerm", "l2")]


def of(method, **changes):
    return replace(SMALL, method=method, regime=MOST[method], **changes)


@pytest.fixture
def spied(monkeypatch):
    """Return a list of what every model was built with, fitted with and asked to predict."""
    calls = []

    def classifier(method, strength, **settings):
        call = {"method": method, "strength": strength, **settings}
        calls.append(call)
        model = SimpleNamespace(classes_=np.arange(10))

        def fit(x, y, **given):
            call.update(x=x, y=y, **given)
            return model

        def predict_proba(x):
            call.update(scored=x)
            return np.full((len(x), 10), 0.1)

        model.fit, model.predict_proba = fit, predict_proba
        return model

    monkeypatch.setattr(images, "classifier", classifier)
    return calls


def test_all_methods_are_given_the_same_images_and_settings(spied):
    for method in NETWORKS:
        of(method).measure([7])
    first = spied[0]
    for call in spied[1:]:
        assert np.array_equal(call["x"], first["x"]) and np.array_equal(call["y"], first["y"])
        assert np.array_equal(call["scored"], first["scored"])
        for name in ("seed", "network", "shape", "n_epochs"):
            assert call[name] == first[name]
        assert (call["fragments"] is not None) == (call["method"] == "fire")
    labelled = [call for call in spied if call["y_val"] is not None]
    unlabelled = [call for call in spied if call["X_val"] is not None]
    assert len(labelled) > 5 and len(unlabelled) > len(labelled)
    assert all(np.array_equal(call["X_val"], labelled[0]["X_val"]) for call in unlabelled)


def test_all_methods_begin_with_the_same_weights(monkeypatch):
    begun = []

    def noted(*settings):
        network = mlp(*settings)
        begun.append([p.detach().clone() for p in network.parameters()])
        return network

    from firecv.estimators import settings

    mlp = settings.mlp
    monkeypatch.setattr(settings, "mlp", noted)
    for method in CHEAP:
        of(method, n_epochs=1).measure([3])
    assert len(begun) >= len(CHEAP)
    for weights in begun[1:]:
        assert all(bool((a == b).all()) for a, b in zip(weights, begun[0], strict=True))


@pytest.mark.parametrize("regime", REGIMES)
def test_a_method_sees_of_v_what_its_regime_says(spied, regime):
    replace(SMALL, method="fire-trace", regime=regime).measure([0])
    (call,) = spied
    assert (call["X_val"] is None) == (regime == "none")
    assert (call["y_val"] is None) == (regime != "labelled")


@pytest.mark.parametrize(
    ("method", "strength"),
    [("fire", 0.0), ("fire-trace", 0.0), ("fire-align", 0.0), ("fire-paper", 0.0), ("l2", 0.0)],
)
def test_without_strength_it_is_plain_training_to_the_bit(method, strength):
    plain = SMALL.measure([1])
    assert of(method, strength=strength).measure([1]) == plain


def test_more_images_than_there_are_is_refused():
    with pytest.raises(DataError, match="ask for fewer"):
        replace(SMALL, n_train=1790).measure([0])
    with pytest.raises(DataError, match="ask for fewer"):
        replace(SMALL, n_test=1790).measure([0])


def test_the_paper_protocol_scores_v_and_the_clean_one_does_not(spied):
    of("pooled").measure([0])
    of("pooled", protocol="paper").measure([0])
    clean, paper = spied
    assert np.array_equal(paper["scored"], paper["X_val"])
    assert len(clean["scored"]) == 200
    seen = {row.tobytes() for row in clean["X_val"]}
    assert not any(row.tobytes() in seen for row in clean["scored"])


def test_angles_follow_the_two_laws(monkeypatch, spied):
    turned = []
    monkeypatch.setattr(turned_images, "rotate", lambda x, angles: turned.append(angles) or x)
    replace(SMALL, n_train=1000, n_validation=300, n_test=400).measure([0])
    train, v, t = turned
    assert (len(train), len(v), len(t)) == (1000, 300, 400)
    for angles, mean in ((train, 2 / 7), (v, 5 / 7), (t, 5 / 7)):
        assert abs(angles.mean() - 180 * mean) < 4 * 180 * 0.16 / np.sqrt(len(angles))
        assert 0 < angles.min() and angles.max() < 180
    assert not np.array_equal(v, t[:300])


def test_images_are_turned_by_their_angles(monkeypatch, spied):
    turned = []

    def noted(x, angles):
        turned.append((x, angles))
        return rotate(x, angles)

    monkeypatch.setattr(turned_images, "rotate", noted)
    SMALL.measure([0])
    x, angles = turned[0]
    assert np.array_equal(spied[0]["x"][:5], inputs(rotate(x[:5], angles[:5])))


@pytest.mark.parametrize("fragments", ["iid", "angle"])
def test_fragments_are_of_equal_size_and_by_angle_if_asked(monkeypatch, spied, fragments):
    turned = []
    monkeypatch.setattr(turned_images, "rotate", lambda x, angles: turned.append(angles) or x)
    of("fire", fragments=fragments).measure([0])
    cut, angles = spied[0]["fragments"], turned[0]
    assert np.bincount(cut).tolist() == [100, 100, 100]
    is_sorted = all(angles[cut == i].max() < angles[cut == i + 1].min() for i in (0, 1))
    assert is_sorted == (fragments == "angle")


def test_seeds_do_not_depend_on_each_other():
    alone, together = SMALL.measure([3]), SMALL.measure(range(2, 5))
    assert together["seed"] == [2, 3, 4]
    assert {name: [values[1]] for name, values in together.items()} == alone
    assert len(set(together["log_loss"])) == 3


def test_columns_are_the_scores():
    found = SMALL.measure([0])
    assert tuple(found) == ("seed", *SCORES)
    assert all(len(values) == 1 for values in found.values())
    assert 0 <= found["accuracy"][0] <= 1


@pytest.mark.parametrize("network", ["mlp", "cnn"])
def test_labels_of_v_help_under_shift(network):
    small = replace(SMALL, b=6, n_train=600, n_validation=300, n_epochs=10, network=network)
    plain = small.measure([0])["accuracy"][0]
    pooled = replace(small, method="pooled", regime="labelled").measure([0])["accuracy"][0]
    assert pooled > plain + 0.05


def test_missing_data_give_the_reason_without_an_error():
    setting = replace(SMALL, dataset="femnist")
    assert "femnist" in setting.missing() and SMALL.missing() == ""
    assert setting.cost > 0 and setting.at_once == 1


def test_a_regime_that_a_method_cannot_use_is_refused():
    with pytest.raises(DataError, match="at most"):
        replace(SMALL, regime="labelled").measure([0])


@pytest.mark.slow
@pytest.mark.skipif("FIRECV_DATA" not in os.environ, reason="FIRECV_DATA names no folder of data")
def test_fashion_mnist_is_as_hard_as_measured_before():
    setting = Rotated("fashion_mnist", 2, 4, "erm", "none")
    assert 0.5 < setting.measure([0])["accuracy"][0] < 0.64


@pytest.mark.parametrize("method", ["eiwerm", "l2"])
def test_folds_of_a_choice_reach_the_method(monkeypatch, method):
    folds = []
    original = images.CHOOSING[method]
    monkeypatch.setitem(images.CHOOSING, method, lambda n: folds.append(n) or original(n))
    fewer, own = of(method, n_folds=2), of(method)
    fewer.measure([0])
    assert folds == [2] and fewer.cost < own.cost


@pytest.mark.parametrize(("method", "strength"), [("erm", None), ("l2", 0.1)])
def test_folds_where_nothing_is_chosen_are_refused(method, strength):
    with pytest.raises(DataError, match="leave n_folds out"):
        of(method, strength=strength, n_folds=2).measure([0])
