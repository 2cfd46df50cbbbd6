"""The classifier's contract with its users and with scikit-learn."""

import numpy as np
import pandas as pd
import pytest
import sklearn
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from firecv.errors import DataError, ModelError, RegimeError, StructureError
from firecv.estimators import FIREClassifier
from firecv.fire import Summary
from firecv.fisher import Diagonal, estimate, save
from firecv.models import Task, batches
from tests.estimators.worlds import FORMS, QUICK, global_generators, same_weights, world


@pytest.mark.parametrize("form", [*FORMS, "weigh"])
def test_same_random_state_same_model_and_no_global_generator(form):
    x, y, sites, x_val, _ = world()
    before = global_generators()
    one, other = (
        FIREClassifier(form=form, **QUICK).fit(x, y, fragments=sites, X_val=x_val) for _ in range(2)
    )
    assert same_weights(one, other)
    assert one.loss_curve_ == other.loss_curve_
    assert global_generators() == before


def test_without_a_random_state_models_differ_and_global_generators_rest():
    x, y, *_ = world()
    before = global_generators()
    one, other = (FIREClassifier(**QUICK | {"random_state": None}).fit(x, y) for _ in range(2))
    assert not same_weights(one, other)
    assert global_generators() == before


def test_a_random_state_object_is_drawn_from():
    x, y, *_ = world()
    state = np.random.RandomState(0)
    one, other = (FIREClassifier(**QUICK | {"random_state": state}).fit(x, y) for _ in range(2))
    assert not same_weights(one, other)


@pytest.mark.parametrize(
    "given, regime",
    [
        ((), "none"),
        (("X_val",), "unlabelled"),
        (("X_val", "y_val"), "labelled"),
    ],
)
def test_the_regime_is_what_was_given(given, regime):
    x, y, _, x_val, y_val = world()
    options = {name: {"X_val": x_val, "y_val": y_val}[name] for name in given}
    model = FIREClassifier(form="precondition", **QUICK).fit(x, y, **options)
    assert model.regime_ == regime


@pytest.mark.parametrize("law, regime", [("exact", "summary"), ("empirical", "labelled_summary")])
def test_a_summary_of_v_is_a_regime_of_its_own(law, regime):
    x, y, _, x_val, y_val = world()
    model = FIREClassifier(form="quadratic", **QUICK).fit(x, y)
    places = torch.tensor(np.searchsorted(model.classes_, y_val))
    task, v = Task(model.network_), batches(torch.tensor(x_val), places)
    summary = Summary(estimate(Diagonal, task, v, law=law), law)
    pulled = clone(model).fit(x, y, validation=summary)
    assert pulled.regime_ == regime
    assert not same_weights(model, pulled)
    with pytest.raises(RegimeError, match="weigh"):
        FIREClassifier(**QUICK).fit(x, y, fragments=y, validation=summary)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"hidden": (5,)}, "of another network"),
        ({"structure": "scalar"}, "set structure='diagonal'"),
    ],
)
def test_a_summary_must_be_of_the_same_network_and_structure(changes, message, tmp_path):
    x, y, _, x_val, _ = world()
    model = FIREClassifier(form="quadratic", **QUICK).fit(x, y)
    v = batches(torch.tensor(x_val))
    save(estimate(Diagonal, Task(model.network_), v, law="exact"), tmp_path / "v.fisher")
    summary = Summary(tmp_path / "v.fisher", "exact")
    assert clone(model).fit(x, y, fragments=y, validation=summary).regime_ == "summary"
    with pytest.raises(StructureError, match=message):
        clone(model).set_params(**changes).fit(x, y, validation=summary)


def test_the_regime_of_several_calls_includes_all():
    x, y, _, x_val, y_val = world()
    model = FIREClassifier(form="precondition", **QUICK)
    model.partial_fit(x, y, np.unique(y), X_val=x_val, y_val=y_val)
    model.partial_fit(x, y)
    assert model.regime_ == "labelled"


