"""The table of selection bias: the paper's rows and columns, and how much there is to run."""

from dataclasses import replace

import pytest

from firecv.experiments.paper.selection import COLUMNS, table
from firecv.experiments.spec import expand
from firecv.experiments.summary import published


@pytest.mark.parametrize("protocol", ["clean", "paper"])
def test_the_papers_cells_are_there(protocol):
    found = table(protocol)
    places = {(cell.row, cell.column) for cell in found.cells}
    assert {place for place in published("selection") if place[1] != "delta"} <= places
    assert len(places) == len(found.cells) == 10 * len(COLUMNS)
    assert all(cell.setting.protocol == protocol for cell in found.cells)
    assert all(cell.regime == cell.setting.regime for cell in found.cells)


def test_both_targets_are_shown():
    rows = {cell.row: cell.setting.target for cell in table("clean").cells}
    assert rows["heart"] == "complement" and rows["heart, unbiased target"] == "unbiased"


def test_it_expands():
    # Eight columns of one run, and two of four runs of 25 seeds.
    assert len(expand(table("clean").cells)) == 10 * (8 + 2 * 4)


@pytest.mark.parametrize("column", COLUMNS)
def test_a_tiny_cell_of_every_column_runs(column):
    (cell,) = table("clean").chosen([f"heart/{column}"])
    tiny = replace(cell.setting, dataset="breast_cancer", n_epochs=3)
    assert 0 <= tiny.measure([0])[cell.metric][0] <= 1
