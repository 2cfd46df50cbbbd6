"""The tables of folds: the paper's rows and columns, and how much there is to run."""

import pytest

from firecv.data import DATASETS
from firecv.experiments.paper.folds import ROWS, fire_table, stcv_table
from firecv.experiments.spec import expand
from firecv.experiments.summary import published


@pytest.mark.parametrize("declared", [stcv_table, fire_table], ids=["stcv", "fire"])
@pytest.mark.parametrize("protocol", ["clean", "paper"])
def test_rows_and_columns_are_the_papers(declared, protocol):
    table = declared(protocol)
    printed = [place for place in published(table.published) if "delta" not in place[1]]
    assert [(cell.row, cell.column) for cell in table.cells] == printed
    assert all(cell.setting.protocol == protocol == table.protocol for cell in table.cells)


def test_rows_are_the_tables_that_the_catalogue_names():
    spelt = {"GermanCredit": "GermmanCredit", "Hepatitis": "Heptatis"}  # as the paper prints them
    for row, dataset in ROWS.items():
        assert spelt.get(row, row) in DATASETS[dataset].folds


def test_columns_show_the_fold_they_name():
    cells = {cell.column: cell for cell in stcv_table("clean").cells if cell.row == "Pima"}
    shown = {column: (cell.setting.n_folds, cell.metric) for column, cell in cells.items()}
    assert shown["baseline"] == (1, "accuracy")
    assert shown["k=2: 2"] == (2, "fold 2")
    assert shown["k=10: 9"] == (10, "fold 9")
    assert shown["k=10: mean"] == (10, "accuracy")


@pytest.mark.parametrize("declared", [stcv_table, fire_table], ids=["stcv", "fire"])
def test_they_expand(declared):
    runs = expand(declared("clean").cells)
    # 20 small tables of one run for each number of folds, and 6 large ones of 1, 2, 4 and 4.
    assert len({run.id for run in runs}) == len(runs) == 20 * 4 + 6 * 11
    assert all(run.setting.n_epochs == 1500 for run in runs)


def test_fire_as_printed_has_the_papers_strength_and_sees_labels():
    assert {
        (c.setting.method, c.setting.strength, c.regime) for c in fire_table("clean").cells
    } == {("fire-paper", 0.1, "labelled")}
