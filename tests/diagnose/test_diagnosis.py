import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from firecv.diagnose import diagnose
from firecv.diagnose import diagnosis as module
from firecv.errors import DataError, NumericalError
from firecv.seeding import derive

FEATURES = ["age", "dose", "weight", "pulse"]


def sites(seed=0, n=150, gap=1.0):
    rng = derive(seed, "sites")
    x = {name: rng.normal(size=(n, 4)) for name in ("Ulm", "Bonn", "Kiel")}
    x["Kiel"][:, 1] += gap
    held = rng.normal(size=(n, 4))
    y = {name: (rows[:, 0] + rng.normal(size=len(rows)) > 0) for name, rows in x.items()}
    return x, held, y, (held[:, 0] > 0).astype(int)


@pytest.fixture(scope="module")
def full():
    x, held, y, y_held = sites()
    x["tiny"], y["tiny"] = np.zeros((1, 4)), [True]
    y = {name: np.asarray(labels, int) for name, labels in y.items()}
    return diagnose(x, held, y_fragments=y, y_validation=y_held, feature_names=FEATURES)


def test_the_shifted_site_and_its_feature_are_found(full):
    assert full.advice.verdict == "shift"
    assert full.advice.shifted == ("Kiel",)
    first = full.table("features").query("fragment == 'Kiel'").iloc[0]
    assert first["feature"] == "dose" and first["rank"] == 1
    assert first["importance_low"] > 0
    text = str(full)
    assert "Verdict: shift" in text
    assert "Kiel differs in: dose" in text
    assert max(map(len, text.split("\n- ")[0].splitlines())) < 120


def test_tables_are_tidy(full):
    fragments = full.table()
    assert fragments["fragment"].tolist() == ["Ulm", "Bonn", "Kiel", "tiny"]
    assert fragments["alarm"].tolist() == [False, False, True, False]
    assert (fragments["auc_low"][:3] < fragments["auc"][:3]).all()
    assert fragments[["fisher_q", "beta", "score_norm"]][:3].notna().all(axis=None)
    assert len(full.table("features")) == 3 * 4
    assert len(full.table("pairs")) == 6
    assert full.regime == "labelled"


def test_a_fragment_of_one_row_is_blank_and_says_why(full):
    row = full.table().iloc[3]
    assert row["blank"] == "1 row; 10 or more are needed"
    assert row["blank_fisher"] and math.isnan(row["auc"]) and math.isnan(row["fisher_q"])
    assert "tiny" in full.advice.untold
    assert "1 row; 10 or more" in str(full)


def test_without_labels_what_needs_them_is_blank_and_says_why():
    x, held, y, y_held = sites(n=40)
    bare = diagnose(x, held)
    assert bare.whole.blank == "no labels of the fragments were given"
    assert bare.distances["Ulm"].blank == bare.whole.blank
    assert bare.regime == "unlabelled"
    assert not math.isnan(bare.bounds["Ulm"].printed.gamma_squared)
    half = diagnose(x, held, y_fragments=y)
    assert not half.whole.blank
    assert half.distances["Ulm"].blank == "no labels of the validation set were given"
    assert diagnose(x, held, y_validation=y_held).regime == "labelled"


def test_labels_of_one_class_leave_blanks():
    x, held, *_ = sites(n=30)
    found = diagnose(x, held, y_fragments={name: [1] * 30 for name in x})
    assert "one class" in found.whole.blank


def test_the_same_seed_gives_the_same_result():
    x, held, y, y_held = sites(n=40)
    first, second, other = (
        diagnose(x, held, y_fragments=y, y_validation=y_held, seed=seed) for seed in (3, 3, 4)
    )
    for kind in ("fragments", "features", "pairs"):
        pd.testing.assert_frame_equal(first.table(kind), second.table(kind))
    assert first.whole == second.whole
    assert first.table()["p_value"].tolist() != other.table()["p_value"].tolist()


def test_a_fragment_is_judged_alike_whatever_the_others_are():
    x, held, *_ = sites(n=40)
    alone = diagnose({"Bonn": x["Bonn"]}, held).fragments[0]
    among = diagnose(x, held).fragments[1]
    assert alone.p_value == among.p_value and alone.auc == among.auc
    assert alone.adjusted_p_value <= among.adjusted_p_value


def test_the_validation_set_as_a_fragment_raises_no_alarm_but_is_pointed_out():
    _, held, *_ = sites(n=60)
    found = diagnose({"twin": held}, held)
    assert not found.fragments[0].alarm
    assert found.fragments[0].shared_rate == 1
    assert "also rows of twin" in str(found)


@pytest.mark.parametrize("value", [0.0, 7.0], ids=["same", "other"])
def test_constant_columns_are_allowed(value):
    x, held, *_ = sites(n=40, gap=0.0)
    for rows in x.values():
        rows[:, 3] = value
    held[:, 3] = 0.0
    found = diagnose(x, held)
    assert found.advice.verdict == ("shift" if value else "too few rows to tell")
    last = found.table("features").query("feature == 'x3'")["difference"]
    assert (last == (math.inf if value else 0.0)).all()


def test_data_frames_name_the_features():
    x, held, *_ = sites(n=30)
    frames = {name: pd.DataFrame(rows, columns=FEATURES) for name, rows in x.items()}
    found = diagnose(frames, pd.DataFrame(held, columns=FEATURES))
    assert set(found.table("features")["feature"]) == set(FEATURES)


def test_rows_looked_at_are_limited_and_the_text_says_so():
    x, held, *_ = sites(n=120)
    found = diagnose(x, held, at_most=50)
    assert {each.n_used for each in found.fragments} == {50}
    assert "no more than 50 rows" in str(found)


@pytest.mark.parametrize(
    "change", [{"level": 0.0}, {"level": 1.0}, {"at_most": 9}], ids=["0", "1", "few"]
)
def test_settings_out_of_range_are_refused(change):
    with pytest.raises(DataError):
        diagnose({"A": np.zeros((20, 1))}, np.zeros((20, 1)), **change)


def test_an_unknown_table_is_refused(full):
    with pytest.raises(DataError, match="'sites'"):
        full.table("sites")


def test_a_network_that_diverges_leaves_blanks(monkeypatch):
    def diverge(*_):
        raise NumericalError("the loss is NaN")

    x, held, y, y_held = sites(n=30)
    monkeypatch.setattr(module, "tuned", diverge)
    found = diagnose(x, held, y_fragments=y, y_validation=y_held)
    assert "fine-tuned: the loss is NaN" in found.distances["Ulm"].blank
    assert not found.whole.blank
    monkeypatch.setattr(module, "trained", diverge)
    found = diagnose(x, held, y_fragments=y, y_validation=y_held)
    assert "trained: the loss is NaN" in found.whole.blank


@pytest.mark.slow
def test_a_diagnosis_without_shift_raises_an_alarm_once_in_twenty_times(monkeypatch):
    monkeypatch.setattr(module, "compare_pairs", lambda *_: None)
    n_alarms = 0
    for seed in range(120):
        x, held, *_ = sites(seed, n=60, gap=0.0)
        n_alarms += bool(diagnose(x, held, seed=seed).advice.shifted)
    assert n_alarms <= binom.ppf(0.999, 120, 0.05)
