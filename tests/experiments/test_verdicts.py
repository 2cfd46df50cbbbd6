import pytest

from firecv.experiments.kinds.natural import Natural
from firecv.experiments.render.layout import lay_out
from firecv.experiments.spec import Cell, Table
from firecv.experiments.summary import summarise
from firecv.experiments.verdicts import verdicts

CELLS = {
    (row, column): Cell(row, column, Natural("heart_hospitals"), "none", 2)
    for row in ("a", "b")
    for column in ("plain", "ours", "not run")
}


def told(ours_b, *, shown=True):
    """Return what a table of two rows says, one with targets and one without."""
    table = Table(
        "t", "T", "clean", tuple(CELLS.values()), rival="plain", pairing="targets", verdicts=shown
    )
    measured = {
        CELLS["a", "plain"]: {
            "seed": [0, 1], "accuracy": [0.5, 0.6], "target 1": [0.4, 0.6], "target 2": [0.6, 0.6],
        },
        CELLS["a", "ours"]: {  # in another order, as seeds may come
            "seed": [1, 0], "accuracy": [0.61, 0.55], "target 1": [0.64, 0.5],
            "target 2": [0.58, 0.6],
        },
        CELLS["b", "plain"]: {"seed": [0, 1, 2], "accuracy": [0.7, 0.7, 0.9]},
        CELLS["b", "ours"]: {"seed": [0, 1], "accuracy": ours_b},
    }  # fmt: skip
    return summarise(table, measured)


def test_worst_row_and_run_by_hand():
    (found,) = verdicts(told([0.71, 0.68]))
    assert found.column == "ours" and found.n_rows == 2
    assert (found.worst_row, found.worst_place) == ("b", "a")  # a target of seed 1 in row a
    assert found.worst_mean == pytest.approx(-0.5) and found.worst_run == pytest.approx(-2.0)
    assert found.gain == pytest.approx((3.0 - 0.5) / 2)
    assert found.does_no_harm


@pytest.mark.parametrize("ours", [[0.68, 0.69], [0.76, 0.64]])
def test_a_row_below_one_point_or_a_run_below_five_is_harm(ours):
    (found,) = verdicts(told(ours))
    assert not found.does_no_harm
    assert found.text().endswith("does harm.")


def test_it_is_told_beneath_the_table_that_asks_for_it():
    summary = told([0.71, 0.68])
    (found,) = verdicts(summary)
    assert found.text() in lay_out(summary).sentences
    assert found.text() not in lay_out(told([0.71, 0.68], shown=False)).sentences
