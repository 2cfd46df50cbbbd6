import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from firecv.cli import compare as command
from firecv.estimators import METHODS
from tests.compare.worlds import frame

ROOT = Path(__file__).resolve().parents[2]
app = typer.Typer()
app.command(epilog=command.EXAMPLES)(command.compare)


@pytest.fixture
def files(tmp_path, monkeypatch):
    frame(60).to_csv(tmp_path / "data.csv", index=False)
    frame(40, seed=1).drop(columns="site").to_csv(tmp_path / "val.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    asked = ["data.csv", "--target", "ill", "--fragment", "site", "--validation", "val.csv"]
    asked += ["--epochs", "2", "--seeds", "2", "--methods", "erm,fire", *words]
    return CliRunner().invoke(app, asked)


def test_it_prints_a_table_and_the_conclusion_and_writes_nothing(files):
    found = run()
    assert found.exit_code == 0, found.output
    assert "FIRE" in found.stdout and "2 seeds are too few for a test" in found.stdout
    assert sorted(path.name for path in files.iterdir()) == ["data.csv", "val.csv"]


def test_json_is_the_contract(files):
    plain = json.loads(run("--json", "--metric", "log_loss", "--protocol", "paper").stdout)
    assert (plain["kind"], plain["metric"]) == ("comparison", "log_loss")
    assert plain["data"]["source"] == "data.csv"
    assert plain["settings"]["protocol"] == "paper" and plain["settings"]["n_epochs"] == 2


def test_what_is_kept_is_what_is_printed_and_goes_on(files):
    first = run("--out", "study", "--json")
    assert first.exit_code == 0, first.output
    kept = json.loads((files / "study" / "comparison.json").read_text())
    assert kept == json.loads(first.stdout)
    assert (files / "study" / "report.html").exists()
    lines = (files / "study" / "comparison.jsonl").read_text()
    assert json.loads(run("--out", "study", "--json").stdout) == kept
    assert (files / "study" / "comparison.jsonl").read_text() == lines


def test_labels_can_be_kept_from_methods(files):
    found = run("--no-labels", "--methods", "fire,pooled")
    assert "Left out" in found.stdout and "pooled" in found.stdout


def test_a_validation_file_without_the_target_cannot_judge(files):
    frame(40, seed=1).drop(columns=["site", "ill"]).to_csv(files / "val.csv", index=False)
    found = run()
    assert found.exit_code == 1
    assert "has no labels, so nothing can be scored" in str(found.exception)


def test_the_list_needs_no_data():
    found = CliRunner().invoke(app, ["--list"])
    assert found.exit_code == 0
    assert all(name in found.stdout for name in METHODS)


def test_an_unknown_method_is_named_with_the_nearest(files):
    found = run("--methods", "erm,fyre")
    assert found.exit_code == 1 and "no method 'fyre'" in str(found.exception)


@pytest.mark.parametrize("words", [["--seeds", "0"], ["--metric", "f1"], ["--protocol", "x"]])
def test_wrong_usage_ends_with_two(files, words):
    assert run(*words).exit_code == 2


@pytest.mark.slow
def test_the_default_methods_run_in_two_processes(files):
    program = (
        "import typer; from firecv.cli import compare as c; app = typer.Typer(); "
        "app.command()(c.compare); app()"
    )
    words = ["data.csv", "--target", "ill", "--folds", "3", "--validation", "0.4", "--epochs", "2"]
    found = subprocess.run(
        [sys.executable, "-c", program, *words, "--seeds", "2", "--jobs", "2", "--json"],
        cwd=files,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr
    assert len(json.loads(found.stdout)["summary"]) == 9
