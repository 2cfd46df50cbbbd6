import json
import os

import pytest

from firecv.compare import carry_out as module
from firecv.compare.carry_out import FILE, carry_out, read_kept
from firecv.compare.entries import parse
from firecv.compare.measure import Cell, Measured
from firecv.compare.prepare import prepare
from firecv.compare.settings import Settings
from firecv.errors import InUseError
from tests.compare.worlds import without_shift

TINY = Settings((4,), 2, 32, 0.003)


@pytest.fixture(scope="module")
def prepared():
    return prepare(without_shift(n=30, n_val=20), None, 0)


@pytest.fixture
def calls(monkeypatch):
    """Count trainings, none of which is done."""
    done = []

    def measure(cell, prepared):
        done.append(cell)
        return Measured({"accuracy": 1 / 3 + cell.seed, "auc": float("nan")}, notices=("few",))

    monkeypatch.setattr(module, "measure", measure)
    return done


def cells(n_seeds=3, settings=TINY):
    entries = [parse("erm"), parse("iwerm")]
    return [Cell(entry, seed, "clean", settings) for seed in range(n_seeds) for entry in entries]


def test_what_is_kept_is_not_done_again(prepared, calls, tmp_path):
    first = carry_out(cells(2), prepared, folder=tmp_path)
    assert calls == cells(2)
    again = carry_out(cells(3), prepared, folder=tmp_path)
    assert calls[4:] == cells(3)[4:]
    assert list(again) == cells(3)
    assert all(str(again[cell]) == str(first[cell]) for cell in first)


def test_other_settings_are_other_trainings(prepared, calls, tmp_path):
    carry_out(cells(1), prepared, folder=tmp_path)
    carry_out(cells(1, Settings((5,), 2, 32, 0.003)), prepared, folder=tmp_path)
    assert len(calls) == 4


@pytest.mark.parametrize("n_cut", [1, 2, 30], ids=str)
def test_a_line_that_was_cut_short_is_done_again_and_hurts_no_other(
    prepared, calls, tmp_path, n_cut
):
    whole = carry_out(cells(), prepared, folder=tmp_path)
    file = tmp_path / FILE
    file.write_bytes(file.read_bytes()[:-n_cut])
    calls.clear()
    assert str(carry_out(cells(), prepared, folder=tmp_path)) == str(whole)
    assert calls == ([] if n_cut == 1 else cells()[-1:])  # without its newline a line is whole
    calls.clear()
    carry_out(cells(4), prepared, folder=tmp_path)
    assert calls == cells(4)[-2:]


@pytest.mark.parametrize("line", ["", "{}", "[1]", '{"id": "a", "scores": 3}', "\x00", "null"])
def test_strange_lines_do_not_count(tmp_path, line):
    (tmp_path / FILE).write_text(line + "\n")
    assert read_kept(tmp_path / FILE) == {}


def test_lasting_failures_are_kept_and_others_tried_again(prepared, tmp_path, monkeypatch):
    def measure(cell, prepared):
        return Measured({}, "it failed", lasts=cell.entry.name == "erm")

    monkeypatch.setattr(module, "measure", measure)
    carry_out(cells(1), prepared, folder=tmp_path)
    (line,) = (tmp_path / FILE).read_text().splitlines()
    assert (json.loads(line)["method"], json.loads(line)["failed"]) == ("erm", "it failed")


def test_a_stop_leaves_what_is_done(prepared, tmp_path, monkeypatch):
    def measure(cell, prepared):
        if cell.seed == 1:
            raise KeyboardInterrupt
        return Measured({"accuracy": 0.5})

    monkeypatch.setattr(module, "measure", measure)
    with pytest.raises(KeyboardInterrupt):
        carry_out(cells(), prepared, folder=tmp_path)
    assert len(read_kept(tmp_path / FILE)) == 2


def test_a_second_comparison_in_a_folder_is_refused_while_one_runs(prepared, tmp_path, monkeypatch):
    def measure(cell, prepared):
        with pytest.raises(
            InUseError, match=f"comparison in .* is in use by process {os.getpid()} on"
        ):
            carry_out(cells(), prepared, folder=tmp_path)
        return Measured({"accuracy": 0.5})

    monkeypatch.setattr(module, "measure", measure)
    assert len(carry_out(cells(), prepared, folder=tmp_path)) == 6
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_without_a_folder_nothing_is_written(prepared, calls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    carry_out(cells(1), prepared)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_two_processes_find_the_same_as_one(prepared):
    assert carry_out(cells(), prepared, n_jobs=2) == carry_out(cells(), prepared)
