"""The rivals' classifier: what a method is given, what comes back, and what is refused."""

import json
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest
import sklearn
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from firecv.errors import DataError, FileFormatError, ModelError, RegimeError
from firecv.estimators import FIREClassifier, RivalClassifier
from firecv.fire import Summary
from firecv.fisher import Diagonal, estimate
from firecv.models import Task, batches, mlp
from firecv.rivals import RIVALS
from firecv.rivals.contract import Outcome
from firecv.seeding import derive_torch
from firecv.training import Training, train
from tests.estimators.worlds import QUICK, global_generators, same_weights, shifted, world


@dataclass(frozen=True)
class Watching:
    """A method that notes what it is given and trains plainly."""

    regime: str = "none"
    label: str = "Watching"
    weights: bool = False
    calls: list = field(default_factory=list)

    def fit(
        self, task, data, target, settings, seed, *, sample_weight=None, after_epoch=None
    ) -> Outcome:
        self.calls.append((data, target, settings, seed, sample_weight))
        rng = derive_torch(seed, "shuffle", 0)
        train(task, data, settings, rng, sample_weight=sample_weight, after_epoch=after_epoch)
        weights = np.arange(1.0, len(data[0]) + 1) if self.weights else None
        return Outcome(weights, {"number": np.float32(2)})


@pytest.mark.parametrize("regime", ["none", "unlabelled", "labelled"])
def test_a_method_is_given_what_its_regime_lets_it_see(regime):
    x, y, sites, x_val, y_val = world()
    method = Watching(regime)
    model = RivalClassifier(method, l2=0.1, **QUICK)
    model.fit(x, y, fragments=sites, X_val=x_val, y_val=y_val)
    ((found_x, found_y), target, settings, seed, weight) = method.calls[0]
    assert torch.equal(found_x, torch.tensor(x))
    assert model.classes_[found_y.numpy()].tolist() == y.tolist()
    assert (settings, seed, weight) == (Training(4, 16, 0.01, decay=0.1), 3, None)
    assert model.regime_ == regime
    assert (target is None) == (regime == "none")
    if target is not None:
        assert torch.equal(target.x, torch.tensor(x_val))
        assert (target.y is None) == (regime == "unlabelled")
    if regime == "labelled":
        assert model.classes_[target.y.numpy()].tolist() == y_val.tolist()


@pytest.mark.parametrize(
    "regime, given, message",
    [
        ("unlabelled", (), "the inputs of the validation set .*given nothing.*give X_val, or"),
        ("labelled", (), "given nothing.*give X_val and y_val"),
        ("labelled", ("X_val",), "given the inputs of the validation set; give X_val and y_val"),
    ],
)
def test_a_method_that_is_not_shown_enough_says_what_to_give(regime, given, message):
    x, y, _, x_val, y_val = world()
    options = {name: {"X_val": x_val, "y_val": y_val}[name] for name in given}
    with pytest.raises(RegimeError, match=f"Watching needs .*{message}"):
        RivalClassifier(Watching(regime), **QUICK).fit(x, y, **options)


@pytest.mark.parametrize("regime", ["none", "unlabelled"])
def test_a_summary_of_v_is_refused(regime):
    x, y, _, x_val, _ = world()
    network = FIREClassifier(**QUICK).fit(x, y).network_
    fisher = estimate(Diagonal, Task(network), batches(torch.tensor(x_val)), law="exact")
    summary = Summary(fisher, "exact")
    with pytest.raises(RegimeError, match="a summary .*, which no rival method can use"):
        RivalClassifier(Watching(regime), **QUICK).fit(x, y, validation=summary)