@pytest.mark.filterwarnings("ignore::firecv.errors.FirecvNotice")
@pytest.mark.parametrize("settings", [{}, {"form": "quadratic"}], ids=["weigh", "quadratic"])
def test_whole_weights_are_repeated_rows_in_the_full_batch_case(settings):
    x, y, *_ = world()
    counts = np.arange(len(x)) % 4
    settings = QUICK | settings | {"batch_size": None, "n_epochs": 20}
    weighted = FIREClassifier(**settings).fit(x, y, sample_weight=counts)
    repeated = FIREClassifier(**settings).fit(x.repeat(counts, axis=0), y.repeat(counts))
    assert np.allclose(weighted.predict_proba(x), repeated.predict_proba(x), atol=1e-9)
    unweighted = FIREClassifier(**settings).fit(x, y)
    assert not np.allclose(weighted.predict_proba(x), unweighted.predict_proba(x), atol=1e-3)


def test_equal_weights_are_no_weights():
    x, y, *_ = world()
    weighted = FIREClassifier(**QUICK).fit(x, y, sample_weight=np.full(len(x), 3.0))
    assert same_weights(weighted, FIREClassifier(**QUICK).fit(x, y))


@pytest.mark.parametrize("form", ["weigh", "precondition", "trace"])
@pytest.mark.filterwarnings("ignore::firecv.errors.FirecvNotice")
def test_weights_of_classes_are_weights_of_samples(form):
    x, y, sites, *_ = world()
    counts = {label: (y == label).sum() for label in np.unique(y)}
    weights = np.array([1 / counts[label] for label in y])
    one = FIREClassifier(form=form, class_weight="balanced", **QUICK).fit(x, y, fragments=sites)
    other = FIREClassifier(form=form, **QUICK).fit(x, y, sample_weight=weights, fragments=sites)
    named = {label: 1 / count for label, count in counts.items()}
    third = FIREClassifier(form=form, class_weight=named, **QUICK).fit(x, y, fragments=sites)
    for model in (other, third):
        assert np.allclose(one.predict_proba(x), model.predict_proba(x), atol=1e-9)


def test_single_precision_stays_single():
    x, y, _, x_val, _ = world()
    model = FIREClassifier(form="precondition", **QUICK)
    model.fit(x.astype(np.float32), y, X_val=x_val)
    assert next(model.network_.parameters()).dtype == torch.float32
    model.partial_fit(x, y)
    assert model.predict_proba(x).sum(1) == pytest.approx(1, abs=1e-12)


def test_images_go_through_the_convolutional_network():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    x = rng.normal(size=(40, 2, 5, 6)) + y[:, None, None, None]
    model = FIREClassifier(image_shape=(2, 5, 6), form="precondition", n_epochs=5, random_state=0)
    model.fit(x.reshape(40, -1), y)
    assert model.score(x.reshape(40, -1), y) > 0.9
    with pytest.raises(ModelError, match="image_shape is .* 60 features"):
        clone(model).set_params(image_shape=(1, 5, 6)).fit(x.reshape(40, -1), y)


def test_tables_of_numbers_are_taken_and_their_columns_remembered():
    x, y, _, x_val, y_val = world()
    names = list("abcd")
    model = FIREClassifier(form="trace", **QUICK)
    model.fit(
        pd.DataFrame(x, columns=names),
        pd.Series(y, dtype="category"),
        fragments=pd.Series(y),
        X_val=pd.DataFrame(x_val, columns=names),
        y_val=pd.Series(y_val),
    )
    assert model.feature_names_in_.tolist() == names
    with pytest.raises(DataError, match="X_val does not fit X.*feature names"):
        clone(model).fit(
            pd.DataFrame(x, columns=names), y, X_val=pd.DataFrame(x_val, columns=list("abcx"))
        )


def test_a_pipeline_transforms_the_validation_set_too():
    x, y, sites, x_val, _ = world()
    x, x_val = x * 50 + 7, x_val * 50 + 7
    with sklearn.config_context(enable_metadata_routing=True):
        model = FIREClassifier(form="trace", **QUICK).set_fit_request(X_val=True, fragments=True)
        steps = [("scale", StandardScaler()), ("model", model)]
        pipeline = Pipeline(steps, transform_input=["X_val"])
        pipeline.fit(x, y, X_val=x_val, fragments=sites)
    scaler = StandardScaler().fit(x)
    by_hand = FIREClassifier(form="trace", **QUICK).fit(
        scaler.transform(x), y, X_val=scaler.transform(x_val), fragments=sites
    )
    assert same_weights(pipeline["model"], by_hand)


