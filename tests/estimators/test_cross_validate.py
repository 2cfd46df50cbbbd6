"""The table of st-CV and FIRE against fits by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score, log_loss

from firecv.errors import DataError, ModelError
from firecv.estimators import (
    FIREClassifier,
    FragmentSplit,
    fragment_cross_validate,
    fragment_summary,
)
from tests.estimators.worlds import QUICK, world

MODEL = FIREClassifier(form="trace", strength=0.5, **QUICK)


@pytest.mark.parametrize(
    "carry, cut", [("fisher", "batches:n=3"), ("model", "batches:n=3"), ("fisher", "folds:n=3")]
)
@pytest.mark.parametrize("protocol", ["clean", "paper"])
def test_rows_are_fits_by_hand(carry, cut, protocol):
    x, y, *_ = world(120)
    options = {"fragmenter": cut, "protocol": protocol, "carry": carry, "regime": "labelled"}
    table = fragment_cross_validate(MODEL, x, y, **options)
    pieces = FragmentSplit(cut, protocol=protocol, random_state=0).pieces(x, y)
    rows = iter(table.to_dict("records"))
    for method, strength in (("st-CV", 0), ("FIRE", 0.5)):
        model = clone(MODEL).set_params(carry=carry, strength=strength)
        for piece in pieces:
            v = {"X_val": x[piece.validation], "y_val": y[piece.validation]}
            model.partial_fit(x[piece.train], y[piece.train], np.unique(y), **v)
            p, truth = model.predict_proba(x[piece.test]), y[piece.test]
            assert next(rows) == {
                "fragment": piece.name,
                "method": method,
                "n": len(piece.train),
                "regime": "none" if method == "st-CV" else "labelled",
                "protocol": protocol,
                "optimistic": method == "FIRE" and protocol == "paper",
                "accuracy": model.score(x[piece.test], truth),
                "balanced_accuracy": pytest.approx(
                    balanced_accuracy_score(truth, model.predict(x[piece.test]))
                ),
                "log_loss": pytest.approx(log_loss(truth, p, labels=model.classes_)),
            }
    assert next(rows, None) is None


def test_sites_and_tables_are_taken():
    x, y, sites, *_ = world(80)
    frame = pd.DataFrame(x, columns=list("abcd"))
    table = fragment_cross_validate(MODEL, frame, y, fragments=sites)
    assert table["fragment"].tolist() == ["north", "south"] * 2
    assert table["n"].sum() == 2 * 64


@pytest.mark.parametrize("regime", ["none", "unlabelled", "labelled"])
def test_the_regime_stands_in_the_table(regime):
    x, y, *_ = world(80)
    cut = {"fragmenter": "batches:n=2", "protocol": "paper"}
    table = fragment_cross_validate(MODEL, x, y, regime=regime, **cut)
    fire = table[table["method"] == "FIRE"]
    assert set(fire["regime"]) == {regime}
    assert set(fire["optimistic"]) == {regime != "none"}


def test_strength_0_is_st_cv():
    x, y, *_ = world(80)
    model = clone(MODEL).set_params(strength=0)
    table = fragment_cross_validate(model, x, y, fragmenter="batches:n=2")
    halves = [
        part.drop(columns="method").reset_index(drop=True) for _, part in table.groupby("method")
    ]
    pd.testing.assert_frame_equal(*halves)


def test_the_papers_preset_differs_from_st_cv_by_its_strength():
    x, y, *_ = world(80)
    model = FIREClassifier(preset="paper", **QUICK | {"random_state": None})
    table = fragment_cross_validate(model, x, y, fragmenter="batches:n=2", regime="labelled")
    assert table["regime"].tolist() == ["none"] * 2 + ["labelled"] * 2
    losses = table["log_loss"].to_numpy()
    assert (losses[:2] != losses[2:]).all()


def test_weigh_trains_on_all_that_has_arrived():
    x, y, *_ = world(160)
    model = FIREClassifier(rule="distance", **QUICK)
    table = fragment_cross_validate(model, x, y, fragmenter="batches:n=2", carry="model")
    pieces = FragmentSplit("batches:n=2", random_state=0).pieces(x, y)
    both = np.concatenate([piece.train for piece in pieces])
    plain = FIREClassifier(strength=0, **QUICK).fit(x[both], y[both])
    rows = table[(table["method"] == "st-CV") & (table["fragment"] == "batch 2")]
    assert rows["accuracy"].item() == plain.score(x[pieces[1].test], y[pieces[1].test])
    # One fragment leaves nothing to weigh.
    assert table["regime"].tolist() == ["none", "none", "none", "unlabelled"]


@pytest.mark.parametrize(
    "model, options, message",
    [
        (FIREClassifier(), {}, "weighs fragments that are trained together"),
        (MODEL, {"fragmenter": "folds:n=2", "carry": "model"}, "trained on the samples it is"),
        (MODEL, {"regime": "all"}, "regime is 'all'"),
        (MODEL, {"protocol": "dirty"}, "protocol is 'dirty'"),
    ],
)
def test_requests_without_sense_are_refused(model, options, message):
    x, y, *_ = world(80)
    with pytest.raises(ModelError, match=message):
        fragment_cross_validate(model, x, y, **options)


def test_a_summary_is_means_variances_and_differences():
    table = pd.DataFrame(
        {
            "method": ["st-CV", "FIRE"] * 3,
            "accuracy": [0.5, 0.6, 0.7, 0.7, 0.6, 0.8],
            "log_loss": [1.0, 0.5] * 3,
        }
    )
    found = fragment_summary(table).set_index("method")
    assert found.loc["FIRE", "mean"] == pytest.approx(0.7)
    assert found.loc["FIRE", "variance"] == pytest.approx(0.01)
    assert found.loc["FIRE", "delta_points"] == pytest.approx(10)
    assert found.loc["FIRE", "relative_percent"] == pytest.approx(100 / 6)
    assert found.loc["st-CV", ["delta_points", "relative_percent"]].tolist() == [0, 0]
    assert fragment_summary(table, "log_loss")["delta_points"].tolist() == [0, -50]
    with pytest.raises(ModelError, match="metric is 'speed'"):
        fragment_summary(table, "speed")
    with pytest.raises(DataError, match="expected st-CV among them"):
        fragment_summary(table[table["method"] == "FIRE"])
