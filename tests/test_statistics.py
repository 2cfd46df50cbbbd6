from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from firecv.errors import DataError
from firecv.statistics import corrected_t, effect, holm, mean_interval, paired_wilcoxon

SLEEP = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]  # Student, 1908
numbers = st.floats(-100, 100).map(lambda x: round(x, 6))
shares = st.integers(0, 20).map(lambda x: x / 20)  # many ties and zeros


def test_sleep_data_give_the_published_interval_and_t():
    assert mean_interval(SLEEP) == pytest.approx((1.58, 0.7001142, 2.4598858), abs=1e-7)
    found = corrected_t(SLEEP, 9, 0)
    assert found.statistic == pytest.approx(4.0621, abs=5e-5)
    assert found.p_value == pytest.approx(0.002833, abs=5e-7)


@settings(max_examples=40, deadline=None)
@given(st.lists(numbers, min_size=2, max_size=30), st.floats(0.5, 0.99))
def test_interval_is_that_of_scipy(values, level):
    mean, low, high = mean_interval(values, level)
    assert low <= mean <= high
    if np.ptp(values) > 1e-6:
        expected = stats.t.interval(level, len(values) - 1, np.mean(values), stats.sem(values))
        assert (low, high) == pytest.approx(expected)


def test_intervals_hold_the_mean_as_often_as_they_say():
    draws = np.random.default_rng(0).normal(3.0, 2.0, (2000, 5))
    held = [low <= 3.0 <= high for _, low, high in map(mean_interval, draws.tolist())]
    assert np.mean(held) == pytest.approx(0.95, abs=0.015)


def test_a_single_value_has_no_interval():
    mean, low, high = mean_interval([0.7])
    assert mean == 0.7 and np.isnan(low) and np.isnan(high)


def signed_rank_by_enumeration(a, b):
    """Pratt's signed ranks with every choice of signs written out."""
    difference = [round(x - y, 9) for x, y in zip(a, b, strict=True)]
    ranks = stats.rankdata(np.abs(difference))
    ranks = [rank for rank, d in zip(ranks, difference, strict=True) if d]
    signs = [d > 0 for d in difference if d]
    up = sum(r for r, s in zip(ranks, signs, strict=True) if s)
    least = min(up, sum(ranks) - up)
    sums = [sum(np.compress(choice, ranks)) for choice in product([0, 1], repeat=len(ranks))]
    return min(1.0, 2 * np.mean([total <= least + 1e-9 for total in sums]))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(shares, shares), min_size=10, max_size=10))
def test_wilcoxon_counts_out_ties_and_zeros(pairs):
    a, b = zip(*pairs, strict=True)
    assert paired_wilcoxon(a, b).p_value == pytest.approx(signed_rank_by_enumeration(a, b))


@pytest.mark.parametrize("n", [10, 25, 50])
def test_wilcoxon_without_ties_is_the_exact_one_of_scipy(n):
    a, b = np.random.default_rng(n).normal(0.3, 1, (2, n))
    expected = stats.wilcoxon(a, b, method="exact")
    assert paired_wilcoxon(a, b) == pytest.approx((expected.statistic, expected.pvalue))


@pytest.mark.parametrize("steps", [5, 1000])
def test_wilcoxon_of_many_pairs_is_the_normal_one_of_scipy(steps):
    a, b = np.random.default_rng(steps).integers(0, steps, (2, 100)) / steps
    expected = stats.wilcoxon(np.round(a - b, 9), zero_method="pratt", method="asymptotic")
    assert paired_wilcoxon(a, b) == pytest.approx((expected.statistic, expected.pvalue))


def test_wilcoxon_is_about_the_same_where_counting_gives_way_to_the_normal_law():
    a, b = np.random.default_rng(1).integers(0, 20, (2, 50)) / 20 + np.array([[0.1], [0.0]])
    normal = stats.wilcoxon(np.round(a - b, 9), zero_method="pratt", method="asymptotic")
    assert paired_wilcoxon(a, b).p_value == pytest.approx(normal.pvalue, rel=0.03)


def test_wilcoxon_is_symmetric_and_sees_through_rounding():
    a = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 1.0]
    b = [value - 0.1 for value in a]  # ten times the same gain, but for rounding
    assert len({x - y for x, y in zip(a, b, strict=True)}) > 1
    assert paired_wilcoxon(a, b) == (0.0, 2 / 2**10) == paired_wilcoxon(b, a)


def test_wilcoxon_of_the_same_values_finds_nothing():
    assert paired_wilcoxon(SLEEP, SLEEP) == (0.0, 1.0)
    assert paired_wilcoxon([0.0] * 60, [0.0] * 60) == (0.0, 1.0)


