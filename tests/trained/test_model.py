"""A trained model predicts the same after it was kept, and in chunks as in one piece."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from firecv.errors import DataError, FirecvNotice
from firecv.estimators.methods import FIRE_FORMS
from firecv.rivals import RIVALS
from firecv.trained import load_trained, model
from tests.trained.small import patients, trained


@pytest.mark.filterwarnings("ignore::firecv.errors.FirecvNotice")
@pytest.mark.parametrize("method", [*FIRE_FORMS, *RIVALS])
def test_a_loaded_model_is_the_saved_one(method, tmp_path, monkeypatch):
    monkeypatch.setattr(pickle, "loads", None)
    monkeypatch.setattr(pickle, "load", None)
    one = trained(method)
    one.save(tmp_path / "model")
    other = load_trained(tmp_path / "model")
    table = patients(50, seed=7).assign(town="Rom", ward="B")
    table.loc[::4, ["age", "sex"]] = None
    assert one.predict_proba(table).tobytes() == other.predict_proba(table).tobytes()
    assert other.facts == one.facts and other.encoding == one.encoding
    assert str(other) == str(one) and other.plain() == one.plain()
    json.dumps(other.plain(), allow_nan=False)


def test_predictions_are_names_of_classes():
    found, table = trained(), patients(30, seed=7)
    best = found.predict_proba(table).argmax(1)
    assert found.predict(table).tolist() == [("no", "yes")[k] for k in best]
    np.testing.assert_allclose(found.predict_proba(table).sum(1), 1)


def test_chunks_give_what_one_piece_gives(monkeypatch):
    found, table = trained(), patients(30, seed=7)
    whole = found.predict_proba(table)
    monkeypatch.setattr(model, "CHUNK", 7)
    parts = list(found.chunks(table))
    assert [len(part) for part in parts] == [7, 7, 7, 7, 2]
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-6)


def test_the_kind_of_a_column_does_not_depend_on_the_chunk(monkeypatch):
    # A chunk in which all categories look like numbers is still one of categories.
    found = trained()
    table = patients(10, seed=7).assign(town=["1"] * 5 + ["Ulm"] * 5)
    whole = found.predict_proba(table)
    monkeypatch.setattr(model, "CHUNK", 5)
    np.testing.assert_allclose(found.predict_proba(table), whole, rtol=1e-6)


def test_target_and_fragment_are_ignored_and_others_are_noticed():
    found, table = trained(), patients(10, seed=7)
    plain = found.predict_proba(table.drop(columns=["ill", "site"]))
    np.testing.assert_array_equal(found.predict_proba(table), plain)
    with pytest.warns(FirecvNotice, match="has the column 'height'"):
        np.testing.assert_array_equal(found.predict_proba(table.assign(height=1)), plain)


def test_a_table_is_refused_before_anything_is_predicted():
    with pytest.raises(DataError, match="lacks the column 'age'"):
        trained().chunks(patients(10).drop(columns="age"))
    with pytest.raises(DataError, match="has no rows"):
        trained().predict(pd.DataFrame({"age": []}))
