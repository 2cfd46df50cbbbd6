"""`firecv federated` as a person types it."""

import json
import os
import platform
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from firecv import cli
from firecv.federated.checkpoint import LOCK
from firecv.locks import locked
from firecv.trained import load_trained

QUICK = ["--fragments", "iid:n=3", "--epochs", "1", "--rounds", "2"]


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Return a function that runs a command in an empty folder: exit code, output, messages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FIRECV_DATA", raising=False)
    monkeypatch.setenv("FIRECV_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "2000")  # so that no sentence is broken

    def run_command(*words):
        monkeypatch.setattr(sys, "argv", ["firecv", "federated", "simulate", *words])
        try:
            code = cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        said = capsys.readouterr()
        return code, said.out, said.err

    return run_command


def test_a_table_of_rounds_and_the_result(run):
    code, out, err = run("digits", *QUICK)
    assert code == 0 and err == ""
    header, *rows, blank, result = out.splitlines()
    assert header.split()[:6] == ["round", "heard", "failed", "validation", "test", "client"]
    assert [row.split()[:3] for row in rows] == [["0", "0", "0"], ["1", "3", "0"], ["2", "3", "0"]]
    assert blank == "" and result.startswith("After round 2 of 3 clients: ")


def test_many_rounds_are_thinned_out_and_the_last_is_there(run):
    code, out, _ = run("digits", *QUICK[:4], "--rounds", "45")
    shown = [int(line.split()[0]) for line in out.splitlines()[1:-2]]
    assert code == 0 and len(shown) <= 20 and shown[-1] == 45


def test_a_checkpoint_that_another_process_uses_is_left_alone_and_that_is_said(run, tmp_path):
    (tmp_path / "run").mkdir()
    with locked(tmp_path / "run" / LOCK):
        code, out, err = run("digits", *QUICK, "--checkpoint", "run")
    who = f"process {os.getpid()} on {platform.node()}"
    said = f"firecv: the checkpoint in 'run' is in use by {who}; wait until it has ended, or give "
    assert (code, out, err) == (1, "", f"{said}another folder\n")
    assert not list((tmp_path / "run").iterdir())


def test_as_json_it_is_json(run):
    code, out, _ = run("digits", *QUICK, "--json", "--algorithm", "fire", "--set", "rule=mixture")
    found = json.loads(out)
    assert code == 0 and found["clients"] == ["client 1", "client 2", "client 3"]
    assert [record["round"] for record in found["records"]] == [0, 1, 2]
    last = found["records"][-1]
    assert found["result"]["test"]["accuracy"] == last["scores"]["test_accuracy"]
    assert found["records"][1]["statistic"] > 0 and found["stopped"] is None


def test_a_checkpoint_is_gone_on_from(run, tmp_path):
    whole = json.loads(run("digits", *QUICK[:4], "--rounds", "4", "--json")[1])
    run("digits", *QUICK, "--checkpoint", "here")
    words = ("digits", *QUICK[:4], "--rounds", "4", "--checkpoint", "here", "--json")
    resumed = json.loads(run(*words)[1])
    assert (tmp_path / "here" / "records.jsonl").is_file()
    assert resumed["result"] == whole["result"]
    for found in (whole, resumed):
        for record in found["records"]:
            record["seconds"] = 0
    assert resumed == whole


def test_ones_own_file(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 2)), columns=["a", "b"])
    frame["site"], frame["ill"] = np.repeat(["A", "B"], 60), (frame["a"] > 0).astype(int)
    frame.to_csv(tmp_path / "own.csv", index=False)
    code, out, _ = run(
        "own.csv", "--target", "ill", "--fragment", "site", "--rounds", "2", "--json"
    )
    assert code == 0 and json.loads(out)["clients"] == ["A", "B"]


