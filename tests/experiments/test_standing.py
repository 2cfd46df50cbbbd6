from dataclasses import replace
from pathlib import Path

import pytest

from firecv.experiments.collect import Holdings
from firecv.experiments.runner import carry_out
from firecv.experiments.spec import expand
from firecv.experiments.standing import results_folder, summary_of, todo
from firecv.experiments.store import Store
from tests.experiments.toys import Toy, toy_table


def test_a_table_lacks_what_is_not_stored(tmp_path: Path):
    table, store = toy_table(n_seeds=4, cost=2.0), Store(tmp_path)
    first = todo(table, Holdings([]))
    assert (len(first.runs), first.n_done, first.seconds) == (8, 0, 32.0)
    carry_out(first.runs[:3], store, progress=False)
    second = todo(table, Holdings.of(store))
    assert (len(second.runs), second.n_done) == (5, 3)
    assert second.seconds < 1  # now that it is known what a toy takes


def test_what_cannot_be_run_is_blank_with_the_reason(monkeypatch: pytest.MonkeyPatch):
    table = toy_table(n_rows=1)
    without = replace(table.cells[0], setting=None, why="no such data")
    monkeypatch.setattr(Toy, "missing", lambda self: "toys are not at hand")
    found = todo(replace(table, cells=(without, table.cells[1])), Holdings([]))
    assert found.runs == ()
    assert list(found.blank.values()) == ["no such data", "toys are not at hand"]


def test_a_summary_takes_what_there_is(tmp_path: Path):
    table, store = toy_table(n_rows=1, n_seeds=12), Store(tmp_path)
    carry_out(expand(table.cells), store, progress=False)
    plain, better = summary_of(table, Holdings.of(store)).cells
    assert plain.n_held == better.n_held == 12
    assert better.against is not None
    assert better.against.effect.points == pytest.approx(20.0)  # the same draws, moved
    assert summary_of(table, Holdings.of(store), n_seeds=5).cells[0].n_held == 5


def test_results_are_where_the_user_says(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("FIRECV_RESULTS", raising=False)
    assert results_folder() == Path("results")
    monkeypatch.setenv("FIRECV_RESULTS", "/somewhere")
    assert results_folder() == Path("/somewhere")
    assert results_folder(Path("here")) == Path("here")
