import json

import numpy as np
import pytest

from firecv.compare import compare
from firecv.errors import DataError
from tests.compare.worlds import QUICK, without_shift


@pytest.fixture(scope="module")
def found():
    return compare(without_shift(), methods=["fire", "fire:labelled"], n_seeds=2, **QUICK)


def test_tables_are_tidy(found):
    assert len(found.table("scores")) == 6 and len(found.table()) == 3
    assert found.table() is found.table("summary")
    assert list(found.table("winners").columns) == ["regime", "method", "said"]
    with pytest.raises(DataError, match="kind is 'all'"):
        found.table("all")


def test_plain_keeps_the_contract(found):
    plain = json.loads(json.dumps(found.plain("patients.csv"), allow_nan=False))
    assert (plain["kind"], plain["version"], plain["baseline"]) == ("comparison", 1, "erm")
    assert plain["data"] == {
        "source": "patients.csv",
        "fragments": {"north": 30, "south": 30, "west": 30},
        "n_validation": 60,
        "features": ["a", "b", "c", "town"],
    }
    assert list(plain["scores"][0]) == [
        *("method", "label", "regime", "seed", "accuracy", "balanced_accuracy", "auc"),
        *("log_loss", "calibration_error"),
    ]
    assert list(plain["summary"][0]) == [
        *("method", "label", "regime", "n_seeds", "mean", "sd", "low", "high", "difference"),
        *("difference_low", "difference_high", "p_value", "adjusted_p_value"),
    ]
    assert plain["summary"][1]["p_value"] is None and plain["winners"][0]["method"] is None
    assert [row["method"] for row in plain["summary"]] == ["erm", "fire", "fire:labelled"]
    assert all(0 <= row["accuracy"] <= 1 for row in plain["scores"])
    assert plain["said"] == list(found.said) and plain["settings"]["seeds"] == [0, 1]


def test_the_summary_is_that_of_the_scores(found):
    scores, summary = found.table("scores"), found.table().set_index("method")
    wide = scores.pivot(index="seed", columns="method", values="accuracy")
    for name in wide:
        assert summary.loc[name, "mean"] == pytest.approx(wide[name].mean())
        apart = (wide[name] - wide["erm"]).mean()
        assert summary.loc[name, "difference"] == pytest.approx(apart, abs=1e-12)


def test_the_chart_has_a_mark_for_every_method(found):
    pytest.importorskip("altair")
    spec = found.chart().to_dict()
    (rows,) = [spec["data"]["values"]] if "values" in spec["data"] else spec["datasets"].values()
    assert [row["label"] for row in rows] == ["ERM", "FIRE", "FIRE, labelled"]
    assert {row["regime"] for row in rows} == {"none", "unlabelled", "labelled"}


def test_text_has_a_line_for_every_method_and_the_conclusion(found, monkeypatch):
    monkeypatch.setenv("COLUMNS", "2000")
    lines = str(found).splitlines()
    assert lines[0].split()[:3] == ["method", "sees", "seeds"]
    assert [line.split("  ")[0] for line in lines[1:4]] == ["ERM", "FIRE", "FIRE, labelled"]
    assert lines[5] == found.said[0]
    assert np.isnan(found.table()["p_value"]).all()