@pytest.fixture
def own(tmp_path):
    """Write a table of two sites and a validation file of another law."""
    rng = np.random.default_rng(0)
    for name, n, mean in (("own.csv", 120, 0.0), ("val.csv", 40, 0.5)):
        frame = pd.DataFrame(rng.normal(mean, size=(n, 2)), columns=["a", "b"])
        frame["site"] = np.repeat(["A", "B"], n // 2)
        frame["ill"] = (frame["a"] > 0).astype(int)
        frame.to_csv(tmp_path / name, index=False)
    return ["own.csv", "--target", "ill", "--fragment", "site", "--rounds", "2", "--epochs", "1"]


def test_a_validation_file_and_what_becomes_of_it(run, own):
    code, out, _ = run(*own, "--validation", "val.csv", "--algorithm", "fire")
    assert code == 0
    assert "V and T are the halves of val.csv, class by class, drawn with seed 0: 20 and 20" in out
    assert "V and T are the halves of 20% of the rows of own.csv" in run(*own)[1]


def test_windows_of_time_are_clients(run, own, tmp_path):
    frame = pd.read_csv(tmp_path / "own.csv").drop(columns="site")
    frame.assign(week=np.arange(120) // 40).to_csv(tmp_path / "own.csv", index=False)
    words = ["--time", "week", "--window", "1", "--json"]
    code, out, _ = run(*own[:3], *own[5:], *words)
    assert code == 0 and json.loads(out)["clients"] == ["0", "1", "2"]


def test_the_result_is_kept_in_a_folder(run, own, tmp_path):
    words = ["--validation", "val.csv", "--algorithm", "fire", "--json", "--out", "study"]
    code, out, _ = run(*own, *words)
    kept = json.loads((tmp_path / "study" / "federation.json").read_text())
    assert code == 0 and kept == json.loads(out) and kept["kind"] == "federation"
    assert [len(record["weights"]) for record in kept["records"]] == [2, 2, 2]
    assert "FIRE" in (tmp_path / "study" / "report.html").read_text()


def test_fedavg_is_run_beside_it_and_what_was_changed_is_said(run, own):
    words = [*own, "--validation", "val.csv", "--algorithm", "fire"]
    _, out, _ = run(*words)
    beside, changed, warning = out.splitlines()[-3:]
    assert re.fullmatch(
        r"FedAvg beside it: [0-9.]+ % on test; FIRE has [+-][0-9.]+ points.", beside
    )
    assert changed.startswith("Against FedAvg: weights by likelihood")
    assert "optimistic" in warning
    _, out, _ = run(*words, "--no-baseline")
    assert "beside it" not in out
    assert "Against FedAvg" not in run(*own)[1]


@pytest.mark.parametrize(
    ("labels", "regime"),
    [("server", "labelled_summary"), ("none", "summary"), ("shared", "labelled")],
)
def test_where_labels_are_is_the_regime(run, own, labels, regime):
    words = ["--algorithm", "fire", "--labels", labels, "--json"]
    found = json.loads(run(*own, *words)[1])
    assert found["regime"] == regime and found["baseline"]["algorithm"] == "FedAvg"
    plain = json.loads(run(*own, "--json")[1])
    assert plain["regime"] == "none" and plain["baseline"] is None
    for one, two in zip(found["baseline"]["records"], plain["records"], strict=True):
        assert one["scores"] == two["scores"]


def test_columns_can_be_dropped(run, own):
    whole, less = (json.loads(run(*own, *words, "--json")[1]) for words in ([], ["--drop", "b"]))
    assert less["records"][1]["bytes_up"] < whole["records"][1]["bytes_up"]


def test_the_model_is_kept_and_predicts(run, own, tmp_path):
    words = ["--validation", "val.csv", "--algorithm", "fire", "--rounds", "4", "--out", "study"]
    _, out, err = run(*own, *words, "--json")
    assert "firecv predict study/model FILE" in err
    model = load_trained(tmp_path / "study" / "model")
    frame = pd.read_csv(tmp_path / "val.csv")
    right = (model.predict(frame) == frame["ill"].astype(str)).mean()
    result = json.loads(out)["result"]
    expected = (result["validation"]["accuracy"] + result["test"]["accuracy"]) / 2
    assert right == pytest.approx(expected)  # V and T are the halves of that file
    assert model.facts.regime == "labelled_summary" and set(model.fragment_weights) == {"A", "B"}
    assert "federated fire" in str(model)


def test_clients_with_a_shift_of_their_own(run):
    code, out, _ = run("digits", *QUICK, "--bands", "rotation", "--rule", "median", "--json")
    assert code == 0 and len(json.loads(out)["records"]) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["digts"], "did you mean 'digits'"),
        (["digits", "--algorithm", "fedavgg"], "did you mean 'fedavg'"),
        (["digits", "--set", "local.rat=1"], "did you mean 'rate'"),
        (["digits", "--fragments", "iid:n=99999"], "99999"),
        (["digits", "--fragment", "site"], "site"),
        (["digits", "--rounds", "0"], "n_rounds"),
        (["digits", "--participation", "2"], "participation"),
        (["wine", "--bands", "rotation", "--fragments", "iid:n=3"], "image"),
        (["no.csv", "--target", "ill"], "no.csv"),
        (["digits", "--algorithm", "fire", "--validation", "none"], "--labels none"),
        (["digits", "--processes", "0"], "n_processes"),
        (["own.csv", "--column", "site"], "write --fragment site"),
        (["own.csv", "--validation-data", "val.csv"], "write --validation val.csv"),
        (["own.csv", "--validation", "labelled"], "write --labels server"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "message",
)
def test_mistakes_get_one_sentence_and_no_traceback(run, words, message):
    code, _, err = run(*words)
    assert code == 1
    assert err.startswith("firecv: ") and message in err and "Traceback" not in err
    assert len(err.strip().splitlines()) == 1


def test_a_checkpoint_of_another_run_is_refused(run):
    run("digits", *QUICK, "--checkpoint", "here")
    code, _, err = run("digits", *QUICK, "--checkpoint", "here", "--seed", "1")
    assert code == 1 and "of another run" in err and "give another folder" in err


def test_a_run_of_which_nothing_comes_says_why(run):
    words = ["--set", "local.rate=1e6", "--rounds", "9"]
    code, _, err = run("digits", *QUICK[:4], *words)
    assert code == 1 and "too few clients have answered in the last 5 rounds" in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize("words", [[], ["--help"]], ids=["nothing", "help"])
def test_there_is_help_with_examples(run, words):
    _, out, err = run(*words)
    said = out + err
    assert "Usage" in said
    if words:
        assert "firecv federated simulate digits" in said.split("Examples", 1)[1]


COMMAND = [sys.executable, "-m", "firecv.cli", "federated", "simulate", "digits"]


@pytest.mark.slow
def test_the_real_command_with_processes(tmp_path):
    words = [*COMMAND, *QUICK, "--processes", "2", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [len(record["clients"]) for record in json.loads(done.stdout)["records"]] == [0, 3, 3]


@pytest.mark.slow
def test_an_interruption_leaves_a_checkpoint_to_go_on_from(tmp_path):
    words = [*COMMAND, *QUICK[:4], "--rounds", "100000", "--checkpoint", "here"]
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        # A process started in the background of a shell would be deaf to it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 120
    while len(list((tmp_path / "here").glob("round-*3.json"))) < 1:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in err
    words[words.index("100000")] = "5"
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
