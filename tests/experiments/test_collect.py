import pytest

from firecv.experiments.collect import Holdings
from firecv.experiments.execute import execute
from firecv.experiments.spec import Run
from firecv.experiments.store import Record
from tests.experiments.toys import Toy, toy_table


def held(*runs: Run) -> Holdings:
    return Holdings(record for run in runs if isinstance(record := execute(run), Record))


def test_seeds_come_together_whatever_blocks_they_were_run_in():
    cell = toy_table(n_rows=1, n_seeds=5).cells[0]
    assert cell.setting is not None
    found = held(Run(cell.setting, 3, 2), Run(cell.setting, 0, 2)).columns(cell)
    assert found is not None
    assert list(found["seed"]) == [0, 1, 3, 4]
    expected = cell.setting.measure([0, 1, 3, 4])["accuracy"]
    assert found["accuracy"] == pytest.approx(list(expected))


def test_more_seeds_than_asked_for_are_left_out():
    cell = toy_table(n_rows=1, n_seeds=3).cells[0]
    assert cell.setting is not None
    found = held(Run(cell.setting, 0, 6))
    assert found.columns(cell)["seed"] == [0, 1, 2]
    assert found.columns(cell, n_seeds=5)["seed"] == [0, 1, 2, 3, 4]


def test_a_run_is_there_if_all_its_seeds_are():
    toy = Toy("a")
    found = held(Run(toy, 0, 3), Run(toy, 3, 2))
    assert found.has(Run(toy, 1, 4))
    assert not found.has(Run(toy, 4, 2))
    assert not found.has(Run(Toy("b"), 0, 1))


def test_cells_of_which_nothing_is_known_are_not_measured():
    table = toy_table(n_rows=2)
    assert table.cells[0].setting is not None
    found = held(Run(table.cells[0].setting, 0, 1)).measured(table.cells)
    assert list(found) == [table.cells[0]]
