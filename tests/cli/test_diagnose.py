"""`firecv diagnose` as a person types it, with good and with bad files."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from firecv import cli

ROLES = ["--target", "ill", "--fragment", "site"]
QUICK = [*ROLES, "--validation", "new.csv", "--at-most", "40"]


def patients(seed=0, n=120, gap=0.0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(50, 9, n), "dose": rng.normal(size=n)})
    frame["town"] = rng.choice(["Ulm", "Bonn", "Kiel"], n)
    frame["site"] = np.where(np.arange(n) % 2, "A", "B")
    frame["ill"] = np.where(frame["age"] + rng.normal(0, 9, n) > 50, "yes", "no")
    frame.loc[frame["site"] == "B", "dose"] += gap
    return frame


def both(data, held=None):
    """Write the data and the validation set."""
    data.to_csv("own.csv", index=False)
    (patients(1) if held is None else held).to_csv("new.csv", index=False)


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Return a function that runs the command in an empty folder: exit code, output, messages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "2000")  # so that no sentence is broken

    def run_command(*words):
        monkeypatch.setattr(sys, "argv", ["firecv", "diagnose", *words])
        try:
            code = cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        said = capsys.readouterr()
        return code, said.out, said.err

    return run_command


def test_the_shifted_site_is_named_with_its_feature_and_what_to_do(run):
    both(patients(gap=3.0))
    code, out, err = run("own.csv", *QUICK)
    assert code == 0 and err == ""
    assert "Verdict: shift" in out and "B differs in: dose" in out
    assert "Validation set V: 120 rows with labels." in out
    assert "V's labels are known: worth a trial are pooled" in out


@pytest.mark.parametrize("how", ["absent", "empty"])
def test_a_validation_set_without_labels_is_the_unlabelled_regime(run, how):
    held = patients(1)
    both(patients(gap=3.0), held.drop(columns="ill") if how == "absent" else held.assign(ill=""))
    code, out, _ = run("own.csv", *QUICK)
    assert code == 0 and "120 rows without labels" in out and "V's labels are not known" in out
    code, out, _ = run("own.csv", *QUICK, "--json")
    found = json.loads(out)
    assert found["regime"] == "unlabelled" and found["whole"]["p_value"] is not None
    assert found["fragments"][0]["blank_fisher"] == "no labels of the validation set were given"


def test_json_is_the_contract_of_the_report(run):
    both(patients(gap=3.0).assign(constant=1.0))
    (held := patients(1).assign(constant=2.0)).to_csv("new.csv", index=False)
    code, out, _ = run("own.csv", *QUICK, "--json")
    found = json.loads(out, parse_constant=pytest.fail)
    assert code == 0 and (found["kind"], found["version"]) == ("diagnosis", 1)
    assert found["data"] == {
        "source": "own.csv",
        "fragments": {"A": 60, "B": 60},
        "n_validation": len(held),
        "features": ["age", "dose", "town", "constant"],
    }
    assert found["verdict"] == "shift" and found["shifted"] == ["A", "B"]
    assert set(found["whole"]) == {"statistic", "degrees", "p_value", "alarm", "blank"}
    assert {row["fragment"] for row in found["fragments"]} == {"A", "B"}
    assert len(found["features"]) == 2 * 4 and len(found["pairs"]) == 1
    constant = [row for row in found["features"] if row["feature"] == "constant"]
    assert all(row["difference"] is None and row["ks"] == 1 for row in constant)  # infinite


def test_nothing_is_written_without_being_asked_for(run, tmp_path):
    both(patients())
    assert run("own.csv", *QUICK)[0] == 0
    assert {path.name for path in tmp_path.iterdir()} == {"own.csv", "new.csv"}


def test_a_folder_keeps_the_result_and_a_report(run, tmp_path):
    both(patients())
    code, out, err = run("own.csv", *QUICK, "--json", "--out", "study")
    assert code == 0 and "report.html" in err
    kept = json.loads((tmp_path / "study" / "diagnosis.json").read_text())
    assert kept == json.loads(out)
    assert {path.name for path in (tmp_path / "study").iterdir()} == {
        "diagnosis.json",
        "report.html",
    }


def test_the_same_seed_says_the_same_and_another_looks_at_other_rows(run):
    both(patients())
    first, second, other = (run("own.csv", *QUICK, "--seed", seed)[1] for seed in "001")
    assert first == second != other


def test_without_validation_data_a_fifth_is_held_out_and_said_so(run):
    both(patients())
    code, out, err = run("own.csv", *ROLES)
    assert code == 0 and "share of 0.2 is held out" in err and "V: 24 rows" in out


def nothing():
    pass


def binary():
    with open("own.csv", "wb") as file:
        file.write(bytes(range(256)) * 40)


def latin():
    with open("own.csv", "wb") as file:
        file.write(patients().replace("Ulm", "Köln").to_csv(index=False).encode("latin-1"))


def written(name, content):
    with open(name, "wb") as file:
        file.write(content)


def twice():
    frame = patients().rename(columns={"dose": "age"})
    both(frame)


def parquet():
    both(patients())
    patients().to_parquet("own.parquet")
    with open("own.parquet", "r+b") as file:
        file.truncate(900)


def pickled():
    both(patients())
    np.savez("own.npz", **{name: column.to_numpy(object) for name, column in patients().items()})


def with_cell(column, value, held=None):
    frame = patients().astype({column: object})
    frame.loc[5, column] = value
    return lambda: both(frame, held)


PLAIN = ["own.csv", *QUICK]
CASES = {
    # what is there, what is typed, the exit code, what is said
    "no file": (nothing, PLAIN, 1, "there is no file own.csv"),
    "a folder": (lambda: os.mkdir("own.csv"), PLAIN, 1, "there is no file own.csv"),
    "empty": (lambda: written("own.csv", b""), PLAIN, 1, "is empty"),
    "header only": (lambda: both(patients()[:0]), PLAIN, 1, "has a header and no rows"),
    "binary": (binary, PLAIN, 1, "is not valid UTF-8"),
    "UTF-16": (
        lambda: patients().to_csv("own.csv", index=False, encoding="utf-16-le"),
        PLAIN,
        1,
        "NUL",
    ),
    "latin-1": (latin, PLAIN, 1, "is not valid UTF-8"),
    "no target": (
        lambda: both(patients().rename(columns={"ill": "ills"})),
        PLAIN,
        1,
        "did you mean 'ills'?",
    ),
    "no fragment": (
        lambda: both(patients().rename(columns={"site": "sites"})),
        PLAIN,
        1,
        "did you mean 'sites'?",
    ),
    "one class": (lambda: both(patients().assign(ill="yes")), PLAIN, 1, "only the class 'yes'"),
    "gap in the target": (with_cell("ill", ""), PLAIN, 1, "missing in 1 of 120 rows"),
    "infinite": (with_cell("age", "inf"), PLAIN, 1, "infinite in row 6"),
    "too large": (with_cell("age", "1e300"), PLAIN, 1, "beyond float32"),
    "gap in the fragment": (with_cell("site", ""), PLAIN, 1, "missing for 1 of 120"),
    "text among numbers": (with_cell("age", "old"), PLAIN, 1, "row 6 has 'old'"),
    "V lacks a column": (
        lambda: both(patients(), patients(1).drop(columns="dose")),
        PLAIN,
        1,
        "lacks the columns ['dose']",
    ),
    "V has another column": (
        lambda: both(patients(), patients(1).assign(extra=1)),
        PLAIN,
        1,
        "has the columns ['extra']",
    ),
    "V has another class": (
        lambda: both(patients(), patients(1).replace("yes", "maybe")),
        PLAIN,
        1,
        "has the class 'maybe'",
    ),
    "V is small": (lambda: both(patients(), patients(1, n=9)), PLAIN, 1, "has 9 rows"),
    "no V": (
        lambda: patients().to_csv("own.csv", index=False),
        PLAIN,
        1,
        "there is no file new.csv",
    ),
    "one name for two columns": (twice, PLAIN, 1, "more than once"),
    "damaged parquet": (parquet, ["own.parquet", *QUICK], 1, "'own.parquet' is damaged"),
    "damaged npz": (
        lambda: written("own.npz", b"PK\3\4 no more"),
        ["own.npz", *QUICK],
        1,
        "'own.npz' is damaged",
    ),
    "pickled npz": (pickled, ["own.npz", *QUICK], 1, "never loaded"),
    "unknown ending": (lambda: written("own.xls", b"x"), ["own.xls", *QUICK], 1, "must end in"),
    "share above 1": (
        lambda: both(patients()),
        ["own.csv", *ROLES, "--validation", "1.5"],
        1,
        "share in (0, 1)",
    ),
    "share of 0": (
        lambda: both(patients()),
        ["own.csv", *ROLES, "--validation", "0"],
        1,
        "share in (0, 1)",
    ),
    "folds and sites": (lambda: both(patients()), [*PLAIN, "--folds", "3"], 1, "leave one of them"),
    "more folds than rows": (
        lambda: both(patients().drop(columns="site")),
        ["own.csv", "--target", "ill", "--folds", "90"],
        1,
        "ask for",
    ),
    "no folds": (lambda: both(patients()), [*PLAIN, "--folds", "0"], 2, "--folds"),
    "few rows to look at": (lambda: both(patients()), [*PLAIN, "--at-most", "9"], 2, "--at-most"),
    "unknown option": (lambda: both(patients()), [*PLAIN, "--site", "x"], 2, "--site"),
    "target unsaid": (lambda: both(patients()), ["own.csv"], 2, "--target"),
    "level of 1": (lambda: both(patients()), [*PLAIN, "--level", "1"], 1, "level is 1"),
    "window without time": (
        lambda: both(patients()),
        [*PLAIN, "--window", "month"],
        1,
        "give both",
    ),
    "window of no width": (
        lambda: both(patients().drop(columns="site")),
        ["own.csv", "--target", "ill", "--time", "age", "--window", "nan"],
        1,
        "above 0 and finite",
    ),
    "a file for a folder": (
        lambda: (both(patients()), written("study", b"x")),
        [*PLAIN, "--out", "study"],
        1,
        "study",
    ),
    # what may look bad and is not
    "a site of one row": (
        lambda: both(patients().assign(site=["C"] + ["A", "B"] * 59 + ["A"])),
        PLAIN,
        0,
        "",
    ),
    "only constants": (
        lambda: both(*(patients(seed).assign(age=1, dose=2, town="Ulm") for seed in (0, 1))),
        PLAIN,
        0,
        "",
    ),
    "gaps in inputs": (lambda: both(patients().mask(lambda f: f == "Ulm")), PLAIN, 0, ""),
    "a name for each row": (
        lambda: both(*(patients(s).assign(town=[f"t{i}" for i in range(120)]) for s in (0, 1))),
        PLAIN,
        0,
        "",
    ),
}


def assert_said_well(code, out, err, case):
    _, _, wanted, words = CASES[case]
    assert code == wanted, err
    assert "Traceback" not in err + out
    # A box that is drawn around a usage error cuts lines.
    assert words in " ".join(err.replace("│", " ").split())
    if code == 1:
        assert out == "" or "--out" in CASES[case][1]
        (line,) = [each for each in err.splitlines() if "is held out" not in each]
        assert line.startswith("firecv: ")
    if code == 0:
        assert "Verdict: " in out and err == ""


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_told_in_a_sentence(run, case):
    make, words, *_ = CASES[case]
    make()
    assert_said_well(*run(*words), case)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_told_in_a_sentence_by_the_command_itself(monkeypatch, tmp_path, case):
    make, words, *_ = CASES[case]
    monkeypatch.chdir(tmp_path)
    make()
    found = subprocess.run(
        [sys.executable, "-m", "firecv.cli", "diagnose", *words],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "COLUMNS": "200", "OMP_NUM_THREADS": "1"},
    )
    assert_said_well(found.returncode, found.stdout, found.stderr, case)
