"""Whole comparisons of small worlds."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from firecv.compare import compare
from firecv.compare import measure as measuring
from firecv.compare.carry_out import FILE
from firecv.data.arrays import Arrays, Fragmented
from firecv.errors import DataError, NumericalError
from firecv.estimators import make_classifier
from tests.compare.worlds import QUICK, labels_help, nothing_to_learn, without_shift

ROOT = Path(__file__).resolve().parents[2]


def test_where_labels_help_the_method_that_trains_on_them_wins():
    found = compare(
        labels_help(), methods=["iwerm", "pooled"], n_epochs=40, hidden=(16,), rate=0.01
    )
    winners = found.table("winners").set_index("regime")
    assert winners.loc["labelled", "method"] == "pooled"
    assert "pooled (" in (said := winners.loc["labelled", "said"]) and "is best" in said
    row = found.table().set_index("method").loc["pooled"]
    assert row["difference_low"] > 0 and row["adjusted_p_value"] < 0.01


def test_without_shift_there_is_no_difference():
    found = compare(without_shift(), methods=["fire", "iwerm", "pooled"], n_epochs=20)
    assert found.table("winners")["method"].isna().all()
    assert all("no difference" in said for said in found.table("winners")["said"])
    assert "None is better than plain training" in str(found)


def test_methods_that_are_the_same_score_the_same_to_the_bit():
    data = without_shift()
    parts = list(data.fragments.values())
    one = Fragmented({"all": parts[0]}, data.validation)
    found = compare(one, methods=["fire"], **QUICK)
    scores = found.table("scores").drop(columns=["label", "regime"])
    erm, fire = (
        scores[scores["method"] == name].drop(columns="method").to_numpy()
        for name in ("erm", "fire")
    )
    assert np.array_equal(erm, fire)
    assert found.table("winners")["method"].tolist() == [None]
    assert any("one fragment" in said for said in found.said)


def test_a_method_that_fails_is_told_and_the_rest_goes_on(monkeypatch):
    def faulty(name, *, random_state, **settings):
        if name == "iwerm" or (name == "fire" and random_state == 2):
            raise NumericalError("the loss is NaN")
        return make_classifier(name, random_state=random_state, **settings)

    monkeypatch.setattr(measuring, "make_classifier", faulty)
    found = compare(without_shift(), methods=["iwerm", "fire"], n_seeds=3, **QUICK)
    summary = found.table().set_index("method")
    assert summary["n_seeds"].to_dict() == {"erm": 3, "iwerm": 0, "fire": 2}
    assert len(found.failed) == 4
    assert "IWERM failed at 3 seeds: the loss is NaN" in found.said
    assert "FIRE failed at 1 seed: the loss is NaN" in found.said
    assert json.dumps(found.plain(), allow_nan=False)


def test_if_all_fail_that_is_an_error(monkeypatch):
    def fail(name, **settings):
        raise NumericalError("the loss is NaN")

    monkeypatch.setattr(measuring, "make_classifier", fail)
    with pytest.raises(DataError, match="every method failed: the loss is NaN"):
        compare(without_shift(), methods=["fire"], n_seeds=2, **QUICK)


def test_one_class_in_the_validation_set_is_scored_and_said():
    data = without_shift(n_val=90)
    ill = data.validation.take(np.flatnonzero(data.validation.y == 1)[:30])
    one = Fragmented(data.fragments, ill)
    found = compare(one, methods=["fire", "pooled"], n_seeds=2, **QUICK)
    assert any("pooled failed at 2 seeds: all 15 validation labels" in said for said in found.said)
    assert any("one class only" in said for said in found.said)
    assert found.table("scores")["auc"].isna().all()
    assert all(row["auc"] is None for row in found.plain()["scores"])
    with pytest.raises(DataError, match="auc cannot be computed"):
        compare(one, methods=["pooled"], n_seeds=2, metric="auc", **QUICK)


def test_labels_that_methods_may_not_see_are_still_scored():
    found = compare(without_shift(), validation_labels=False, n_seeds=1, **QUICK)
    assert set(found.table()["regime"]) == {"none", "unlabelled"}
    assert any("Left out" in said and "pooled" in said for said in found.said)


def test_without_labels_nothing_can_be_judged():
    data = without_shift()
    unknown = replace(data.validation, y=np.full(len(data.validation), -1))
    with pytest.raises(DataError, match="has no labels, so nothing can be scored"):
        compare(Fragmented(data.fragments, unknown), n_seeds=1)


def test_few_seeds_are_not_tested_and_few_rows_are_said():
    found = compare(without_shift(n_val=24), methods=["fire"], n_seeds=3, **QUICK)
    assert found.table()[["p_value", "adjusted_p_value"]].isna().all(axis=None)
    assert found.table("winners")["method"].tolist() == [None]
    words = " ".join(found.said)
    assert "3 seeds are too few for a test" in words and "Only 12 rows are scored" in words


def test_in_the_papers_protocol_the_score_is_said_to_be_optimistic():
    found = compare(labels_help(), methods=["pooled"], n_seeds=2, protocol="paper", **QUICK)
    assert any("optimistic" in said for said in found.said)
    assert found.settings["overlap"] == 0


def test_less_log_loss_is_better():
    found = compare(
        labels_help(), methods=["pooled"], n_epochs=40, hidden=(16,), rate=0.01, metric="log_loss"
    )
    assert found.table("winners")["method"].tolist() == ["pooled"]
    assert found.table().set_index("method").loc["pooled", "difference"] < 0


def test_large_data_are_said_to_be_drawn_from():
    found = compare(
        without_shift(n=300, n_val=200), methods=["erm"], n_seeds=1, at_most=60, **QUICK
    )
    assert any(said.startswith("Of 300 rows to train on 6") for said in found.said)
    assert any(said.startswith("Of 200 validation rows 6") for said in found.said)
    assert found.plain()["data"]["n_validation"] == 200


def test_images_are_compared():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    x = (rng.integers(0, 100, (40, 8, 8)) + 100 * y[:, None, None]).astype(np.uint8)
    part = Arrays(x, y, ("dark", "bright"))
    data = Fragmented(
        {"a": part.take(range(10)), "b": part.take(range(10, 20))}, part.take(range(20, 40))
    )
    found = compare(data, methods=["fire", "pooled"], n_seeds=1, n_epochs=2)
    assert found.settings["image_shape"] == [1, 8, 8]
    assert len(found.table("scores")) == 3


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"n_seeds": 0}, "n_seeds is 0"),
        ({"n_jobs": 1.5}, "n_jobs is 1.5"),
        ({"at_most": 0}, "at_most is 0"),
        ({"protocol": "dirty"}, "protocol is 'dirty'"),
        ({"metric": "f1"}, "metric is 'f1'"),
        ({"methods": ["fyre"]}, "no method 'fyre'"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_wrong_settings_are_named(wrong, said):
    with pytest.raises(DataError, match=said):
        compare(without_shift(), **wrong)


KILLED = """
import json, sys
from firecv.compare import compare
from tests.compare.worlds import without_shift
found = compare(without_shift(), methods=["fire", "pooled"], n_seeds=12, n_epochs=30,
                folder=sys.argv[1])
