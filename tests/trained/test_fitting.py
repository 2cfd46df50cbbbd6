"""Training on a user's table: every method, what it sees, what is known afterwards."""

import numpy as np
import pandas as pd
import pytest

from firecv.data.arrays import Arrays, Fragmented
from firecv.data.encode import encode
from firecv.errors import DataError, FirecvError, ModelError, RegimeError
from firecv.estimators import METHODS, FIREClassifier, RivalClassifier
from firecv.estimators.methods import FIRE_FORMS
from firecv.rivals import RIVALS
from firecv.rivals.dann import DANN
from firecv.trained import estimator_of, train
from tests.trained.small import QUICK, fragmented, patients, trained

pytestmark = pytest.mark.filterwarnings("ignore::firecv.errors.FirecvNotice")


@pytest.mark.parametrize("method", [*FIRE_FORMS, *RIVALS])
def test_every_method_trains_and_says_what_it_has_seen(method):
    found = trained(method)
    assert found.facts.method == method
    least = METHODS[method].regime
    seen = "unlabelled" if method.startswith("fire") else least
    assert found.facts.regime == seen
    assert 0 <= found.facts.accuracy <= 1
    assert found.is_optimistic == (least == "labelled")
    assert ("optimistic" in str(found)) == (least == "labelled")


def test_models_of_scikit_learn_are_refused():
    with pytest.raises(DataError, match="'fire-linear' trains a scikit-learn model"):
        train(fragmented(), method="fire-linear")


def test_it_is_the_estimator_on_the_encoded_table():
    data = fragmented()
    encoded, _ = encode(data)
    parts = encoded.fragments.values()
    model = FIREClassifier(hidden=(4,), n_epochs=3, rate=0.02, random_state=5)
    model.fit(
        np.concatenate([part.x for part in parts]),
        np.concatenate([part.y for part in parts]),
        fragments=np.repeat(list(data.fragments), [len(part) for part in parts]),
        X_val=encoded.validation.x,
    )
    found = train(data, settings=QUICK, seed=5)
    held = patients(60, seed=1, shift=0.7)
    np.testing.assert_array_equal(
        found.predict_proba(held), model.predict_proba(encoded.validation.x)
    )
    right = np.mean(found.predict(held) == held["ill"])
    assert found.facts.accuracy == right == model.score(encoded.validation.x, encoded.validation.y)


def test_facts_are_what_was_given():
    found = trained(seed=3)
    facts = found.facts
    assert (facts.target, facts.classes, facts.tags) == ("ill", ("no", "yes"), ("site",))
    assert facts.sizes == patients()["site"].value_counts().sort_index().to_dict()
    assert (facts.seed, facts.n_validation, facts.regime) == (3, 60, "unlabelled")
    assert found.encoding.kinds() == {
        "age": "numeric",
        "dose": "numeric",
        "sex": "categorical",
        "town": "categorical",
        "code": "categorical",
        "ward": "categorical",
    }


def test_with_labels_weights_are_by_influence_and_v_has_one_too():
    found = trained(sees="labelled")
    assert found.facts.regime == "labelled"
    assert found.validation_weight > 0
    total = found.fragments()["weight"].sum() + found.plain()["validation_weight"]
    assert total == pytest.approx(1)
    assert f"own rows have weight {found.validation_weight:.3f}" in str(found)


def test_weights_of_fragments_and_the_shift_test_are_told():
    found = trained()
    table = found.fragments()
    assert table["fragment"].tolist() == ["north", "south", "west"]
    assert table["weight"].sum() == pytest.approx(1)
    said = str(found)
    assert "Shift test: the validation set" in said and "weight" in said and "FIRE" in said
    plain = found.plain()
    assert plain["weights"] == dict(zip(table["fragment"], table["weight"], strict=True))
    assert 0 <= plain["shift_test"]["p_value"] <= 1
    assert list(trained("erm").fragments()) == ["fragment", "n_rows"]


@pytest.mark.parametrize("sees", ["none", "unlabelled", "labelled"])
def test_the_method_sees_what_it_may(sees):
    found = trained(sees=sees)
    assert found.facts.regime == sees and found.is_optimistic == (sees == "labelled")


def test_a_validation_set_without_labels_is_enough():
    data = fragmented(patients(60, seed=1).drop(columns="ill"), needs_labels=False)
    found = train(data, settings=QUICK)
    assert found.facts.regime == "unlabelled" and found.facts.accuracy is None
    assert "no labels to judge by" in str(found) and not found.is_optimistic
    with pytest.raises(RegimeError, match="pooled needs inputs and labels"):
        train(data, method="pooled", settings=QUICK)
    with pytest.raises(RegimeError, match="is to see V labelled, but V has no labels"):
        train(data, settings=QUICK, sees="labelled")


