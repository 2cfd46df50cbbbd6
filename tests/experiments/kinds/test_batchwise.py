"""Batches: pairing, disjoint sets, protocols and limits, on scikit-learn's digits."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from firecv.data import load
from firecv.errors import DataError
from firecv.estimators import FIREClassifier, RivalClassifier
from firecv.experiments.kinds import images
from firecv.experiments.kinds.batches import images_of
from firecv.experiments.kinds.batchwise import Batchwise
from firecv.experiments.kinds.images import Labelled, classifier, inputs
from firecv.models.scores import SCORES, scores

SMALL = Batchwise("digits", 3, "erm", "none", network="mlp", n_train=500, n_epochs=2)
METHODS = {
    "erm": "none",
    "fire-precondition": "unlabelled",
    "fire-trace": "labelled",
    "fire-quadratic": "unlabelled",
    "fire-align": "labelled",
    "fire-paper": "labelled",
    "iwerm": "unlabelled",
    "deepcoral": "unlabelled",
    "pooled": "labelled",
}


def of(method, **changes):
    return replace(SMALL, method=method, regime=METHODS[method], **changes)


@pytest.fixture
def spied(monkeypatch):
    """Return a list of what every model was fitted with on each batch, and asked to predict."""
    calls = []

    def build(method, strength, **settings):
        kind = FIREClassifier if method.startswith("fire") else RivalClassifier
        model = kind()
        model.classes_ = np.arange(10)

        def note(called, x, y, classes=None, **given):
            how = {"method": method, "strength": strength, "called": called, "model": model}
            calls.append({**how, **settings, "x": x, "y": y, "classes": classes, **given})
            return model

        def predict_proba(x):
            calls[-1]["scored"] = x
            return np.full((len(x), 10), 0.1)

        model.fit, model.partial_fit = partial(note, "fit"), partial(note, "partial_fit")
        model.predict_proba = predict_proba
        return model

    monkeypatch.setattr(images, "classifier", build)
    return calls


def rows_of(x):
    return {row.tobytes() for row in x}


def test_all_methods_are_given_the_same_batches_and_settings(spied):
    for method in METHODS:
        of(method).measure([7])
    by_batch = [spied[k::3] for k in range(3)]
    for calls in by_batch:
        assert len(calls) == len(METHODS)
        for call in calls[1:]:
            assert np.array_equal(call["x"], calls[0]["x"])
            assert np.array_equal(call["y"], calls[0]["y"])
            assert np.array_equal(call["scored"], calls[0]["scored"])
            for name in ("seed", "network", "shape", "n_epochs", "carry"):
                assert call[name] == calls[0][name]
    assert not np.array_equal(by_batch[0][0]["x"], by_batch[1][0]["x"])


def test_batches_v_and_t_are_disjoint_and_make_up_the_whole(spied):
    of("pooled").measure([0])
    batches = [rows_of(call["x"]) for call in spied]
    v, t = rows_of(spied[0]["X_val"]), rows_of(spied[0]["scored"])
    assert [len(part) for part in (*batches, v, t)] == [134, 133, 133, 50, 50]
    assert len(set().union(*batches, v, t)) == 500
    assert all(np.array_equal(call["X_val"], spied[0]["X_val"]) for call in spied)


def test_the_paper_protocol_scores_v_itself_and_all_that_is_held_out(spied):
    of("pooled", protocol="paper").measure([0])
    assert all(np.array_equal(call["scored"], call["X_val"]) for call in spied)
    assert len(spied[0]["scored"]) == 100


@pytest.mark.parametrize("regime", ["none", "unlabelled", "labelled"])
def test_a_method_sees_of_v_what_its_regime_says(spied, regime):
    replace(SMALL, method="fire-trace", regime=regime).measure([0])
    for call in spied:
        assert (call["X_val"] is None) == (regime == "none")
        assert (call["y_val"] is None) == (regime != "labelled")


def test_what_is_held_out_does_not_depend_on_the_number_of_batches(spied):
    for n in (1, 2, 4):
        of("pooled", n_batches=n).measure([0])
    assert len(spied) == 7
    assert all(np.array_equal(call["scored"], spied[0]["scored"]) for call in spied)
    assert len(spied[0]["x"]) == 400


@pytest.mark.parametrize("carry", ["fisher", "model"])
@pytest.mark.parametrize("method", ["fire-trace", "fire-paper", "fire-quadratic", "fire-align"])
def test_without_strength_it_is_plain_training_to_the_bit(method, carry):
    plain = replace(SMALL, carry=carry).measure([1])
    assert of(method, carry=carry, strength=0.0).measure([1]) == plain


def test_st_cv_is_a_plain_network_per_batch(spied, monkeypatch):
    replace(SMALL, n_epochs=3).measure([4])
    monkeypatch.undo()
    found = replace(SMALL, n_epochs=3).measure([4])
    first = spied[0]
    erm = classifier("erm", None, network="mlp", shape=(1, 8, 8), n_epochs=3, seed=4)
    erm.fit(first["x"], first["y"])
    data = inputs(np.asarray(load("digits").train.x))
    places = {row.tobytes(): i for i, row in enumerate(data)}
    labels = load("digits").train.y[[places[row.tobytes()] for row in first["scored"]]]
    assert (
        round(scores(erm.predict_proba(first["scored"]), labels)["accuracy"], 6)
        == (found["batch 1"][0])
    )


def test_a_carried_model_goes_on_and_a_fresh_one_begins_anew():
    fresh, carried = SMALL.measure([0]), replace(SMALL, carry="model").measure([0])
    assert carried["batch 1"] == fresh["batch 1"]
    assert carried["batch n"][0] > fresh["batch n"][0]


@pytest.mark.parametrize("method", METHODS)
def test_fire_goes_on_with_what_it_knows_and_rivals_begin_anew(spied, method):
    of(method).measure([0])
    goes_on = method == "erm" or method.startswith("fire")
    assert {call["called"] for call in spied} == {"partial_fit" if goes_on else "fit"}
    assert len({id(call["model"]) for call in spied}) == 1
    if goes_on:
        assert all(call["classes"].tolist() == list(range(10)) for call in spied)


def test_the_fisher_of_earlier_batches_reaches_later_ones():
    first = of("fire-quadratic", strength=100.0, n_epochs=5)
    strong, plain = first.measure([0]), replace(SMALL, n_epochs=5).measure([0])
    assert strong["batch 1"] == plain["batch 1"]  # there is nothing yet to be pulled to
    assert strong["log_loss"] != plain["log_loss"] and strong["variance"] < plain["variance"]


def test_one_batch_is_the_whole_training_set():
    found = replace(SMALL, n_batches=1).measure([0])
    assert found["accuracy"] == found["batch 1"]
    assert tuple(found) == ("seed", *SCORES, "batch 1")


def test_seeds_do_not_depend_on_each_other():
    alone, together = SMALL.measure([3]), SMALL.measure(range(2, 5))
    assert {name: [values[1]] for name, values in together.items()} == alone
    assert len(set(together["log_loss"])) == 3


def test_pixels_change_places_in_all_images_of_a_seed_alike(spied):
    for seed in (0, 1):
        SMALL.measure([seed])
        replace(SMALL, permuted=True).measure([seed])
    plain, permuted = spied[0], spied[3]
    assert not np.array_equal(plain["x"], permuted["x"])
    order = np.lexsort(plain["x"]), np.lexsort(permuted["x"])
    assert np.array_equal(plain["x"][:, order[0]], permuted["x"][:, order[1]])
    joined = [np.concatenate((call["x"], call["scored"])) for call in (plain, permuted)]
    places = [np.lexsort(each) for each in joined]
    assert np.array_equal(joined[0][:, places[0]], joined[1][:, places[1]])
    other = [np.lexsort(call["x"]) for call in (spied[6], spied[9])]
    assert not np.array_equal(np.argsort(other[0])[other[1]], np.argsort(order[0])[order[1]])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"method": "fire", "regime": "unlabelled"}, "trained on together"),
        ({"method": "pooled", "regime": "labelled", "carry": "model"}, "begins anew"),
        ({"regime": "labelled"}, "at most"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, words):
    with pytest.raises(DataError, match=words):
        replace(SMALL, **changes).check()


def test_more_images_than_there_are_is_refused():
    with pytest.raises(DataError, match="1797"):
        replace(SMALL, n_train=1798).measure([0])


def test_missing_data_give_the_reason_without_an_error():
    setting = replace(SMALL, dataset="femnist")
    assert "femnist" in setting.missing() and SMALL.missing() == ""
    assert setting.cost > 0 and setting.at_once == 1


def test_a_class_that_a_batch_lacks_is_no_obstacle():
    found = replace(SMALL, n_train=60, n_batches=6).measure([0])
    assert 0 <= found["accuracy"][0] <= 1


def test_colour_images_go_through_the_convolutions(monkeypatch):
    digits = load("digits").train
    colour = replace(digits, x=np.repeat(np.asarray(digits.x)[..., None], 3, axis=3))
    monkeypatch.setattr(images, "read", lambda name: SimpleNamespace(train=colour))
    setting = replace(SMALL, network="cnn", n_train=200, n_epochs=1)
    assert 0 <= setting.measure([0])["accuracy"][0] <= 1
    assert isinstance(images_of(colour, 0, 200, permuted=False), Labelled)