print(json.dumps(found.plain()))
"""


@pytest.mark.slow
def test_after_a_kill_the_same_call_goes_on_to_the_same_result(tmp_path):
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    command = [sys.executable, "-c", KILLED]
    process = subprocess.Popen([*command, str(killed)], cwd=ROOT, stdout=subprocess.DEVNULL)
    file, until = killed / FILE, time.monotonic() + 120
    while not (file.exists() and file.read_bytes().count(b"\n") >= 3):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    n_kept = file.read_bytes().count(b"\n")
    assert 3 <= n_kept < 36
    kept = file.read_bytes()
    both = [
        subprocess.run([*command, str(folder)], cwd=ROOT, check=True, capture_output=True).stdout
        for folder in (killed, whole)
    ]
    assert both[0] == both[1]
    assert file.read_bytes().startswith(kept[: kept.rfind(b"\n") + 1])
    assert file.read_bytes().count(b'"id"') == 36  # nothing was done twice


@pytest.mark.slow
def test_where_there_is_nothing_to_learn_winners_are_no_more_frequent_than_the_level():
    n_worlds = 120
    found = [
        compare(nothing_to_learn(seed=seed), methods=["pooled"], **QUICK).table("winners")
        for seed in range(n_worlds)
    ]
    n_declared = sum(bool(table["method"].notna().any()) for table in found)
    assert n_declared / n_worlds <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_worlds)
