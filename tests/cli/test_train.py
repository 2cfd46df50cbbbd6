"""`firecv train` and `firecv predict` as a person types them."""

import csv
import io
import json
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from firecv import cli
from firecv.cli.predict import _field
from firecv.trained import load_trained
from tests.trained.small import patients

QUICK = ["--set", "hidden=4", "--set", "n_epochs=3"]
OWN = ["data.csv", "--target", "ill", "--fragment", "site", "--categorical", "code"]


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Return a function that runs a command in a folder with data: exit code, output, messages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "2000")  # so that no sentence is broken
    patients().to_csv("data.csv", index=False)
    patients(60, seed=1, shift=0.7).to_csv("val.csv", index=False)

    def run_command(*words):
        monkeypatch.setattr(sys, "argv", ["firecv", *words])
        try:
            code = cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        said = capsys.readouterr()
        return code, said.out, said.err

    return run_command


@pytest.fixture
def model(run):
    code, _, err = run("train", *OWN, "--validation", "val.csv", *QUICK, "--out", "model")
    assert (code, err) == (0, "")
    return load_trained("model")


def rows(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def test_training_says_what_was_seen_and_how_good_it_is(run):
    code, out, err = run("train", *OWN, "--validation", "val.csv", *QUICK, "--out", "model")
    assert code == 0 and err == ""
    assert "Method: FIRE, which has seen the inputs of the validation set" in out
    assert "weight" in out and "Shift test: the validation set" in out
    assert "Accuracy on the validation set: " in out and "of 60 rows." in out
    assert "optimistic" not in out
    assert load_trained("model").facts.target == "ill"


def test_labels_that_were_seen_make_an_accuracy_optimistic(run):
    words = ["--validation", "val.csv", *QUICK, "--sees", "labelled", "--out", "model"]
    code, out, _ = run("train", *OWN, *words)
    assert code == 0 and "This is optimistic, since its labels were seen in training." in out


def test_training_as_json(run):
    words = ["--validation", "0.25", *QUICK, "--method", "erm", "--seed", "3", "--json"]
    code, out, err = run("train", *OWN, *words)
    found = json.loads(out)
    assert code == 0 and "not kept" in err
    assert (found["method"], found["regime"], found["seed"]) == ("erm", "none", 3)
    assert found["weights"] is None and found["columns"]["code"] == "categorical"
    assert found["n_validation"] + sum(found["sizes"].values()) == 120


def test_windows_and_folds_are_fragments_too(run):
    dates = pd.Series(pd.date_range("2024-01-01", periods=120)).astype(str)
    patients().drop(columns="site").assign(day=dates).to_csv("dated.csv", index=False)
    words = ["dated.csv", "--target", "ill", *QUICK, "--json"]
    _, out, _ = run("train", *words, "--time", "day", "--window", "month")
    assert list(json.loads(out)["sizes"]) == ["2024-01", "2024-02", "2024-03", "2024-04"]
    _, out, _ = run("train", *words, "--drop", "day", "--folds", "3")
    assert len(json.loads(out)["sizes"]) == 3


def test_predictions_are_a_table(run, model):
    code, out, err = run("predict", "model", "val.csv", "--proba")
    header, *lines = rows(out)
    table = pd.read_csv("val.csv")
    assert (code, err) == (0, "") and header == ["predicted", "p(no)", "p(yes)"]
    assert [line[0] for line in lines] == model.predict(table).tolist()
    shares = np.array([line[1:] for line in lines], float)
    np.testing.assert_array_equal(shares, model.predict_proba(table))
    assert rows(run("predict", "model", "val.csv")[1]) == [["predicted"], *([n] for n, *_ in lines)]


def test_predictions_go_to_a_file(run, model, tmp_path):
    _, out, _ = run("predict", "model", "val.csv", "--proba")
    code, nothing, err = run("predict", "model", "val.csv", "--proba", "--out", "found.csv")
    assert (code, nothing, err) == (0, "", "")
    assert (tmp_path / "found.csv").read_text() == out
    assert not list(tmp_path.glob(".firecv-*"))


def test_predictions_as_json(run, model):
    found = json.loads(run("predict", "model", "val.csv", "--json")[1])
    table = pd.read_csv("val.csv")
    assert found["classes"] == ["no", "yes"] and "probabilities" not in found
    assert found["predicted"] == model.predict(table).tolist()
    found = json.loads(run("predict", "model", "val.csv", "--json", "--proba")[1])
    np.testing.assert_array_equal(found["probabilities"], model.predict_proba(table))


FORMULAS = [
    "=1+1",
    "+a",
    "-a",
    "@a",
    "\ta",
    "\ra",
    "\na",
    "\uff1da",
    "-",
    "--1",
    "'=1",
    "''-a",
    "-1-1",
]
HARMLESS = ["a", "", "'a", "a=1", "-1", "+1.5", "-.5e-3", "1e5", "0", " =a", "'"]


@pytest.mark.parametrize("name", FORMULAS)
def test_text_that_a_spreadsheet_would_run_has_a_quote_before_it(name):
    assert rows(_field(name)) == [[f"'{name}"]]
    assert rows(_field(name, raw=True)) == [[name]]


@pytest.mark.parametrize("name", HARMLESS)
def test_numbers_and_other_text_are_written_as_they_are(name):
    assert rows(_field(name)) == [[name]]


def test_no_two_names_become_one_and_no_cell_is_parted():
    assert len({_field(name) for name in FORMULAS + HARMLESS}) == len(FORMULAS + HARMLESS)
    assert _field("a;=1") == '"a;=1"' and _field("a\t=1") == '"a\t=1"'


def test_a_class_named_like_a_formula_is_text_in_a_spreadsheet_unless_asked_for(run):
    frame = patients().replace({"ill": {"yes": "=cmd|' /C calc'!A0", "no": "-1"}})
    frame.to_csv("odd.csv", index=False)
    run("train", "odd.csv", *OWN[1:], *QUICK, "--out", "model")
    header, *lines = rows(run("predict", "model", "odd.csv", "--proba")[1])
    assert header[1:] == ["p(-1)", "p(=cmd|' /C calc'!A0)"]
    assert {line[0] for line in lines} <= {"-1", "'=cmd|' /C calc'!A0"}
    _, *raw = rows(run("predict", "model", "odd.csv", "--raw")[1])
    found = json.loads(run("predict", "model", "odd.csv", "--json")[1])
    assert [name for (name,) in raw] == found["predicted"]
    assert [line[0].removeprefix("'") for line in lines] == found["predicted"]


def test_classes_with_commas_and_quotes_survive(run):
    frame = patients().replace({"ill": {"yes": 'yes, "very"', "no": "no\nat all"}})
    frame.to_csv("odd.csv", index=False)
    run("train", "odd.csv", *OWN[1:], *QUICK, "--out", "model")
    header, *lines = rows(run("predict", "model", "odd.csv", "--proba")[1])
    assert header[1:] == ["p(no\nat all)", 'p(yes, "very")']
    assert {line[0] for line in lines} <= set(frame["ill"])


def test_columns_nobody_knows_are_noticed(run, model):
    patients(5).assign(height=1).to_csv("new.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code, out, err = run("predict", "model", "new.csv")
    assert code == 0 and len(rows(out)) == 6
    assert err.startswith("firecv: new.csv has the column 'height'")


MISTAKES = {
    "no method": (["train", *OWN, "--method", "fier"], "did you mean 'fire'"),
    "no setting": (["train", *OWN, "--set", "epochs=3"], "did you mean 'n_epochs'"),
    "no value": (["train", *OWN, "--set", "n_epochs"], "write key=value"),
    "no file": (["train", "no.csv", "--target", "ill"], "no file no.csv"),
    "no target": (["train", "data.csv", "--target", "il"], "did you mean 'ill'"),
    "no labels": (
        ["train", *OWN, "--validation", "blind.csv", "--method", "pooled"],
        "pooled needs inputs and labels",
    ),
    "out is a file": (["train", *OWN, *QUICK, "--out", "val.csv"], "is a file; give the folder"),
    "no model": (["predict", "nowhere", "val.csv"], "holds no trained model"),
    "no table": (["predict", "model", "no.csv"], "no file no.csv"),
    "lacking": (["predict", "model", "lacking.csv"], "lacking.csv lacks the column 'age'"),
    "text": (["predict", "model", "text.csv"], "'age' of text.csv holds 'old' in row 2"),
    "no rows": (["predict", "model", "header.csv"], "a header and no rows"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_get_one_sentence_and_no_traceback(run, model, name):
    words, message = MISTAKES[name]
    patients(60).drop(columns="ill").to_csv("blind.csv", index=False)
    patients(9).drop(columns="age").to_csv("lacking.csv", index=False)
    patients(2).assign(age=["41", "old"]).to_csv("text.csv", index=False)
    patients(9).iloc[:0].to_csv("header.csv", index=False)
    code, _, err = run(*words)
    assert code == 1 and message in err and "Traceback" not in err
    (said,) = [line for line in err.strip().splitlines() if "is held out" not in line]
    assert said.startswith("firecv: ")


@pytest.mark.parametrize("words", [["train"], ["train", "data.csv"], ["predict", "model"]])
def test_what_is_left_out_is_a_mistake_of_usage(run, words):
    code, _, err = run(*words)
    assert code == 2 and "Missing" in err and "Traceback" not in err


@pytest.mark.parametrize("command", ["train", "predict"])
def test_there_is_help_with_examples(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0 and f"firecv {command}" in out.split("Examples", 1)[1]


@pytest.mark.slow
def test_the_real_commands(run, tmp_path):
    command = [sys.executable, "-m", "firecv.cli"]
    for words in (["train", *OWN, *QUICK, "--out", "model"], ["predict", "model", "val.csv"]):
        done = subprocess.run(
            [*command, *words], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
    assert len(rows(done.stdout)) == 61
