"""The app folder to start from."""

import subprocess
import sys
import tomllib

import pytest

from firecv.federated.flower.job import plan_of, to_job
from firecv.federated.flower.node_table import Place, read_node_table
from firecv.federated.flower.superlink import found_executables
from firecv.federated.run import run
from tests.federated.flower.root import ROOT

FOLDER = ROOT / "examples" / "flower"


def config():
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text("utf-8"))
    return project["tool"]["flwr"]["app"]


@pytest.fixture
def problem(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in [name for name in sys.modules if name.split(".")[0] == "federation"]:
        monkeypatch.delitem(sys.modules, name)
    from federation import data

    return data


def test_it_learns(problem):
    job = to_job(config()["config"])
    clients = [problem.load_client(k, 4, job.settings) for k in range(4)]
    sets = problem.load_sets(job.settings)
    history = run(plan_of(job, problem), clients, job.n_rounds, evaluate_on=sets, progress=False)
    scores = [record.scores["test_accuracy"] for record in history.records]
    assert scores[-1] > 0.8 > scores[0]


def test_a_folder_of_tables_takes_the_place_of_made_up_points(problem, tmp_path):
    (tmp_path / "site-1.csv").write_text("".join(f"{i},0.5,{i % 3}\n" for i in range(10)))
    client = problem.load_client(1, 2, {"folder": str(tmp_path)})
    assert len(client) == 8 and client.data[0][0].tolist() == [2.0, 0.5]


def test_the_halves_are_where_the_project_says(problem):
    from importlib import import_module

    for path in config()["components"].values():
        module, name = path.split(":")
        assert hasattr(import_module(module), name)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["flwr", "flower-superlink", "flower-supernode"])
def test_the_readme_names_options_that_exist(command):
    commands = found_executables()
    text = (FOLDER / "README.md").read_text("utf-8").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith(command + " ")]
    assert lines
    help_text = ""
    for words in {"flwr": [["run"], ["supernode", "register"]]}.get(command, [[]]):
        done = subprocess.run(
            [str(commands / command), *words, "--help"],
            capture_output=True,
            text=True,
            env={"COLUMNS": "200", "PATH": str(commands), "NO_COLOR": "1", "TERM": "dumb"},
        )
        help_text += done.stdout
    options = {w.strip("'\"") for line in lines for w in line.split() if w.startswith("--")}
    assert not {option for option in options if option not in help_text}


@pytest.mark.slow
def test_certificates_are_made_once_and_their_keys_are_secret(tmp_path):
    command = [str(found_executables() / "python"), str(FOLDER / "make_certificates.py")]
    command += ["--folder", str(tmp_path), "--host", "127.0.0.1", "--host", "a.example"]
    command += ["--max-samples", "500"]
    subprocess.run(command, check=True, capture_output=True)
    for name in ("ca.key", "server.key", "node-0", "node-1"):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0
    assert list(read_node_table(tmp_path / "nodes.toml").values()) == [Place(0, 500), Place(1, 500)]
    verify = ["openssl", "verify", "-CAfile", "ca.crt", "-verify_ip", "127.0.0.1", "server.crt"]
    try:
        done = subprocess.run(verify, cwd=tmp_path, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no openssl to verify the certificate with")
    assert done.returncode == 0, done.stderr
    assert subprocess.run(command, capture_output=True).returncode != 0
