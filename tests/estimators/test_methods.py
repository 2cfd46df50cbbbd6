"""Every method by name, on a table and on images."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone

from firecv.errors import DataError, ModelError, RegimeError
from firecv.estimators import METHODS, FIREClassifier, RivalClassifier, make_classifier
from firecv.regimes import sees_at_most
from firecv.rivals import RIVALS
from tests.estimators.worlds import digits, global_generators, same_weights, shifted

ROOT = Path(__file__).resolve().parents[2]
FIRE = ["fire", "fire-precondition", "fire-trace", "fire-quadratic", "fire-align", "fire-paper"]
MODELS = ["fire-linear", "fire-boosting"]
NETWORKS = [name for name in METHODS if name not in MODELS]
QUICK = {"hidden": (5,), "n_epochs": 3, "batch_size": 32, "rate": 0.01, "random_state": 2}

pytestmark = pytest.mark.filterwarnings("ignore::firecv.errors.FirecvNotice")


def given(x_val, y_val, regime):
    shown = {"none": (), "unlabelled": ("X_val",), "labelled": ("X_val", "y_val")}[regime]
    return {name: {"X_val": x_val, "y_val": y_val}[name] for name in shown}


def test_all_methods_are_listed():
    assert list(METHODS) == [*FIRE, *MODELS, *RIVALS]
    labels = [listed.label for listed in METHODS.values()]
    assert len(set(labels)) == len(labels)
    for name, rival in RIVALS.items():
        assert METHODS[name].regime == METHODS[name].most == rival.regime


@pytest.mark.parametrize("regime", ["none", "unlabelled", "labelled"])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_method_sees_what_it_may_and_asks_for_what_it_needs(name, regime):
    x, y, sites, x_val, y_val = shifted()
    model, listed = make_classifier(name, **QUICK), METHODS[name]
    options = given(x_val, y_val, regime)
    if not sees_at_most(listed.regime, regime):
        with pytest.raises(RegimeError):
            model.fit(x, y, fragments=sites, **options)
        return
    model.fit(x, y, fragments=sites, **options)
    assert model.regime_ == (listed.most if sees_at_most(listed.most, regime) else regime)
    assert model.predict_proba(x_val).sum(1) == pytest.approx(1)
    assert len(model.loss_curve_) == model.n_iter_ >= 3


@pytest.mark.parametrize("name", MODELS)
def test_other_models_are_trained_with_weights_by_influence(name):
    x, y, sites, x_val, y_val = shifted()
    one, other = make_classifier(name, random_state=2), make_classifier(name, random_state=2)
    for each in (one, other):
        each.fit(x, y, fragments=sites, X_val=x_val, y_val=y_val)
    assert one.regime_ == METHODS[name].regime == "labelled"
    assert set(one.weigher_.weights_) == set(sites)
    assert np.array_equal(one.predict_proba(x_val), other.predict_proba(x_val))
    with pytest.raises(DataError, match="got X_val without y_val"):
        make_classifier(name).fit(x, y, fragments=sites, X_val=x_val)


@pytest.mark.parametrize("name", NETWORKS)
def test_same_random_state_same_model(name):
    x, y, sites, x_val, y_val = shifted()
    one = make_classifier(name, **QUICK)
    other, third = clone(one), clone(one).set_params(random_state=3)
    for each in (one, other, third):
        each.fit(x, y, fragments=sites, X_val=x_val, y_val=y_val)
    assert same_weights(one, other) and not same_weights(one, third)
    assert one.loss_curve_ == other.loss_curve_


@pytest.mark.parametrize("name", METHODS)
def test_global_generators_are_left_alone(name):
    x, y, sites, x_val, y_val = shifted()
    before = global_generators()
    make_classifier(name, **QUICK | {"n_epochs": 1}).fit(
        x, y, fragments=sites, X_val=x_val, y_val=y_val
    )
    assert global_generators() == before


@pytest.mark.parametrize("name", NETWORKS)
def test_images_are_learned_in_single_precision(name):
    x, y, halves, x_val, y_val = digits()
    settings = QUICK | {"image_shape": (1, 8, 8), "n_epochs": 8, "rate": 0.003}
    model = make_classifier(name, **settings)
    model.fit(x.astype(np.float32), y, fragments=halves, X_val=x_val, y_val=y_val)
    assert next(model.network_.parameters()).dtype == torch.float32
    assert model.regime_ == METHODS[name].most
    assert model.score(x, y) > 0.4  # by chance 1/3


@pytest.mark.parametrize("name", NETWORKS)
def test_a_method_comes_back_from_disk(name, tmp_path):
    x, y, sites, x_val, y_val = shifted()
    model = make_classifier(name, **QUICK)
    model.fit(x, y, fragments=sites, X_val=x_val, y_val=y_val).save(tmp_path)
    back = type(model).load(tmp_path)
    assert back.get_params() == model.get_params() and back.regime_ == model.regime_
    assert np.array_equal(back.predict_proba(x_val), model.predict_proba(x_val))


@pytest.mark.parametrize("name", NETWORKS)
def test_initial_weights_are_the_same_for_all(name):
    x, y, sites, x_val, y_val = shifted()
    settings = QUICK | {"rate": 1e-12, "n_epochs": 1}
    erm = make_classifier("erm", **settings).fit(x, y)
    model = make_classifier(name, **settings)
    model.fit(x, y, fragments=sites, X_val=x_val, y_val=y_val)
    for a, b in zip(model.network_.parameters(), erm.network_.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-9)


def test_the_documentation_lists_every_method_with_its_regimes():
    page = (ROOT / "docs" / "estimators.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| .* \| `(\w+)` \| `(\w+)` \|$", page, re.MULTILINE)
    assert {name: (least, most) for name, least, most in rows} == {
        name: (listed.regime, listed.most) for name, listed in METHODS.items()
    }


def test_forms_of_fire_are_those_of_its_classifier():
    forms = {name: make_classifier(name).get_params() for name in FIRE}
    assert forms["fire"] == FIREClassifier().get_params()
    assert forms["fire-trace"] == FIREClassifier(form="trace").get_params()
    paper = FIREClassifier(form="precondition", preset="paper")
    assert forms["fire-paper"] == paper.get_params()


@pytest.mark.parametrize("function", [FIREClassifier.__init__, RivalClassifier.__init__])
def test_arguments_and_defaults_are_the_classifiers_own(function):
    common = inspect.signature(make_classifier).parameters
    own = inspect.signature(function).parameters
    assert {name: own[name].default for name in common if name != "name"} == {
        name: parameter.default for name, parameter in common.items() if name != "name"
    }


def test_arguments_reach_the_estimator():
    settings = {
        "hidden": (3, 2),
        "image_shape": (1, 2, 2),
        "optimiser": "sgd",
        "rate": 0.5,
        "l2": 0.1,
        "batch_size": None,
        "n_epochs": 7,
        "class_weight": "balanced",
        "random_state": 9,
        "verbose": True,
    }
    for name in ("fire-align", "erm"):
        params = make_classifier(name, **settings).get_params()
        assert {key: params[key] for key in settings} == settings


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(ModelError, match="name is 'fire-trase'; did you mean 'fire-trace'?"):
        make_classifier("fire-trase")
