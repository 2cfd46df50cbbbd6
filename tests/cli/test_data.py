"""The command line as a person types it."""

import json
import subprocess
import sys

import pytest
from matplotlib.image import imread

from firecv import cli
from firecv.data.catalogue import DATASETS


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Return a function that runs a command in an empty folder: exit code, output, messages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FIRECV_DATA", raising=False)
    monkeypatch.setenv("FIRECV_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "2000")  # so that no sentence is broken

    def run_command(*words):
        monkeypatch.setattr(sys, "argv", ["firecv", *words])
        try:
            code = cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        said = capsys.readouterr()
        return code, said.out, said.err

    return run_command


def test_list_names_every_data_set(run):
    code, out, _ = run("data", "list")
    assert code == 0
    names = [line.split()[0] for line in out.splitlines()]
    assert names == ["name", *DATASETS]


def test_list_as_json_is_json(run):
    code, out, _ = run("data", "list", "--json")
    records = {record["name"]: record for record in json.loads(out)}
    assert code == 0 and records.keys() == DATASETS.keys()
    assert records["wine"]["state"] == "embedded"
    assert records["mnist"]["state"] == "to fetch"
    assert records["femnist"]["state"] == "by hand"


def test_info_tells_facts_and_traps_and_contents(run):
    code, out, _ = run("data", "info", "wine")
    assert code == 0
    assert "class_1: 71" in out and "licence: CC BY 4.0" in out
    code, out, _ = run("data", "info", "heart")
    assert code == 0
    assert "Oldpeak" in out and "holds" not in out


def test_info_as_json_is_json(run):
    code, out, _ = run("data", "info", "digits", "--json")
    known = json.loads(out)
    assert code == 0 and known["holds"]["train"]["class counts"]["0"] == 178


def test_verify_says_how_deep_it_looked(run):
    code, out, _ = run("data", "verify", "wine")
    assert code == 0 and out == "ok     wine (every value)\n"


def test_verify_without_a_name_takes_what_is_here(run):
    code, out, _ = run("data", "verify")
    assert code == 0
    assert [line.split()[1] for line in out.splitlines()] == ["digits", "breast_cancer", "wine"]


def test_verify_fails_on_a_damaged_file(run, tmp_path, monkeypatch):
    (tmp_path / "tabular").mkdir()
    (tmp_path / "tabular" / "heart.csv").write_text("a,b\n1,2\n")
    monkeypatch.setenv("FIRECV_DATA", str(tmp_path))
    code, out, err = run("data", "verify", "heart")
    assert code == 1 and out.startswith("WRONG  heart")
    assert "1 of 1 data sets" in err and "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["data", "info", "hart"], "did you mean 'heart'"),
        (["data", "fetch", "femnist"], "cannot be downloaded automatically"),
        (["data", "show", "mnist"], "firecv data fetch mnist"),
        (["data", "show", "digits", "--shift", "rotated"], "did you mean 'rotation'"),
        (["data", "show", "digits", "--shift", "rotation:c=1"], "no setting 'c'"),
        (["data", "show", "digits", "--fragments", "column:name=site"], "site"),
        (["data", "show", "digits", "--fragments", "iid:n=9999"], "9999"),
        (["data", "show", "wine", "--shift", "rotation"], "image"),
        (["data", "show", "digits", "--output", "no/such/folder/a.png"], "no/such/folder"),
    ],
)
def test_mistakes_get_one_sentence_and_no_traceback(run, words, message):
    code, _, err = run(*words)
    assert code == 1
    assert err.startswith("firecv: ") and message in err and "Traceback" not in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["digits", "--shift", "rotation:a=2,b=6"],
        ["digits", "--shift", "selection", "--fragments", "dirichlet:n=3,alpha=0.3"],
        ["digits", "--bands", "colour", "--fragments", "iid:n=12"],
        ["digits", "--shift", "corruption:kind=fog,severity=4"],
        ["wine", "--shift", "selection", "--fragments", "folds:n=3"],
        ["breast_cancer"],
    ],
    ids=" ".join,
)
def test_show_draws_a_picture(run, tmp_path, words):
    code, _, err = run("data", "show", *words)
    assert code == 0, err
    picture = imread(tmp_path / f"{words[0]}.png")
    assert picture.shape[0] > 300 and picture.std() > 0.05


@pytest.mark.parametrize("words", [[], ["data"], *([["data", c, "--help"]] for c in ())])
def test_without_a_command_there_is_help(run, words):
    _, out, err = run(*words)
    assert "Usage" in out + err


@pytest.mark.parametrize("command", ["list", "info", "fetch", "verify", "show"])
def test_help_has_an_example(run, command):
    code, out, _ = run("data", command, "--help")
    assert code == 0 and f"firecv data {command}" in out.split("Example", 1)[1]


@pytest.mark.slow
def test_it_runs_as_a_module_and_minds_a_closed_pipe():
    line = f"{sys.executable} -m firecv.cli data list --json | head -n 1"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout == "[\n" and done.stderr == ""