def test_erm_is_plain_training_on_everything():
    x, y, sites, x_val, y_val = world()
    model = RivalClassifier(**QUICK).fit(x, y, fragments=sites, X_val=x_val, y_val=y_val)
    network = mlp((4,), (6,), 3, derive_torch(3, "weights")).double()
    data, losses = (torch.tensor(x), torch.tensor(np.searchsorted(model.classes_, y))), []
    train(
        Task(network),
        data,
        Training(4, 16, 0.01),
        derive_torch(3, "shuffle", 0),
        after_epoch=lambda epoch, loss: losses.append(loss),
    )
    pairs = zip(model.network_.parameters(), network.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert model.loss_curve_ == losses and model.n_iter_ == 4
    assert model.weights_ is None and model.chosen_ == {}
    assert not model.network_.training


def test_initial_weights_are_those_of_fire():
    x, y, *_ = world()
    settings = QUICK | {"rate": 1e-12, "n_epochs": 1}
    fire, rival = (kind(**settings).fit(x, y) for kind in (FIREClassifier, RivalClassifier))
    for a, b in zip(fire.network_.parameters(), rival.network_.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-9)


def test_weights_of_samples_go_to_the_method_and_the_methods_own_come_back():
    x, y, *_ = world()
    given = np.linspace(0.0, 3.0, 60)
    method = Watching(weights=True)
    model = RivalClassifier(method, **QUICK).fit(x, y, sample_weight=given)
    found = method.calls[0][-1].numpy()
    assert np.allclose(found, given[1:] / given[1:].mean())  # the first counts nothing
    assert model.weights_.tolist() == [0.0, *range(1, 60)]
    assert model.chosen_ == {"number": 2.0}


def test_weights_of_classes_are_weights_of_samples():
    x, y, *_ = world()
    counts = {label: (y == label).sum() for label in np.unique(y)}
    weights = np.array([1 / counts[label] for label in y])
    one = RivalClassifier(class_weight="balanced", **QUICK).fit(x, y)
    other = RivalClassifier(**QUICK).fit(x, y, sample_weight=weights)
    assert np.allclose(one.predict_proba(x), other.predict_proba(x), atol=1e-9)
    assert not np.allclose(
        one.predict_proba(x), RivalClassifier(**QUICK).fit(x, y).predict_proba(x)
    )


def test_single_precision_stays_single():
    x, y, _, x_val, y_val = world()
    method = Watching("labelled")
    model = RivalClassifier(method, **QUICK)
    model.fit(x.astype(np.float32), y, X_val=x_val, y_val=y_val, sample_weight=np.arange(60))
    (data, target, _, _, weight) = method.calls[0]
    assert {part.dtype for part in (data[0], target.x, weight)} == {torch.float32}
    assert next(model.network_.parameters()).dtype == torch.float32
    assert model.predict_proba(x).dtype == np.float64


def test_images_go_through_the_convolutional_network():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    x = (rng.normal(size=(40, 2, 5, 6)) + y[:, None, None, None]).reshape(40, -1)
    model = RivalClassifier(image_shape=(2, 5, 6), n_epochs=5, random_state=0).fit(x, y)
    assert model.score(x, y) > 0.9
    assert any(isinstance(layer, torch.nn.Conv2d) for layer in model.network_.modules())
    with pytest.raises(ModelError, match="image_shape is .* 60 features"):
        clone(model).set_params(image_shape=(1, 5, 6)).fit(x, y)


def test_tables_are_taken_and_their_columns_remembered(tmp_path):
    x, y, sites, x_val, y_val = world()
    frame, names = pd.DataFrame(x, columns=list("abcd")), list("abcd")
    model = RivalClassifier("iwerm", **QUICK)
    model.fit(
        frame,
        pd.Series(y, dtype="category"),
        fragments=pd.Series(sites),
        X_val=pd.DataFrame(x_val, columns=names),
        y_val=pd.Series(y_val),
    )
    model.save(tmp_path)
    back = RivalClassifier.load(tmp_path)
    assert model.feature_names_in_.tolist() == back.feature_names_in_.tolist() == names
    with pytest.raises(ValueError, match="feature names"):
        back.predict(frame.rename(columns={"a": "z"}))
    with pytest.raises(DataError, match="X_val does not fit X.*feature names"):
        clone(model).fit(frame, y, X_val=pd.DataFrame(x_val, columns=list("abcx")))


def test_without_a_random_state_models_differ_and_global_generators_rest():
    x, y, *_ = world()
    before = global_generators()
    one, other = (RivalClassifier(**QUICK | {"random_state": None}).fit(x, y) for _ in range(2))
    assert not same_weights(one, other)
    assert global_generators() == before


def test_a_pipeline_transforms_the_validation_set_too():
    x, y, _, x_val, _ = shifted()
    x, x_val = x * 50 + 7, x_val * 50 + 7
    with sklearn.config_context(enable_metadata_routing=True):
        model = RivalClassifier("deepcoral", **QUICK).set_fit_request(X_val=True)
        steps = [("scale", StandardScaler()), ("model", model)]
        pipeline = Pipeline(steps, transform_input=["X_val"]).fit(x, y, X_val=x_val)
    scaler = StandardScaler().fit(x)
    by_hand = RivalClassifier("deepcoral", **QUICK)
    by_hand.fit(scaler.transform(x), y, X_val=scaler.transform(x_val))
    assert same_weights(pipeline["model"], by_hand)


def test_a_search_runs_over_methods():
    x, y, sites, x_val, y_val = shifted()
    model = make_pipeline(StandardScaler(), RivalClassifier(**QUICK))
    methods = ["erm", "iwerm", RIVALS["diw"]()]
    search = GridSearchCV(model, {"rivalclassifier__method": methods}, cv=2)
    options = {"fragments": sites, "X_val": x_val, "y_val": y_val}
    search.fit(x, y, **{f"rivalclassifier__{name}": value for name, value in options.items()})
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_["rivalclassifier__method"] in methods


def test_clones_have_the_same_method_and_nothing_learned():
    x, y, *_ = world()
    model = RivalClassifier(RIVALS["iwerm"](clip=0.9), hidden=(3, 2))
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(x)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"X_val": np.zeros((5, 3))}, "X_val does not fit X: X has 3 features"),
        ({"X_val": np.full((5, 4), np.nan)}, "X_val does not fit X.*NaN"),
        ({"X_val": np.zeros((2, 4)), "y_val": ["low"]}, "2 samples and y_val the shape"),
        ({"X_val": np.zeros((1, 4)), "y_val": ["odd"]}, r"y_val holds the labels \['odd'\]"),
        ({"y_val": ["low"]}, "y_val without X_val"),
        ({"validation": 3}, "validation is a int; expected a firecv.fire.Summary"),
        ({"fragments": ["a"]}, "fragments has shape .*, the samples are 60"),
        ({"sample_weight": -np.ones(60)}, "sample_weight has shape .* values from -1"),
    ],
)
def test_what_does_not_fit_is_named_even_where_the_method_would_not_look(changes, message):
    x, y, *_ = world()
    with pytest.raises(DataError, match=message):
        RivalClassifier(**QUICK).fit(x, y, **changes)


