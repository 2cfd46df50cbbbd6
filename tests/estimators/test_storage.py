"""Estimators that go to disk and come back."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from firecv.errors import DataError, FileFormatError
from firecv.estimators import FIREClassifier
from tests.estimators.worlds import FORMS, QUICK, same_weights, world


@pytest.fixture
def saved(tmp_path):
    x, y, sites, x_val, _ = world()
    model = FIREClassifier(form="quadratic", **QUICK).fit(x, y, fragments=sites, X_val=x_val)
    model.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("form", [*FORMS, "weigh", "off"])
@pytest.mark.parametrize("carry", ["model", "fisher"])
def test_a_loaded_estimator_goes_on_as_if_nothing_had_happened(form, carry, tmp_path):
    carry = "model" if form == "weigh" else carry  # which weighs nothing otherwise
    x, y, sites, x_val, _ = world()
    off = {"strength": 0, "form": "trace"} if form == "off" else {"form": form}
    model = FIREClassifier(**off, carry=carry, **QUICK)
    model.fit(x, y, fragments=sites, X_val=x_val)
    model.save(tmp_path)
    back = FIREClassifier.load(tmp_path)
    assert np.array_equal(back.predict_proba(x_val), model.predict_proba(x_val))
    for name in ("regime_", "loss_curve_", "n_iter_", "weights_", "shift_test_"):
        assert getattr(back, name) == getattr(model, name)
    for one in (model, back):
        one.partial_fit(x[:20], y[:20], X_val=x_val, fragments=sites[20:40])
    assert same_weights(model, back)
    assert model.loss_curve_ == back.loss_curve_


@pytest.mark.parametrize(
    "settings",
    [
        {"structure": "lowrank"},
        {"structure": "kronecker"},
        {"preset": "paper"},
        {"class_weight": {"low": 2.0, "mid": 0.5}},
        {"hidden": (3, 2), "strength": "auto", "batch_size": None},
        {"strength": np.float64(0.3), "n_epochs": np.int64(3)},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::firecv.errors.FirecvNotice")
def test_settings_come_back(settings, tmp_path):
    x, y, *_ = world()
    model = FIREClassifier(**QUICK | {"form": "precondition"} | settings).fit(x, y)
    model.save(tmp_path)
    back = FIREClassifier.load(tmp_path)
    assert back.get_params() == model.get_params()
    for one in (model, back):
        one.partial_fit(x, y)
    assert same_weights(model, back)


@pytest.mark.parametrize("kind", [str, object, bool, np.int8, np.float64], ids=lambda k: k.__name__)
def test_classes_keep_their_type(kind, tmp_path):
    x, y, *_ = world()
    labels = (y == "low").astype(int).astype(str if kind is object else kind).astype(kind)
    model = FIREClassifier(**QUICK).fit(x.astype(np.float32), labels)
    model.save(tmp_path)
    back = FIREClassifier.load(tmp_path)
    assert back.classes_.dtype == model.classes_.dtype
    assert back.predict(x).tolist() == model.predict(x).tolist()


def test_names_of_features_come_back(tmp_path):
    x, y, *_ = world()
    frame = pd.DataFrame(x, columns=list("abcd"))
    FIREClassifier(**QUICK).fit(frame, y).save(tmp_path)
    back = FIREClassifier.load(tmp_path)
    back.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        back.predict(frame.rename(columns={"a": "z"}))


def test_saving_again_replaces(saved):
    x, y, *_ = world()
    model = FIREClassifier.load(saved).partial_fit(x, y)
    model.save(saved)
    assert len(list(saved.iterdir())) == 2
    assert same_weights(FIREClassifier.load(saved), model)


def test_what_cannot_be_saved_is_named(tmp_path):
    x, y, *_ = world()
    with pytest.raises(NotFittedError):
        FIREClassifier().save(tmp_path / "none")
    model = FIREClassifier(**QUICK | {"random_state": np.random.RandomState(0)}).fit(x, y)
    with pytest.raises(DataError, match="settings holds a RandomState, which cannot be saved"):
        model.save(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def change(**facts):
    def damage(folder):
        file = folder / "estimator.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | facts))

    return damage


def cut_arrays(folder):
    (file,) = folder.glob("arrays-*")
    file.write_bytes(file.read_bytes()[:-8])


def drop(name):
    return lambda folder: [file.unlink() for file in folder.glob(name)]


@pytest.mark.parametrize(
    "damage, message",
    [
        (shutil.rmtree, "holds no estimator"),
        (drop("estimator.json"), "holds no estimator"),
        (drop("arrays-*"), "is missing or not the file"),
        (cut_arrays, "is missing or not the file"),
        (lambda folder: (folder / "estimator.json").write_text("{"), "holds no estimator"),
        (lambda folder: (folder / "estimator.json").write_text("[]"), "not of the format"),
        (lambda folder: (folder / "estimator.json").write_bytes(b"\xff\xfe"), "holds no estimator"),
        (change(format="other"), "not of the format"),
        (change(version=2), "has version 2 of the format, this package reads version 1"),
        (change(settings=[["fom", 3]]), "is damaged"),
        (change(settings=3), "is damaged"),
        (change(classes={"dtype": "<U4", "values": ["a", "b"]}), "is damaged"),
        (change(classes={"dtype": "soup", "values": ["a", "b"]}), "is damaged"),
        (change(n_features=7), "is damaged"),
        (change(n_trainings=None), "is damaged"),
        (change(losses=3), "is damaged"),
        (change(sha256=None), "is missing or not the file"),
        (change(shift_test=[1]), "is damaged"),
    ],
)
def test_damage_is_named(saved, damage, message):
    damage(saved)
    with pytest.raises(FileFormatError, match=message):
        FIREClassifier.load(saved)


@pytest.mark.parametrize("name", ["settings", "classes", "features", "seed", "sha256", "weights"])
def test_missing_facts_are_named(saved, name):
    file = saved / "estimator.json"
    facts = json.loads(file.read_text())
    del facts[name]
    file.write_text(json.dumps(facts))
    with pytest.raises(FileFormatError, match=name):
        FIREClassifier.load(saved)
