"""The table of forms in folds: what is compared, and which runs it shares."""

from dataclasses import replace

import pytest

from firecv.experiments.paper.fold_forms import COLUMNS, LEFT_OUT, K, table
from firecv.experiments.paper.folds import ROWS, fire_table, stcv_table
from firecv.experiments.spec import expand


def test_forms_are_tested_against_plain_training_fold_by_fold():
    found = table("clean")
    assert found.rival == "st-CV" and found.pairing == "folds" and len(found.rows) == 20
    assert found.columns == tuple(COLUMNS) and "st-CV" not in found.tested
    assert all(cell.regime == cell.setting.regime for cell in found.cells)
    assert "Bupa" in found.rows and not set(LEFT_OUT) & set(found.rows)
    assert set(LEFT_OUT) < set(ROWS)


def test_it_expands():
    assert len(expand(table("paper").cells)) == 20 * len(COLUMNS)  # each of one run


@pytest.mark.parametrize("declared", [stcv_table, fire_table], ids=["stcv", "fire"])
def test_runs_of_the_foldwise_tables_are_shared(declared):
    runs = {run.id for run in expand(table("clean").cells)}
    kept = [
        cell
        for cell in declared("clean").cells
        if cell.column == f"k={K}: mean" and cell.row not in LEFT_OUT
    ]
    assert kept and {run.id for run in expand(kept)} <= runs


@pytest.mark.parametrize("column", COLUMNS)
def test_a_tiny_cell_of_every_column_runs(column):
    (cell,) = table("clean").chosen([f"Pima/{column}"])
    tiny = replace(cell.setting, dataset="wine", n_epochs=3)
    assert 0 <= tiny.measure([0])[cell.metric][0] <= 1
