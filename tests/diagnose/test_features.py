import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ecdf

from firecv.diagnose import features
from firecv.diagnose.features import feature_shifts, ks, mean_differences
from firecv.diagnose.fragments import compare
from firecv.diagnose.inputs import Feature
from firecv.seeding import derive

NAMES = tuple(Feature(name, (at,), (name,)) for at, name in enumerate("abcd"))


def shifts(change, n=300, seed=0, features=NAMES):
    rng = derive(seed, "features")
    fragment, held = rng.normal(size=(2, n, 4))
    change(fragment)
    found = compare("A", fragment, held, seed=seed, at_most=10_000)
    return feature_shifts("A", features, found, derive(seed, "shuffles"))


def moved(x):
    x[:, 2] += 1


def spread(x):
    x[:, 1] *= 3


@pytest.mark.parametrize(("change", "name"), [(moved, "c"), (spread, "b")])
def test_the_shifted_feature_comes_first(change, name):
    first, *others = shifts(change)
    assert first.feature == name
    assert first.importance.low > 0.03
    assert first.ks > 2 * max(each.ks for each in others)
    assert max(each.importance.mean for each in others) < first.importance.mean / 5


def test_only_a_shift_of_the_mean_is_a_mean_difference():
    by_mean, by_spread = shifts(moved)[0], shifts(spread)[0]
    assert by_mean.difference.low > 0.6
    assert by_spread.difference.low < 0 < by_spread.difference.high


def test_features_beyond_the_most_shuffled_have_no_importance_and_come_last(monkeypatch):
    monkeypatch.setattr(features, "MOST_FEATURES", 2)
    found = shifts(moved, n=60)
    assert found[0].feature == "c"
    assert [math.isnan(each.importance.mean) for each in found] == [False, False, True, True]


def test_blocks_of_shuffled_rows_change_nothing(monkeypatch):
    whole = shifts(moved, n=60)
    monkeypatch.setattr(features, "BLOCK", 1)
    assert shifts(moved, n=60) == whole


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=20),
    st.lists(st.integers(0, 6), min_size=1, max_size=20),
)
def test_the_gap_is_that_of_two_distribution_functions(a, b):
    x, y = np.array(a, float), np.array(b, float)
    at = np.arange(7.0)
    expected = np.abs(ecdf(x).cdf.evaluate(at) - ecdf(y).cdf.evaluate(at)).max()
    assert ks(x, y) == pytest.approx(expected)


@pytest.mark.parametrize(("value", "expected"), [(3.0, 0.0), (5.0, math.inf), (-1.0, -math.inf)])
def test_constants_are_equal_or_infinitely_apart(value, expected):
    assert mean_differences(np.full((5, 1), value), np.full((7, 1), 3.0))[0].mean == expected


def test_intervals_of_mean_differences_hold_the_truth():
    rng = derive(0, "differences")
    held = 0
    for _ in range(500):
        (found,) = mean_differences(rng.normal(0.5, 1, (60, 1)), rng.normal(0, 1, (40, 1)))
        held += found.low <= 0.5 <= found.high
    assert 0.92 < held / 500 < 0.98


def test_a_feature_of_several_columns_is_one_feature():
    town = Feature("town", (1, 2), ("town=Ulm", "town=Bonn"))
    first, *others = shifts(moved, features=[NAMES[0], town, NAMES[3]])
    assert (first.feature, first.column) == ("town", "town=Bonn")
    assert {each.feature for each in others} == {"a", "d"}
    alone = next(each for each in shifts(moved) if each.feature == "c")
    assert (first.ks, first.difference) == (alone.ks, alone.difference)
    assert first.importance.mean == pytest.approx(alone.importance.mean, abs=0.05)


def test_columns_of_a_feature_are_shuffled_together():
    def doubly(x):  # either column stands in for the other if that one alone is shuffled
        x[:, 1:3] += 1

    both = Feature("both", (1, 2), ("b", "c"))
    alone = {each.feature: each.importance.mean for each in shifts(doubly)}
    first, *_ = shifts(doubly, features=[NAMES[0], both, NAMES[3]])
    assert first.importance.mean > 1.3 * max(alone["b"], alone["c"])
