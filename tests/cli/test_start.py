"""What the command line loads before it does anything, and that nothing else is lost by it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import firecv
from firecv.cli import COMMANDS, app, load

HEAVY = ("torch", "sklearn", "scipy", "pandas", "numpy", "joblib", "flwr", "PIL", "matplotlib")
TRAINING = ("torch", "sklearn", "flwr", "joblib")
WATCH = """
import atexit, json, sys

def tell():
    print("LOADED " + json.dumps(sorted(sys.modules)), file=sys.stderr)

atexit.register(tell)
"""
TOYS = """
from firecv.cli import main
from firecv.experiments import catalogue
from tests.experiments.toys import toy_table

catalogue.TABLES["toys"] = lambda protocol: toy_table(n_seeds=12)
sys.exit(main())
"""
COMMAND = "from firecv.cli import main; sys.exit(main())"


def run(code: str, *words: str, **variables: str) -> tuple[str, set[str]]:
    """Return what a fresh process prints, and all it has loaded at its end."""
    done = subprocess.run(
        [sys.executable, "-c", WATCH + code, *words],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, **variables},
    )
    loaded = done.stderr.rpartition("LOADED ")[2]
    return done.stdout, set(json.loads(loaded))


@pytest.mark.slow
def test_help_loads_none_of_the_commands():
    said, loaded = run(COMMAND, "--help")
    assert all(name in said for name in COMMANDS)
    assert not loaded.intersection(HEAVY)
    assert {name for name in loaded if name.startswith("firecv.")} == {
        "firecv.cli",
        "firecv.cli.terminal",
        "firecv.display",
        "firecv.errors",
    }


@pytest.mark.slow
def test_completion_of_names_loads_none_of_the_commands():
    asked = {"_FIRECV_COMPLETE": "complete_bash", "COMP_WORDS": "firecv f", "COMP_CWORD": "1"}
    said, loaded = run("sys.argv = ['firecv']; " + COMMAND, **asked)
    assert said.split() == ["federated", "figure"]
    assert not loaded.intersection(HEAVY)


@pytest.mark.slow
def test_options_of_a_command_are_completed():
    asked = {"_FIRECV_COMPLETE": "complete_bash", "COMP_CWORD": "2"}
    said, loaded = run("sys.argv = ['firecv']; " + COMMAND, COMP_WORDS="firecv table --f", **asked)
    assert said.split() == ["--format"]
    assert not loaded.intersection(TRAINING)


@pytest.mark.slow
def test_a_finished_table_is_shown_without_what_trained_it(tmp_path):
    where = ("--results", str(tmp_path))
    _, loaded = run(TOYS, "table", "toys", *where)
    assert "torch" in loaded
    said, loaded = run(TOYS, "table", "toys", *where)
    assert "row 1" in said
    assert not loaded.intersection(TRAINING)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["weigh", "folds-forms", "rotated", "diagnostics"])
def test_tables_are_declared_and_rendered_without_what_trains(tmp_path, name):
    said, loaded = run(COMMAND, "table", name, "--no-run", "--results", str(tmp_path))
    assert said
    assert not loaded.intersection(TRAINING)


@pytest.mark.slow
def test_the_package_loads_nothing_before_a_name_is_used():
    code = "import firecv; names = dir(firecv); print(json.dumps(names))"
    said, loaded = run(code)
    assert set(firecv.__all__) <= set(json.loads(said))
    assert not loaded.intersection(HEAVY)


@pytest.mark.parametrize("name", firecv.__all__)
def test_public_names_are_found(name):
    assert getattr(firecv, name) is not None
    assert name in vars(firecv)  # found without being looked for the second time


def test_other_names_are_not_there():
    with pytest.raises(AttributeError, match="no attribute 'fire_alarm'"):
        firecv.fire_alarm  # noqa: B018


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_said_of_a_command_is_what_it_says_of_itself(name):
    command = load(name)
    assert command.name == name
    assert (command.help or "").splitlines()[0] == COMMANDS[name]
    assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0


def test_the_nearest_name_is_offered():
    found = CliRunner().invoke(app, ["tabel"])
    assert found.exit_code == 2
    assert "'table'" in found.stderr
