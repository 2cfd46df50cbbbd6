import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from firecv.cli import app, main
from firecv.experiments import catalogue
from firecv.experiments.spec import Table
from tests.experiments.toys import toy_table


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    def declared(protocol: str) -> Table:
        return toy_table(n_rows=2, n_seeds=12)

    monkeypatch.setitem(catalogue.TABLES, "toys", declared)
    monkeypatch.setenv("FIRECV_RESULTS", str(tmp_path / "results"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str):
    return CliRunner().invoke(app, words, catch_exceptions=False)


def test_a_table_is_run_once_and_shown(toys: Path):
    first = run("table", "toys")
    assert first.exit_code == 0
    assert "24 runs to do, 0 done" in first.stderr
    assert "row 1" in first.stdout and "better" in first.stdout
    assert "to do" not in run("table", "toys").stderr


@pytest.mark.parametrize("format", ["markdown", "latex", "html", "csv"])
def test_a_table_is_written_in_every_format(toys: Path, format: str):
    out = toys / "table.out"
    assert run("table", "toys", "--format", format, "--out", str(out)).exit_code == 0
    assert "row 1" in out.read_text()


def test_only_some_cells_and_seeds(toys: Path):
    found = run("table", "toys", "--cells", "row 1/*", "--seeds", "3")
    assert "4 runs to do" in found.stderr
    assert "row 0" not in found.stdout


def test_nothing_is_run_if_only_shown_or_without_time(toys: Path):
    assert "runs to do" not in run("table", "toys", "--no-run").stderr
    assert "runs to do" not in run("table", "toys", "--budget", "0").stderr
    assert not (toys / "results" / "loose").exists()


def test_status_and_pack(toys: Path):
    run("table", "toys")
    lines = json.loads(run("results", "status", "--json").stdout)
    (mine,) = [line for line in lines if line["table"] == "toys" and line["protocol"] == "clean"]
    assert (mine["runs_done"], mine["runs_missing"]) == (24, 0)
    assert "packed 24 runs" in run("results", "pack").stdout
    shown = run("results", "status").stdout
    assert "toys" in shown and "24 runs are stored, which took 0.0 core-hours" in shown
    assert "to do" not in run("table", "toys").stderr


def test_an_unknown_table_is_one_sentence(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["firecv", "table", "tabel"])
    assert main() == 1
    assert "there is no table 'tabel'; choose from" in capsys.readouterr().err


def test_failed_runs_end_with_the_reason(toys, monkeypatch, capsys):
    monkeypatch.setitem(catalogue.TABLES, "toys", lambda protocol: toy_table(fault="no luck"))
    monkeypatch.setattr("sys.argv", ["firecv", "table", "toys"])
    assert main() == 1
    assert "runs came to nothing: RuntimeError: no luck" in capsys.readouterr().err


def test_help_has_examples():
    for command in ("table", "figure"):
        assert f"firecv {command} " in run(command, "--help").stdout
