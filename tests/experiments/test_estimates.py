import pytest

from firecv.experiments.estimates import Estimates, most_telling
from firecv.experiments.spec import Run
from firecv.experiments.store import Record
from tests.experiments.toys import Toy, toy_table


def record(run: Run, seconds: float) -> Record:
    return Record(run.id, run.text, {"seed": list(run.seeds)}, seconds, 1.0, {}, "now")


def test_finished_runs_say_what_others_take():
    known, other = Run(Toy("a", cost=1.0), 0, 2), Run(Toy("b", cost=3.0), 0, 1)
    estimates = Estimates.of([record(known, 8.0)], [known.setting, other.setting])
    assert estimates.seconds(Run(Toy("a", cost=1.0), 2, 3)) == 12.0  # four seconds a seed
    assert estimates.seconds(other) == 12.0  # four times its guess


def test_without_finished_runs_the_guess_counts():
    assert Estimates.of([], []).seconds(Run(Toy("a", cost=2.5), 0, 2)) == 5.0


def test_a_budget_takes_first_seeds_and_tested_cells_first():
    cells = toy_table(n_rows=2, n_seeds=6, cost=1.0).cells
    chosen = most_telling(cells, ["better"], set(), Estimates.of([], []), seconds=10.0)
    names = [(run.setting.name, run.first) for run in chosen]  # pyright: ignore
    assert names == [("0better", 0), ("1better", 0), ("0plain", 0), ("1plain", 0), ("0better", 2)]


def test_a_budget_keeps_each_cells_seeds_in_order():
    cells = toy_table(n_rows=3, n_seeds=11, cost=0.1).cells
    firsts: dict[str, list[int]] = {}
    for run in most_telling(cells, [], set(), Estimates.of([], []), seconds=2.0):
        firsts.setdefault(run.setting.name, []).append(run.first)  # pyright: ignore
    assert all(found == sorted(found) for found in firsts.values())


@pytest.mark.parametrize("seconds", [0.0, 3.5, 1e9])
def test_a_budget_is_kept(seconds: float):
    cells, estimates = toy_table(cost=1.0).cells, Estimates.of([], [])
    chosen = most_telling(cells, ["better"], set(), estimates, seconds)
    assert sum(map(estimates.seconds, chosen)) <= seconds
    if seconds > 1e6:
        assert len(chosen) == 12
