"""What reaches the terminal: nothing that steers it, and nothing wider than it is."""

import ast
import io
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from firecv import cli
from firecv.cli import terminal
from firecv.display import display_width, visible
from firecv.experiments import catalogue
from firecv.progress import bar
from tests.experiments.toys import toy_table

EVIL = "\x1b[31m\x1b]8;;http://a.example\x07[bold]red[/bold]\u202e\x9b1m [link=a]\tb\n東京 "
LONG = EVIL + "site-of-a-very-long-name-" * 10
TARGET, SITE, AGE, TOWN = (EVIL + name for name in ("target", "site", "age", "town"))
QUICK = ["--set", "hidden=4", "--set", "n_epochs=2"]
WIDTHS = [40, 80, 120]


def frame(n_rows, shift, seed):
    rng = np.random.default_rng(seed)
    sites = rng.integers(3, size=n_rows)
    return pd.DataFrame(
        {
            AGE: rng.normal(size=n_rows) + shift + sites,
            TOWN: np.array([EVIL + "Ulm", LONG, "Kiel"])[rng.integers(3, size=n_rows)],
            SITE: np.array([EVIL + "A", LONG, "C"])[sites],
            TARGET: np.array(["=" + EVIL, LONG])[rng.integers(2, size=n_rows)],
        }
    )


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Return a function that runs a command on evil data: exit code, output, messages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FIRECV_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FIRECV_DATA", raising=False)
    frame(240, 0.0, 0).to_parquet("data.parquet")
    frame(90, 4.0, 1).to_parquet("val.parquet")
    frame(3, 0.0, 2).assign(more=1).to_parquet("\x1b[31mnew.parquet")

    def run_command(*words, width=40):
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr(sys, "argv", ["firecv", *words])
        code = cli.main()
        said = capsys.readouterr()
        check(said.out, width)
        check(said.err, width)
        return code, said.out, said.err

    return run_command


def check(text, width):
    for line in text.split("\n"):
        assert line.isprintable(), line
        assert display_width(line) <= width, line


OWN = ["data.parquet", "--target", TARGET, "--fragment", SITE, "--validation", "val.parquet"]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_diagnosis_fits(run, width):
    code, out, _ = run("diagnose", *OWN, width=width)
    assert code == 0 and "Verdict: shift" in out and r"\x1b[31m" in out
    assert "[bold]red[/bold]" in out.replace("\n", "")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_comparison_and_its_methods_fit(run, width):
    quick = ["--methods", "erm,fire", "--seeds", "2", "--epochs", "1"]
    code, out, _ = run("compare", *OWN, *quick, width=width)
    assert code == 0 and "above ERM" in out.replace("\n", " ")
    assert "deepcoral" in run("compare", "--list", width=width)[1]


@pytest.mark.parametrize("width", WIDTHS)
def test_training_and_its_fragments_fit(run, width):
    code, out, err = run("train", *OWN, *QUICK, "--out", "model", width=width)
    assert code == 0 and "weight" in out
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code, out, err = run("predict", "model", "\x1b[31mnew.parquet", "--json", width=5000)
    assert code == 0 and set(json.loads(out)["predicted"]) <= {"=" + EVIL, LONG}
    assert r"\x1b[31mnew.parquet has the column" in err


@pytest.mark.parametrize("width", WIDTHS)
def test_a_federation_fits(run, width):
    words = ["--fragment", SITE, "--rounds", "2", "--epochs", "1"]
    code, out, _ = run("federated", "simulate", *OWN[:3], *words, width=width)
    assert code == 0 and "MB down" in out and "After round 2" in out


@pytest.mark.parametrize("width", WIDTHS)
def test_data_sets_fit(run, width):
    assert "digits" in run("data", "list", width=width)[1]
    assert run("data", "info", "digits", width=width)[0] == 0
    assert run("data", "info", "heart", width=width)[0] == 0


@pytest.mark.parametrize("has_rich", [True, False])
@pytest.mark.parametrize("width", WIDTHS)
def test_tables_of_results_fit(run, width, has_rich, monkeypatch, tmp_path):
    monkeypatch.setenv("FIRECV_RESULTS", str(tmp_path / "results"))
    if not has_rich:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    for name in ("weigh", "folds-forms"):
        assert run("table", name, "--no-run", width=width)[0] == 0
    code, out, _ = run("results", "status", width=width)
    assert code == 0 and "runs done" in out


def test_names_in_a_table_of_results_are_made_visible(run, monkeypatch, tmp_path):
    monkeypatch.setenv("FIRECV_RESULTS", str(tmp_path / "results"))
    table = toy_table(n_rows=1, n_seeds=2)
    object.__setattr__(table, "title", LONG)
    monkeypatch.setitem(catalogue.TABLES, "toys", lambda protocol: table)
    assert r"\x1b[31m" in run("table", "toys", "--no-run")[1]


@pytest.mark.parametrize(
    "words",
    [
        ("diagnose", "\x1b[31mnone.csv", "--target", "y", "--validation", "0.5"),
        ("diagnose", "data.parquet", "--target", LONG, "--validation", "0.5"),
        ("diagnose", "data.parquet"),
        ("diagnose", "data.parquet", "--target", "y", "\x1b[31mmore.csv"),
        ("diagnose", "data.parquet", "--\x1b[31m", "y"),
        ("\x1b[31mdiagnose",),
        ("table", LONG),
        ("data", "info", LONG),
        ("predict", LONG[:60], "data.parquet"),
    ],
)
def test_errors_are_visible_and_fit(run, words):
    code, out, err = run(*words)
    assert code in (1, 2) and out == ""
    assert [line.startswith("firecv:") for line in err.split("\n")].index(True) == 0
    assert err.count("\nfirecv:") == 0


@pytest.mark.parametrize("words", [(), ("data",)])
def test_without_a_command_there_is_help_and_no_message(words, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["firecv", *words])
    assert cli.main() == 2
    said = capsys.readouterr()
    assert "Usage: firecv" in said.out and said.err == ""


def test_a_name_cannot_pose_as_a_message(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    terminal.tell("no column 'a\nfirecv: wrote /etc/passwd'")
    assert capsys.readouterr().err == "firecv: no column 'a\n  firecv: wrote /etc/passwd'\n"


def test_letters_that_a_terminal_does_not_have_are_written_out(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    monkeypatch.delenv("COLUMNS", raising=False)
    terminal.say("東京")
    assert raw.getvalue() == b"\\u6771\\u4eac\n"


def test_what_programs_read_is_unchanged_but_on_a_terminal(capsys, monkeypatch):
    terminal.emit(f"a,{EVIL}")
    assert capsys.readouterr().out == f"a,{EVIL}\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    terminal.emit(f"a\n{EVIL.replace(chr(10), '')}")
    shown = capsys.readouterr().out
    assert shown == f"a\n{visible(EVIL.replace(chr(10), ''))}\n"


def test_a_progress_bar_shows_names_as_they_are(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "200")
    with bar(EVIL, total=2) as advance:
        advance(2, f"{EVIL} done")
    shown = capsys.readouterr().err
    assert "[bold]red[/bold]" in shown and r"\x1b[31m\x1b]8;;" in shown
    assert "\x1b]8" not in shown and "\u202e" not in shown


def test_commands_print_in_one_place_only():
    for path in Path(cli.__file__).parent.glob("*.py"):
        calls = [n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Call)]
        prints = [call.lineno for call in calls if getattr(call.func, "id", "") == "print"]
        streams = [call.lineno for call in calls if getattr(call.func, "attr", "") == "echo"]
        assert path.name == "terminal.py" or not prints + streams, (path, prints + streams)
