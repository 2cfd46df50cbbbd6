"""The classifier's default where the validation set has labels: weights by influence."""

import numpy as np
import pytest
import torch

from firecv.errors import RegimeError
from firecv.estimators import FIREClassifier, FragmentWeigher
from tests.estimators.test_weigher import sites
from tests.estimators.worlds import QUICK, same_weights


def fitted(data, **settings):
    return FIREClassifier(**QUICK | settings).fit(**data)


def test_weights_are_those_of_the_weigher_and_v_is_trained_on():
    data = sites()
    model = fitted(data, random_state=0)
    weigher = FragmentWeigher(random_state=model._seed).fit(**data)
    assert model.weights_ == pytest.approx(weigher.weights_)
    assert model.validation_weight_ == pytest.approx(weigher.validation_weight_)
    assert model.weights_["north"] < 0.01
    assert model.regime_ == "labelled"
    assert model.shift_test_ is None


def test_it_learns_what_v_needs_where_plain_training_does_not():
    data = sites(n=200)
    rng = np.random.default_rng(5)
    x_test = rng.normal(size=(500, 3))
    settings = {"n_epochs": 60, "rate": 0.01}
    plain = fitted({"X": data["X"], "y": data["y"]}, **settings)
    model = fitted(data, **settings)
    truth = (x_test[:, 0] > 0).astype(int)
    assert model.score(x_test, truth) > 0.9
    assert model.score(x_test, truth) > plain.score(x_test, truth)


def test_without_labels_or_by_another_rule_v_is_not_trained_on():
    data = sites()
    assert fitted(data, rule="information").validation_weight_ == 0
    del data["y_val"]
    model = fitted(data)
    assert model.validation_weight_ == 0
    assert model.regime_ == "unlabelled"


def test_at_strength_zero_training_is_plain_to_the_bit():
    data = sites()
    plain = fitted({name: data[name] for name in ("X", "y", "fragments")})
    assert same_weights(fitted(data, strength=0), plain)


def test_the_rule_needs_labels():
    data = sites()
    del data["y_val"]
    with pytest.raises(RegimeError, match="influence"):
        fitted(data, rule="influence")


def test_a_saved_model_keeps_the_weight_of_v(tmp_path):
    model = fitted(sites())
    model.save(tmp_path / "model")
    again = FIREClassifier.load(tmp_path / "model")
    assert again.validation_weight_ == model.validation_weight_ > 0
    assert again.weights_ == model.weights_


def test_global_generators_rest():
    before = torch.get_rng_state(), np.random.get_state()[1].copy()
    fitted(sites())
    assert torch.equal(before[0], torch.get_rng_state())
    np.testing.assert_array_equal(before[1], np.random.get_state()[1])
