"""The table of forms in folds: what is compared, and which runs it shares."""

from dataclasses import replace

import pytest

from firecv.experiments.paper.fold_forms import COLUMNS, table
from firecv.experiments.paper.folds import fire_table, stcv_table
from firecv.experiments.spec import expand


def test_forms_are_tested_against_plain_training_fold_by_fold():
    found = table("clean")
    assert found.rival == "st-CV" and found.pairing == "folds" and len(found.rows) == 26 * 3
    assert found.columns == tuple(COLUMNS) and "st-CV" not in found.tested
    assert all(cell.regime == cell.setting.regime for cell in found.cells)
    assert "Bupa, k=2" in found.rows and "LiverDisorders, k=2" not in found.rows


def test_it_expands():
    # 20 small tables of one run for each number of folds, and 6 large ones of 2, 4 and 4.
    assert len(expand(table("paper").cells)) == (20 * 3 + 6 * 10) * len(COLUMNS)


@pytest.mark.parametrize("declared", [stcv_table, fire_table], ids=["stcv", "fire"])
def test_runs_of_the_foldwise_tables_are_shared(declared):
    runs = {run.id for run in expand(table("clean").cells)}
    kept = [cell for cell in declared("clean").cells if cell.column != "baseline"]
    assert {run.id for run in expand(kept)} <= runs


@pytest.mark.parametrize("column", COLUMNS)
def test_a_tiny_cell_of_every_column_runs(column):
    (cell,) = table("clean").chosen([f"Pima, k=2/{column}"])
    tiny = replace(cell.setting, dataset="wine", n_epochs=3)
    assert 0 <= tiny.measure([0])[cell.metric][0] <= 1
