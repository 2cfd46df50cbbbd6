import numpy as np
import pandas as pd
import pytest

from firecv.data.own import own
from firecv.diagnose import diagnose_own
from firecv.diagnose import own as module
from firecv.errors import DataError

ROLES = {"target": "ill", "fragment": "site"}


def patients(seed=0, n=200):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(50, 9, n), "dose": rng.normal(size=n)})
    frame["town"] = rng.choice(["Ulm", "Bonn", "Kiel"], n)
    frame["sex"] = rng.choice(["f", "m"], n)
    frame["site"] = np.where(np.arange(n) % 2, "A", "B")
    frame["ill"] = rng.integers(0, 2, n)
    return frame


def first_feature(frame, held=None, **settings):
    data = own(frame, **ROLES, validation=patients(1) if held is None else held)
    found = diagnose_own(data, **settings)
    return found, found.table("features").query("fragment == 'B'").iloc[0]


def test_columns_of_the_user_are_the_features():
    found, _ = first_feature(patients())
    assert found.feature_names == ("age", "dose", "town", "sex")
    assert len(found.table("features")) == 2 * 4
    assert found.regime == "labelled" and found.n_validation == 200


@pytest.mark.parametrize(
    ("change", "feature", "column"),
    [
        (lambda f: f.assign(dose=f["dose"] + 2), "dose", "dose"),
        (lambda f: f.assign(town="Kiel"), "town", "town=Kiel"),
        (lambda f: f.assign(sex="f"), "sex", "sex=m"),
        (lambda f: f.assign(age=f["age"].where(f.index % 4 == 0)), "age", "age missing"),
        (lambda f: f.assign(town=f["town"].where(f.index % 4 == 0)), "town", "town missing"),
        (lambda f: f.assign(town="Jena"), "town", "town=Jena"),
    ],
    ids=["number", "category", "two categories", "missing number", "missing category", "new"],
)
def test_a_shift_of_any_kind_is_that_of_its_column(change, feature, column):
    frame = patients()
    frame[frame["site"] == "B"] = change(frame[frame["site"] == "B"])
    found, first = first_feature(frame)
    assert found.advice.shifted == ("B",)
    assert (first["feature"], first["column"]) == (feature, column)
    assert first["importance_low"] > 0.05


def test_what_the_validation_set_alone_has_is_seen():
    found, first = first_feature(patients().assign(age=1.0), patients(1).assign(age=2.0))
    assert found.advice.shifted == ("A", "B") and first["feature"] == "age"
    found, first = first_feature(patients(), patients(1).assign(town="Jena"))
    assert (first["feature"], first["column"]) == ("town", "town=Jena")


def test_names_that_look_like_encoded_ones_are_kept_apart():
    frame, held = (
        patients(seed).rename(columns={"dose": "town=Ulm", "age": "missingindicator_dose"})
        for seed in (0, 1)
    )
    frame.loc[frame["site"] == "B", "town=Ulm"] += 2
    _, first = first_feature(frame, held)
    assert first["feature"] == first["column"] == "town=Ulm"


def test_rare_values_are_looked_at_as_one_and_said_so(monkeypatch):
    monkeypatch.setattr(module, "MOST_CATEGORIES", 3)
    frame, held = (
        patients(seed).assign(town=[f"t{max(i % 9 - 6, 0)}{i % 3}" for i in range(200)])
        for seed in (0, 1)
    )
    frame.loc[frame["site"] == "B", "town"] = "t99"
    found, first = first_feature(frame, held)
    assert found.advice.shifted == ("B",) and first["feature"] == "town"
    (note,) = found.notes
    assert note.startswith("Column town has ") and note in str(found)


def test_an_identifier_costs_no_memory_and_raises_no_alarm():
    n = 3000
    frame, held = (
        patients(seed, n).assign(id=[f"p{seed}-{i}" for i in range(n)]) for seed in (0, 1)
    )
    data = own(frame, **ROLES, validation=held)
    joined, _ = module._joined([*data.fragments.values(), data.validation])
    assert len(joined["id"].cat.categories) == module.MOST_CATEGORIES
    assert joined["id"].value_counts().iloc[0] > 5900


def test_rows_are_drawn_before_they_are_encoded_and_sizes_stay():
    found, _ = first_feature(patients(n=400), at_most=60)
    assert [each.n_rows for each in found.fragments] == [200, 200]
    assert [each.n_used for each in found.fragments] == [60, 60]
    assert found.plain()["data"]["fragments"] == {"A": 200, "B": 200}
    assert found.n_validation == 200 and found.at_most == 60


def test_without_labels_of_the_validation_set_the_rest_is_there():
    held = patients(1).drop(columns="ill")
    data = own(patients(), **ROLES, validation=held, needs_labels=False)
    found = diagnose_own(data)
    assert found.regime == "unlabelled" and not found.whole.blank
    assert found.table()["auc"].notna().all() and found.table()["fisher_q"].isna().all()


def test_a_matrix_is_a_table():
    rng = np.random.default_rng(0)
    arrays = {"x": rng.normal(size=(80, 3)), "y": rng.integers(0, 2, 80)}
    found = diagnose_own(own(arrays, target="y", validation=0.3))
    assert found.feature_names == ("0", "1", "2")


def test_images_and_a_missing_validation_set_are_refused():
    rng = np.random.default_rng(0)
    arrays = {"x": rng.normal(size=(80, 3, 3)), "y": rng.integers(0, 2, 80)}
    with pytest.raises(DataError, match=r"shape \(3, 3\); only tables"):
        diagnose_own(own(arrays, target="y", validation=0.3))
    with pytest.raises(DataError, match="no validation set"):
        diagnose_own(own(patients(), **ROLES))


def test_the_same_seed_gives_the_same_result():
    first, second, other = (first_feature(patients(), seed=s, at_most=50)[0] for s in (0, 0, 1))
    pd.testing.assert_frame_equal(first.table(), second.table())
    assert first.table()["p_value"].tolist() != other.table()["p_value"].tolist()