def test_it_works_without_a_validation_set():
    data = Fragmented(fragmented().fragments)
    found = train(data, settings=QUICK)
    assert found.facts.regime == "none" and found.facts.n_validation == 0
    with pytest.raises(RegimeError, match="IWERM needs the inputs"):
        train(data, method="iwerm", settings=QUICK)
    with pytest.raises(RegimeError, match="there is none"):
        train(data, settings=QUICK, sees="unlabelled")


def test_an_estimator_is_trained_in_place_of_a_name():
    given = FIREClassifier(form="quadratic", hidden=(3,), n_epochs=2)
    found = train(fragmented(), method=given)
    assert found.facts.method == "fire-quadratic" and found.estimator.hidden == (3,)
    assert not hasattr(given, "network_")
    rival = RivalClassifier(DANN(strength=0.5), hidden=(3,), n_epochs=2)
    assert train(fragmented(), method=rival).facts.method == "dann"
    paper = FIREClassifier(preset="paper", hidden=(3,), n_epochs=2)
    assert train(fragmented(), method=paper).facts.method == "fire-paper"
    with pytest.raises(DataError, match="has settings of its own"):
        train(fragmented(), method=rival, settings=["n_epochs=2"])
    with pytest.raises(ModelError, match="form is 'nice'"):
        train(fragmented(), method=FIREClassifier(form="nice"))


def test_the_same_seed_gives_the_same_model():
    one, same, other = trained(seed=1), trained(seed=1), trained(seed=2)
    table = patients(20, seed=4)
    np.testing.assert_array_equal(one.predict_proba(table), same.predict_proba(table))
    assert not np.array_equal(one.predict_proba(table), other.predict_proba(table))


def test_settings_get_the_types_of_arguments():
    found = estimator_of(
        "fire",
        ["hidden=64,32", "strength=auto", "batch_size=none", "rate=1e-2", "class_weight=balanced"],
    )
    assert (found.hidden, found.strength, found.batch_size) == ((64, 32), "auto", None)
    assert (found.rate, found.class_weight, found.form) == (0.01, "balanced", "weigh")
    assert estimator_of("fire-paper").preset == "paper"
    assert estimator_of("fire-paper", ["fisher_every=7"]).fisher_every == 7
    assert estimator_of("fire", ["strength=0.5"]).strength == 0.5
    assert estimator_of("l2", ["method.decays=0,0.1"]).method.decays == (0.0, 0.1)
    assert estimator_of("iwerm", ["method.clip=0.9", "hidden=8"]).method.clip == 0.9


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        ("fier", [], "no method 'fier'; did you mean 'fire'"),
        ("fire", ["n_epoch=3"], "no setting 'n_epoch'; did you mean 'n_epochs'"),
        ("fire", ["n_epochs"], "write key=value"),
        ("fire", ["n_epochs=few"], "n_epochs of method 'fire' is a whole number; got 'few'"),
        ("fire", ["strength=much"], "is one of auto or a number or none; got 'much'"),
        ("fire", ["hidden=8,x"], "is a whole number; got 'x'"),
        ("fire", ["method.strength=1"], "has no setting 'method'"),
        ("dann", ["method.strenth=1"], "has no setting 'strenth'; did you mean 'strength'"),
        ("dann", ["method=1"], "settings of its own, each given after a dot"),
        ("fire", ["n_epochs=0"], "n_epochs is 0; expected"),
    ],
)
def test_mistakes_in_settings_are_named(method, settings, message):
    with pytest.raises(FirecvError, match=message):
        train(fragmented(), method=method, settings=settings)


def test_images_are_refused():
    x = np.zeros((4, 3, 3), np.uint8)
    data = Fragmented({"all": Arrays(x, np.array([0, 1, 0, 1]), ("a", "b"))})
    with pytest.raises(DataError, match="only tables are trained on"):
        train(data)


def test_matrices_are_tables_with_numbered_columns():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    data = Fragmented({"all": Arrays(x, (x[:, 0] > 0).astype(np.int64), ("a", "b"))})
    found = train(data, settings=["hidden=8", "n_epochs=100", "rate=0.05"])
    assert found.predict(np.array([[3.0, 0.0], [-3.0, 0.0]])).tolist() == ["b", "a"]


def test_a_class_without_training_rows_is_not_predicted():
    frame = pd.DataFrame({"v": np.arange(8.0)})
    part = Arrays(frame, np.array([0, 2] * 4), ("a", "b", "c"))
    found = train(Fragmented({"all": part}), settings=QUICK)
    assert found.facts.classes == ("a", "c") and found.predict_proba(frame).shape == (8, 2)
