"""The sweep of strengths: what is varied, and what is not."""

from dataclasses import replace

from firecv.experiments.paper.selection import ROWS
from firecv.experiments.paper.selection import table as selection_table
from firecv.experiments.paper.strengths import STRENGTHS, table
from firecv.experiments.spec import expand


def test_rows_differ_in_nothing_but_method_and_strength():
    found = table("clean")
    assert found.rows[: len(ROWS)] == tuple(ROWS) and len(found.rows) == len(ROWS) + 2
    for row in found.rows:
        cells = [cell for cell in found.cells if cell.row == row]
        plain = cells[0].setting
        swept = {(cell.setting.method, cell.setting.strength) for cell in cells[1:]}
        assert swept == {(m, s) for m in ("fire-paper", "fire-trace") for s in STRENGTHS}
        for cell in cells:
            same = replace(cell.setting, method="erm", regime="none", strength=None)
            assert same == plain


def test_columns_name_the_strength():
    columns = {cell.column: cell.setting.strength for cell in table("paper").cells}
    assert columns["FIRE (paper) 0.01"] == 0.01
    assert columns["FIRE trace 1"] == 1.0


def test_it_expands_and_shares_runs_with_the_table_of_selection_bias():
    runs = {run.id for run in expand(table("clean").cells)}
    assert len(runs) == 7 * (1 + 2 * len(STRENGTHS))
    shared = [c for c in selection_table("clean").cells if c.column in ("ERM", "FIRE (paper)")]
    assert len(runs & {run.id for run in expand(shared)}) == 2 * len(ROWS)