@pytest.mark.parametrize(
    "x, y, message",
    [
        (np.full((4, 2), np.inf), [0, 1, 0, 1], "infinity"),
        (np.full((4, 2), np.nan), [0, 1, 0, 1], "NaN"),
        (np.zeros((4, 2)), [1, 1, 1, 1], "there is 1 class"),
        (np.zeros((4, 2)), [0, 1, 0], "inconsistent numbers of samples"),
        (np.zeros((4, 2)), [0.1, 0.2, 0.3, 0.4], "continuous"),
    ],
)
def test_samples_that_cannot_be_trained_on_are_refused(x, y, message):
    with pytest.raises(ValueError, match=message):
        RivalClassifier(**QUICK).fit(x, y)


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "earm"},
        {"method": 3},
        {"method": RIVALS["erm"]},
        {"hidden": 5},
        {"n_epochs": 0},
        {"optimiser": "lion"},
        {"class_weight": "even"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_settings_without_sense_are_refused(settings):
    x, y, *_ = world()
    with pytest.raises(ValueError, match=r"expected|Expected|give an instance"):
        RivalClassifier(**QUICK | settings).fit(x, y)


def test_a_training_that_diverges_says_so_and_leaves_what_was_learned():
    x, y, *_ = world()
    model = RivalClassifier(**QUICK | {"optimiser": "sgd"}).fit(x, y)
    before = model.predict_proba(x)
    with pytest.raises(ArithmeticError):
        model.set_params(rate=1e200, n_epochs=20).fit(x, y)
    assert np.array_equal(before, model.predict_proba(x))


@pytest.mark.parametrize("method", ["erm", "iwerm", RIVALS["iwerm"](clip=0.9)], ids=str)
def test_a_saved_estimator_comes_back(method, tmp_path):
    x, y, _, x_val, _ = shifted()
    model = RivalClassifier(method, class_weight={"yes": 2.0}, **QUICK).fit(x, y, X_val=x_val)
    model.save(tmp_path)
    back = RivalClassifier.load(tmp_path)
    assert back.get_params() == model.get_params()
    assert np.array_equal(back.predict_proba(x_val), model.predict_proba(x_val))
    for name in ("regime_", "loss_curve_", "n_iter_", "chosen_"):
        assert getattr(back, name) == getattr(model, name)
    assert np.array_equal(back.weights_, model.weights_)
    assert same_weights(back.fit(x, y, X_val=x_val), model)


def test_what_cannot_be_saved_is_named(tmp_path):
    x, y, *_ = world()
    with pytest.raises(NotFittedError):
        RivalClassifier().save(tmp_path / "none")
    with pytest.raises(DataError, match="holds a Watching, which cannot be saved"):
        RivalClassifier(Watching(), **QUICK).fit(x, y).save(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_each_class_loads_its_own_folders(tmp_path):
    x, y, *_ = world()
    for kind, other in ((FIREClassifier, RivalClassifier), (RivalClassifier, FIREClassifier)):
        kind(**QUICK).fit(x, y).save(tmp_path / kind.__name__)
        with pytest.raises(FileFormatError, match="load it with the class that saved it"):
            other.load(tmp_path / kind.__name__)


def method_fact(**changes):
    return lambda facts: {
        "settings": [["method", {"rival": "iwerm", "fields": [["clip", 0.9]]} | changes]]
    }


@pytest.mark.parametrize(
    "change",
    [
        method_fact(rival="nothing"),
        method_fact(rival=None),
        method_fact(fields=3),
        method_fact(fields=[["clop", 0.9]]),
        method_fact(fields=[["label", "best"]]),
        method_fact(fields=[["clip", "much"]]),
        method_fact(fields=[["clip", True]]),
        method_fact(fields=[["clip", [0.9]]]),
        method_fact(fields=[["clip", -3.0]]),
        lambda facts: {"settings": [["method", "nothing"]]},
        lambda facts: {"regime": "labelled"},
        lambda facts: {"chosen": [1]},
        lambda facts: {"chosen": {"gamma": "much"}},
        lambda facts: {"losses": None},
        lambda facts: {"n_features": 7},
    ],
)
def test_damage_is_named(change, tmp_path):
    x, y, _, x_val, _ = shifted()
    RivalClassifier(RIVALS["iwerm"](clip=0.9), **QUICK).fit(x, y, X_val=x_val).save(tmp_path)
    file = tmp_path / "estimator.json"
    facts = json.loads(file.read_text())
    file.write_text(json.dumps(facts | change(facts)))
    with pytest.raises(FileFormatError, match="damaged|no setting of it|expected a folder"):
        RivalClassifier.load(tmp_path)
