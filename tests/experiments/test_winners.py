import numpy as np
import pytest

from firecv.experiments.pairs import compare, read_values
from firecv.experiments.spec import Cell, Table
from firecv.experiments.winners import LOWER_IS_BETTER, find_winners
from firecv.models import scores

NOISE = np.random.default_rng(0).normal(size=12)


def winners(cells, rival="a", metric="accuracy", n=12):
    """Find the winners of one row, given regime and mean of each column."""
    table_cells = [
        Cell("row", column, None, regime, n, metric=metric) for column, (regime, _) in cells.items()
    ]
    means = [mean for _, mean in cells.values()]
    values = {
        cell: read_values(
            {"seed": range(n), metric: mean + 0.001 * np.roll(NOISE, i)[:n]}, metric, 1.0, "seeds"
        )
        for i, (cell, mean) in enumerate(zip(table_cells, means, strict=True))
        if mean is not None
    }
    table = Table("t", "T", "clean", tuple(table_cells), rival=rival)
    return {won.regime: won for won in find_winners(table, values)}, values


def test_each_regime_is_won_by_the_best_that_sees_at_most_as_much():
    cells = {
        "a": ("none", 0.5),
        "b": ("unlabelled", 0.6),
        "c": ("labelled_summary", 0.7),
        "d": ("labelled", 0.65),
        "e": ("summary", 0.4),
    }
    found, _ = winners(cells)
    assert {regime: (won.column, won.runner_up) for regime, won in found.items()} == {
        "none": ("a", ""),
        "summary": ("a", "e"),
        "labelled_summary": ("c", "a"),
        "unlabelled": ("b", "a"),
        "labelled": ("c", "d"),
    }
    assert found["none"].beyond_noise is None and found["unlabelled"].beyond_noise is True


def test_a_gap_within_noise_is_said_to_be():
    found, values = winners({"a": ("none", 0.5), "b": ("none", 0.5001)})
    (won,) = found.values()
    assert won.beyond_noise is False
    a, b = values.values()
    first, second = (b, a) if won.column == "b" else (a, b)
    assert won.comparison == compare(first, second, "seeds")


def test_the_same_two_in_two_regimes_are_one_test():
    found, _ = winners({"a": ("none", 0.6), "b": ("none", 0.5), "c": ("summary", 0.4)})
    for regime in ("none", "summary"):
        assert (found[regime].column, found[regime].runner_up) == ("a", "b")
        assert found[regime].p_holm == found[regime].comparison.p_value


def test_different_tests_are_corrected_for_their_number():
    found, _ = winners({"a": ("none", 0.5), "b": ("summary", 0.6), "c": ("summary", 0.55)})
    assert found["none"].p_holm is None
    found, _ = winners({"a": ("none", 0.5), "b": ("none", 0.6), "c": ("summary", 0.7)})
    assert found["none"].p_holm == pytest.approx(2 * found["none"].comparison.p_value)


@pytest.mark.parametrize(("metric", "best"), [("accuracy", "b"), ("log_loss", "a")])
def test_less_is_better_for_losses(metric, best):
    found, _ = winners({"a": ("none", 0.5), "b": ("none", 0.6)}, metric=metric)
    assert found["none"].column == best


def test_a_cell_with_fewer_seeds_does_not_compete():
    found, values = winners({"a": ("none", 0.5), "b": ("none", 0.6), "c": ("none", 0.4)})
    assert found["none"].column == "b"
    cells = {cell.column: cell for cell in values}
    half = {"seed": range(6), "accuracy": [0.6] * 6}
    fewer = {**values, cells["b"]: read_values(half, "accuracy", 1.0, "seeds")}
    table = Table("t", "T", "clean", tuple(values), rival="a")
    (won,) = find_winners(table, fewer)
    assert (won.column, won.runner_up) == ("a", "c")


def test_nobody_wins_by_what_a_run_took():
    assert winners({"a": ("none", 1.0), "b": ("none", 2.0)}, metric="bytes")[0] == {}


def test_nothing_is_tested_with_nine_seeds():
    found, _ = winners({"a": ("none", 0.5), "b": ("none", 0.6)}, n=9)
    assert found["none"].column == "b" and found["none"].beyond_noise is None


def test_blank_cells_do_not_compete_and_tables_without_rival_have_no_winners():
    found, _ = winners({"a": ("none", 0.5), "b": ("labelled", None)})
    assert list(found) == ["none"]
    assert winners({"a": ("none", 0.5)}, rival="")[0] == {}


def test_less_is_better_for_the_scores_that_say_so():
    assert scores.LOWER_IS_BETTER | {"triggered"} == LOWER_IS_BETTER
