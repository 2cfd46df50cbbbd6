"""Means, differences and winners; what is declared where there is nothing to find."""

import numpy as np
import pytest
from scipy import stats

from firecv.compare.entries import Entry, parse
from firecv.compare.summary import beyond_noise, compared, find_winners, summary_table

ERM, FIRE, POOLED = Entry("erm", "none"), Entry("fire", "unlabelled"), Entry("pooled", "labelled")


def by_seed(values):
    return dict(enumerate(values))


def halves_scored(right, rng, n_seeds=10, noise=0.0):
    """Return each method's share of right rows on random halves, the same for all methods."""
    n = right.shape[1]
    rows = [rng.permutation(n)[: n // 2] for _ in range(n_seeds)]
    each = np.array([[method[part].mean() for part in rows] for method in right])
    return each + noise * rng.normal(size=each.shape)


def world_of_noise(rng, n_methods, n=120, noise=0.0):
    right = rng.random((n_methods, n)) < 0.7
    names = ["erm", "fire", "iwerm", "onestep", "deepcoral", "dann"][:n_methods]
    each = halves_scored(right, rng, noise=noise)
    return {parse(name): by_seed(x) for name, x in zip(names, each, strict=True)}


def share_declared(n_worlds, n_methods, overlap, noise=0.0):
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(n_worlds):
        values = world_of_noise(rng, n_methods, noise=noise)
        found += any(w.is_clear for w in find_winners(values, "accuracy", overlap))
    return found / n_worlds


def test_the_interval_is_that_of_the_corrected_t():
    a, b = np.array([0.8, 0.75, 0.9, 0.85]), np.array([0.7, 0.72, 0.8, 0.9])
    found = compared(by_seed(a), by_seed(b), 1.0)
    d = a - b
    half = stats.t.ppf(0.975, 3) * d.std(ddof=1) * np.sqrt(1 / 4 + 1)
    assert found.interval == pytest.approx((d.mean(), d.mean() - half, d.mean() + half))
    assert found.p_value is None


@pytest.mark.parametrize("n", [9, 10])
def test_there_is_a_test_from_ten_shared_seeds_on(n):
    rng = np.random.default_rng(0)
    a, b = by_seed(rng.random(12)), by_seed(rng.random(n))
    assert (compared(a, b, 1.0).p_value is None) == (n < 10)


def test_seeds_are_paired_by_number():
    a = {3: 0.5, 1: 0.9, 7: 0.1}
    b = {1: 0.8, 2: 0.0, 3: 0.4}
    assert compared(a, b, 0.0).interval.mean == pytest.approx(0.1)
    assert np.isnan(compared({1: 0.5}, {2: 0.5}, 0.0).interval.mean)


def test_p_values_are_adjusted_by_holm_and_plain_training_has_none():
    rng = np.random.default_rng(0)
    base = rng.random(10)
    values = {
        ERM: by_seed(base),
        FIRE: by_seed(base + 0.05 + 0.02 * rng.normal(size=10)),
        POOLED: by_seed(base + 0.2 + 0.02 * rng.normal(size=10)),
    }
    table = summary_table(values, 1.0).set_index("method")
    assert np.isnan(table.loc["erm", "p_value"]) and table.loc["erm", "difference"] == 0
    assert table.loc["pooled", "adjusted_p_value"] == 2 * table.loc["pooled", "p_value"]
    assert table.loc["fire", "adjusted_p_value"] >= table.loc["fire", "p_value"]
    assert beyond_noise(table.reset_index(), ["erm", "pooled"], above=True) == ["pooled"]
    assert beyond_noise(table.reset_index(), ["erm", "pooled"], above=False) == []


def test_a_method_that_always_failed_has_a_row_of_nothing():
    table = summary_table({ERM: by_seed([0.5, 0.6]), FIRE: {}}, 1.0).set_index("method")
    assert table.loc["fire", "n_seeds"] == 0
    assert table.loc["fire", ["mean", "low", "difference", "p_value"]].isna().all()
    assert find_winners({ERM: by_seed([0.5, 0.6]), FIRE: {}}, "accuracy", 1.0) == []


def test_a_regimes_winner_is_the_best_of_all_that_see_no_more():
    values = {
        ERM: by_seed(np.linspace(0.7, 0.71, 10)),
        FIRE: by_seed(np.linspace(0.6, 0.61, 10)),
        POOLED: by_seed(np.linspace(0.9, 0.91, 10)),
    }
    found = {w.regime: w.best for w in find_winners(values, "accuracy", 1.0)}
    assert found == {"unlabelled": ERM, "labelled": POOLED}
    found = {w.regime: w.best for w in find_winners(values, "log_loss", 1.0)}
    assert found == {"unlabelled": FIRE, "labelled": FIRE}


def test_identical_methods_are_never_told_apart():
    rng = np.random.default_rng(0)
    for _ in range(200):
        same = by_seed(rng.random(10))
        (winner,) = find_winners({ERM: same, FIRE: dict(same)}, "accuracy", 1.0)
        assert not winner.is_clear and winner.adjusted_p_value == 1


def test_between_two_methods_of_noise_a_winner_is_declared_at_the_level():
    # 0.05 within 3.5 standard deviations of 1500 worlds.
    assert abs(share_declared(1500, 2, overlap=1.0) - 0.05) < 3.5 * np.sqrt(0.05 * 0.95 / 1500)


def test_without_the_correction_half_of_them_would_win():
    assert share_declared(200, 2, overlap=0.0) > 0.4


@pytest.mark.parametrize(("n_methods", "noise"), [(6, 0.0), (2, 0.05)], ids=["many", "noisy"])
def test_many_methods_and_noise_of_training_make_it_rarer(n_methods, noise):
    assert share_declared(400, n_methods, overlap=1.0, noise=noise) <= 0.05


def test_against_plain_training_some_method_of_noise_differs_at_most_at_the_level():
    rng, found = np.random.default_rng(1), 0
    for _ in range(400):
        table = summary_table(world_of_noise(rng, 5), 1.0)
        found += bool((table["adjusted_p_value"] < 0.05).any())
    assert found / 400 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)