def test_wilcoxon_refuses_nine_pairs():
    with pytest.raises(DataError, match="there are 9 pairs; give at least 10"):
        paired_wilcoxon([1.0] * 9, [2.0] * 9)


@settings(max_examples=40, deadline=None)
@given(st.lists(numbers, min_size=2, max_size=20), st.floats(0, 2))
def test_corrected_t_is_the_formula_written_out(differences, ratio):
    n, mean = len(differences), sum(differences) / len(differences)
    variance = sum((d - mean) ** 2 for d in differences) / (n - 1)
    found = corrected_t(differences, 1.0, ratio)
    assert 0 <= found.p_value <= 1
    if variance > 1e-12:
        t = mean / (variance * (1 / n + ratio)) ** 0.5
        assert found == pytest.approx((t, 2 * (1 - stats.t.cdf(abs(t), n - 1))), abs=1e-9)


def test_corrected_t_keeps_its_level_where_the_plain_one_does_not():
    rng = np.random.default_rng(0)  # ten differences with the correlation that the formula assumes
    draws = np.sqrt(0.1) * rng.normal(size=(1500, 1)) + np.sqrt(0.9) * rng.normal(size=(1500, 10))
    plain = np.mean([corrected_t(d, 9, 0).p_value < 0.05 for d in draws])
    corrected = np.mean([corrected_t(d, 9, 1).p_value < 0.05 for d in draws])
    assert plain > 0.12 and corrected == pytest.approx(0.05, abs=0.02)


@pytest.mark.parametrize(("value", "p"), [(0.0, 1.0), (0.3, 0.0), (-0.1, 0.0)])
def test_corrected_t_of_differences_that_are_all_the_same(value, p):
    assert corrected_t([value] * 7, 3, 1).p_value == p


def test_holm_gives_the_textbook_values():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.none(), st.just(float("nan")), st.floats(0, 1)), max_size=12))
def test_holm_raises_p_values_keeps_their_order_and_passes_gaps_through(p_values):
    corrected = holm(p_values)
    made = [(p, q) for p, q in zip(p_values, corrected, strict=True) if p is not None and p == p]
    for p, q in zip(p_values, corrected, strict=True):
        if p is None:
            assert q is None
        elif p != p:
            assert q != q
    assert all(p <= q <= min(1, p * len(made)) + 1e-12 for p, q in made)
    in_order = [q for _, q in sorted(made)]
    assert in_order == sorted(in_order)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(10, 90), st.floats(10, 90)), min_size=2, max_size=12))
def test_effect_agrees_with_variances_written_out(pairs):
    a, b = np.array(pairs).T
    found = effect(a, b)
    assert found[:3] == pytest.approx(mean_interval(a - b))
    ratio, cov = a.mean() / b.mean(), np.cov(a, b)
    assert found.relative == pytest.approx(100 * (ratio - 1))
    variance = cov[0, 0] + ratio**2 * cov[1, 1] - 2 * ratio * cov[0, 1]
    half = stats.t.ppf(0.975, len(a) - 1) * np.sqrt(max(variance, 0) / len(a)) / b.mean()
    widths = (found.relative - found.relative_low, found.relative_high - found.relative)
    assert widths == pytest.approx((100 * half, 100 * half), abs=1e-4)


def test_effect_has_no_percent_of_nothing():
    found = effect([0.1, 0.2], [0.0, 0.0])
    assert found.points == pytest.approx(0.15) and np.isnan(found.relative)


def test_overlap_widens_intervals_as_it_raises_p_values():
    a, b = SLEEP, [0.0] * 10
    low = effect(a, b, overlap=1 / 9).points_low
    assert low < effect(a, b).points_low
    assert (low > 0) == (corrected_t(SLEEP, 9, 1).p_value < 0.05)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mean_interval([]), "there are 0 values; give at least 1"),
        (lambda: mean_interval([1.0, float("nan")]), "1 of 2 values are NaN"),
        (lambda: mean_interval([[1.0]]), "shape"),
        (lambda: mean_interval([1.0], 95), "level is 95"),
        (lambda: effect([1.0, 2.0], [1.0]), "2 values of a and 1 of b"),
        (lambda: corrected_t([1.0], 9, 1), "at least 2"),
        (lambda: corrected_t([1.0, 2.0], 0, 1), "n_train is 0"),
        (lambda: holm([0.5, 1.5]), "p-value is 1.5"),
    ],
    ids=["none", "nan", "shape", "level", "pairs", "one", "sizes", "above one"],
)
def test_errors_say_what_is_wrong(call, words):
    with pytest.raises(DataError, match=words):
        call()
