"""Whatever a file holds, `firecv diagnose` answers or says in a sentence why it cannot."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from firecv import cli
from firecv.diagnose import bound, fisher_distance, network
from firecv.training import Training

NUMBERS = st.sampled_from(
    ["0", "1", "-1.5", "1e5", "1e308", "1e400", "-1e39", "nan", "inf", "-inf", "1_000", "0x1f"]
    + ["١٢", "1,5", " 7 ", "+3", "--2", "", "NA", "?", "1e-320", "9" * 40, "True", "2024-01-31"]
)
TEXTS = st.one_of(st.sampled_from(["a", "b", "c"]), NUMBERS, st.text(max_size=6))
PLAIN = st.floats(-9, 9).map(lambda value: f"{value:.2f}")
NAMES = st.one_of(
    st.sampled_from(["site", "y", "x", "age", "x", "y=a", "missingindicator_x"]),
    st.text(max_size=5),
)


@st.composite
def tables(draw):
    """Return the records of a table, mostly of one width and with the columns asked for."""
    names = [
        "site",
        "y",
        *draw(st.sampled_from([[], ["x"], ["x"]])),
        *draw(st.lists(NAMES, max_size=3)),
    ]
    if draw(st.integers(0, 7)) != 5:
        names = list(dict.fromkeys(name or "x" for name in names))
    kinds = [draw(st.sampled_from([PLAIN, PLAIN, PLAIN, TEXTS, NUMBERS])) for _ in names]
    sane = st.sampled_from("AB"), st.sampled_from("no")
    kinds[0], kinds[1] = draw(st.sampled_from([sane, sane, sane, (TEXTS, TEXTS)]))
    n_rows = draw(st.sampled_from([60, 60, 60, 24, 12, 3, 1, 0]))
    # A column of one law: drawing every cell by itself would take hypothesis too long.
    cells = [draw(st.lists(kind, min_size=2, max_size=12)) for kind in kinds]
    steps = [draw(st.sampled_from([1, 5, 7])) for _ in names]
    rows = [
        [column[(row * step) % len(column)] for column, step in zip(cells, steps, strict=True)]
        for row in range(n_rows)
    ]
    if rows and draw(st.integers(0, 7)) == 5:
        rows[draw(st.integers(0, len(rows) - 1))] = draw(st.lists(TEXTS, max_size=6))
    return [names, *rows]


@st.composite
def contents(draw):
    """Return the bytes of a file that is, more or less, a table."""
    delimiter = draw(st.sampled_from([",", ",", ",", ",", ";", "\t", "|", " "]))
    quote = draw(st.sampled_from(["needed", "needed", "needed", "always", "always", "never"]))

    def written(cell):
        if quote == "never" or (quote == "needed" and not set(cell) & set('",;\t|\r\n ')):
            return cell
        return '"' + cell.replace('"', '""') + '"'

    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    lines = [delimiter.join(map(written, record)) for record in draw(tables())]
    text = draw(st.sampled_from(["", "", "\ufeff"])) + end.join(lines) + end
    found = bytearray(text.encode(draw(st.sampled_from(["utf-8"] * 15 + ["utf-16"])), "replace"))
    if found and draw(st.integers(0, 7)) == 5:
        place = draw(st.integers(0, len(found) - 1))
        found[place : place + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(found)


@st.composite
def cases(draw):
    """Return files by name and the words after `firecv diagnose`."""
    files = {"own.csv": draw(contents())}
    words = ["own.csv", "--target", "y", "--at-most", "10"]
    words += draw(
        st.sampled_from(
            [["--fragment", "site"]] * 4
            + [["--folds", "3"], ["--time", "x", "--window", "2"], ["--fragment", "x"], []]
        )
    )
    held = draw(st.sampled_from(["share", "share", "same", "other"]))
    if held != "share":
        files["new.csv"] = files["own.csv"] if held == "same" else draw(contents())
        words += ["--validation", "new.csv"]
    words += draw(st.sampled_from([[], ["--json"], ["--categorical", "x"], ["--drop", "x"]]))
    return files, words


def written(files, folder):
    for name, content in files.items():
        (Path(folder) / name).write_bytes(content)


def answer(files, words):
    """Return the exit code and all that was said by the command, run in this process."""
    said = io.StringIO()
    arguments, here = sys.argv, Path.cwd()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
    ):
        written(files, folder)
        try:
            os.chdir(folder)
            sys.argv = ["firecv", "diagnose", *words]
            code = cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        finally:
            os.chdir(here)
            sys.argv = arguments
    return code, said.getvalue()


def check(case):
    code, said = answer(*case)
    assert code in (0, 1, 2)
    assert "Traceback" not in said and said.strip()


SETTINGS = settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],  # shrinking runs the slowest cases over and over
    derandomize=True,
)


@settings(SETTINGS, max_examples=100)
@given(cases())
def test_any_file_gets_an_answer_or_a_sentence(case):
    check(case)


@pytest.mark.slow
@settings(SETTINGS, max_examples=2000, derandomize=False)
@given(cases())
def test_any_of_two_thousand_files_gets_an_answer_or_a_sentence(case):
    with pytest.MonkeyPatch.context() as patch:  # what takes the time has no part in reading
        patch.setattr(network, "N_STEPS", 1)
        patch.setattr(bound, "N_STEPS", 1)
        patch.setattr(fisher_distance, "FINE_TUNING", Training(n_epochs=1, optimiser="sgd"))
        check(case)


@pytest.mark.slow
@settings(SETTINGS, max_examples=20)
@given(cases())
def test_any_file_gets_an_answer_or_a_sentence_from_the_command_itself(case):
    files, words = case
    with tempfile.TemporaryDirectory() as folder:
        written(files, folder)
        found = subprocess.run(
            [sys.executable, "-m", "firecv.cli", "diagnose", *words],
            capture_output=True,
            cwd=folder,
            timeout=120,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
    assert found.returncode in (0, 1, 2)
    assert b"Traceback" not in found.stderr + found.stdout