def test_searches_and_cross_validation_work():
    x, y, sites, x_val, _ = world()
    model = make_pipeline(StandardScaler(), FIREClassifier(form="precondition", **QUICK))
    options = {"fireclassifier__fragments": sites, "fireclassifier__X_val": x_val[:10]}
    search = GridSearchCV(model, {"fireclassifier__strength": [0, 1.0]}, cv=2)
    search.fit(x, y, **options)
    assert search.best_estimator_["fireclassifier"].classes_.tolist() == ["low", "mid", "top"]
    assert len(cross_val_score(model, x, y, cv=2, params=options)) == 2


def test_clones_have_the_settings_and_nothing_learned():
    x, y, *_ = world()
    model = FIREClassifier(form="align", strength=2.0, structure="scalar", rule="mixture")
    copy = clone(model.set_params(hidden=(3, 2)))
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(x)


def test_labels_keep_their_type():
    x, y, *_ = world()
    for labels in (y == "low", np.where(y == "low", 0.0, 2.0), np.where(y == "low", 7, -7)):
        model = FIREClassifier(**QUICK).fit(x, labels)
        assert model.predict(x).dtype == labels.dtype
        assert set(model.predict(x)) <= set(labels)


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
        ({"fragments": [None] * 60}, "fragments has missing values"),
        ({"sample_weight": np.ones(3)}, "sample_weight has shape"),
        ({"sample_weight": -np.ones(60)}, "sample_weight has shape .* values from -1"),
        ({"sample_weight": np.zeros(60)}, "weights of all samples are zero"),
    ],
)
def test_what_does_not_fit_is_named(changes, message):
    x, y, *_ = world()
    with pytest.raises(DataError, match=message):
        FIREClassifier(**QUICK).fit(x, y, **changes)


@pytest.mark.parametrize(
    "x, y, message",
    [
        (np.full((4, 2), np.inf), [0, 1, 0, 1], "infinity"),
        (np.zeros((4, 2)), [1, 1, 1, 1], "there is 1 class"),
        (np.zeros((4, 2)), [0, 1, 0], "inconsistent numbers of samples"),
        (np.zeros((4, 2)), [0.1, 0.2, 0.3, 0.4], "continuous"),
    ],
)
def test_samples_that_cannot_be_trained_on_are_refused(x, y, message):
    with pytest.raises(ValueError, match=message):
        FIREClassifier(**QUICK).fit(x, y)


@pytest.mark.parametrize(
    "settings",
    [
        {"form": "push"},
        {"strength": -1},
        {"strength": "much"},
        {"structure": "round"},
        {"carry": "all"},
        {"rule": "dice"},
        {"preset": "ours"},
        {"form": "trace", "preset": "paper"},
        {"form": "weigh", "carry": "fisher"},
        {"hidden": 5},
        {"hidden": (0,)},
        {"n_epochs": 0},
        {"optimiser": "lion"},
        {"class_weight": "even"},
        {"class_weight": {"odd": 1}},
        {"class_weight": {"low": -1}},
        {"mix": 2},
    ],
    ids=str,
)
def test_settings_without_sense_are_refused(settings):
    x, y, *_ = world()
    with pytest.raises(ValueError, match=r"expected|none of the classes|drop one|choose|a share"):
        FIREClassifier(**QUICK | settings).fit(x, y)


def test_the_first_part_needs_the_classes_and_later_ones_keep_them():
    x, y, *_ = world()
    model = FIREClassifier(**QUICK)
    with pytest.raises(DataError, match="needs classes"):
        model.partial_fit(x, y)
    model.partial_fit(x[y == "low"], y[y == "low"], ["top", "mid", "low"])
    model.partial_fit(x, y, ["low", "mid", "top"])
    with pytest.raises(DataError, match="they cannot change"):
        model.partial_fit(x, y, ["low", "mid"])
    with pytest.raises(DataError, match=r"y holds the labels \['odd'\]"):
        model.partial_fit(x, np.full(len(x), "odd"))


def test_a_failed_part_leaves_what_was_learned():
    x, y, *_ = world()
    model = FIREClassifier(**QUICK | {"optimiser": "sgd"}).fit(x, y)
    before = model.predict_proba(x)
    with pytest.raises(ArithmeticError):
        model.set_params(rate=1e200, n_epochs=20).partial_fit(x, y)
    assert np.array_equal(before, model.predict_proba(x))
