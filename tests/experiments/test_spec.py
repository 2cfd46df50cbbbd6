import dataclasses
import math

import pytest

from firecv.errors import DataError
from firecv.experiments.kinds import Federation
from firecv.experiments.kinds.federated_methods import FederatedMethod
from firecv.experiments.spec import Run, expand, in_columns
from tests.experiments.toys import Toy, toy_table


def test_first_seeds_of_all_cells_come_before_the_second():
    runs = expand(toy_table(n_rows=2, n_seeds=5).cells)
    assert [run.first for run in runs] == [0] * 4 + [2] * 4 + [4] * 4
    assert [run.n for run in runs] == [2] * 8 + [1] * 4


def test_a_run_is_named_by_all_it_depends_on():
    base = Run(Toy("a"), 0, 2)
    others = [
        Run(Toy("b"), 0, 2),
        Run(Toy("a", 0.6), 0, 2),
        Run(Toy("a"), 2, 2),
        Run(Toy("a"), 0, 1),
    ]
    assert len({run.id for run in [base, *others]}) == 5
    assert base.id == Run(Toy("a"), 0, 2).id


def test_a_recipe_that_changes_gives_runs_another_name(monkeypatch: pytest.MonkeyPatch):
    before = Run(Toy("a"), 0, 2).id
    monkeypatch.setattr(Toy, "recipe", 2)
    assert Run(Toy("a"), 0, 2).id != before


def test_settings_without_a_value_leave_the_name_as_it_was():
    assert "fault" not in Run(Toy("a"), 0, 2).text
    assert "fault" in Run(Toy("a", fault="x"), 0, 2).text


def test_settings_within_settings_without_a_value_are_left_out_too():
    text = Run(Federation("digits", "iid", FederatedMethod(every=3)), 0, 1).text
    assert '"every":3' in text
    assert "n_numbers" not in text


def test_cells_that_share_runs_run_them_once():
    table = toy_table(n_rows=1)
    again = dataclasses.replace(table.cells[0], column="same", metric="log_loss")
    assert len(expand([*table.cells, again])) == len(expand(table.cells))


@pytest.mark.parametrize(
    ("patterns", "expected"), [([], 4), (["row 1/*"], 2), (["ROW 0"], 2), (["*/better"], 2)]
)
def test_cells_are_chosen_by_row_and_column(patterns, expected):
    assert len(toy_table().chosen(patterns)) == expected


def test_a_pattern_that_fits_nothing_says_what_there_is():
    with pytest.raises(DataError, match=r"no cell .* rows row 0, row 1 and columns plain, better"):
        toy_table().chosen(["row 7/*"])


def test_thousands_of_cells_expand_at_once():
    assert len(expand(toy_table(n_rows=2000, n_seeds=10).cells)) == 20_000


def test_columns_are_as_long_as_the_seeds():
    found = in_columns(range(2), [{"a": 1 / 3, "b": math.nan}, {"a": 1.0, "b": 0.0}])
    assert found["seed"] == [0, 1] and found["a"] == [0.333333, 1.0] and math.isnan(found["b"][0])
