"""Rates of false alarms and power of the test of one fragment, and the global test."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom, mannwhitneyu

from firecv.diagnose.alarms import alarm, global_test, rank_sum
from firecv.diagnose.classifier import Pair
from firecv.diagnose.inputs import checked
from firecv.diagnose.network import trained
from firecv.seeding import derive
from firecv.statistics import holm

LAWS = {
    "normal": lambda rng, n, d: rng.normal(size=(n, d)),
    "heavy": lambda rng, n, d: rng.standard_t(1.5, size=(n, d)),
    "binary": lambda rng, n, d: (rng.random((n, d)) < 0.2).astype(float),
}


def most_alarms(n_splits, rate):
    """Return a count that a test of this rate exceeds once in a thousand times."""
    return int(binom.ppf(0.999, n_splits, rate))


def p_values(n_splits, n_fragment, n_validation, n_features, law="normal", gap=0.0):
    found = []
    for split in range(n_splits):
        rng = derive(split, "alarms", law, n_fragment, n_validation)
        fragment, held = (LAWS[law](rng, n, n_features) for n in (n_fragment, n_validation))
        fragment[:, 0] += gap
        found.append(alarm(Pair.of(fragment, held), rng).p_value)
    return np.array(found)


@pytest.mark.parametrize(
    ("n_fragment", "n_validation", "n_features", "law"),
    [(40, 40, 3, "normal"), (12, 200, 2, "heavy"), (60, 60, 8, "binary")],
)
def test_false_alarms_keep_to_their_level(n_fragment, n_validation, n_features, law):
    found = p_values(100, n_fragment, n_validation, n_features, law)
    assert (found <= 0.05).sum() <= most_alarms(100, 0.05)
    assert (found <= 0.5).sum() <= most_alarms(100, 0.5)
    assert (found <= 0.5).sum() >= 25  # and is no empty test either


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_fragment", "n_validation", "n_features", "n_splits"),
    [
        (10, 10, 3, 120),
        (40, 40, 5, 120),
        (40, 400, 20, 120),
        (200, 200, 10, 60),
        (600, 600, 5, 40),
        (2000, 2000, 5, 20),
    ],
)
def test_false_alarms_keep_to_their_level_for_all_sizes(
    n_fragment, n_validation, n_features, n_splits
):
    sizes = n_fragment, n_validation, n_features
    found = np.concatenate([p_values(n_splits, *sizes, law) for law in LAWS])
    for level in (0.01, 0.05, 0.2):
        assert (found <= level).sum() <= most_alarms(len(found), level)


@pytest.mark.parametrize(
    ("n_fragments", "n_rows", "n_splits"),
    [
        pytest.param(2, 40, 50, id="two"),
        pytest.param(20, 40, 120, id="twenty", marks=pytest.mark.slow),
        pytest.param(5, 200, 80, id="five", marks=pytest.mark.slow),
    ],
)
def test_fragments_that_share_a_validation_set_raise_one_alarm_in_twenty_splits(
    n_fragments, n_rows, n_splits
):
    n_alarms = 0
    for split in range(n_splits):
        rng = derive(split, "holm", n_fragments, n_rows)
        held = rng.normal(size=(n_rows, 3))
        pairs = [Pair.of(rng.normal(size=(n_rows, 3)), held) for _ in range(n_fragments)]
        n_alarms += min(holm([alarm(pair, rng).p_value for pair in pairs])) <= 0.05
    assert n_alarms <= most_alarms(n_splits, 0.05)


@pytest.mark.parametrize(("gap", "least"), [(0.5, 0.4), (1.0, 0.95)])
def test_a_shifted_mean_is_found(gap, least):
    assert (p_values(30, 100, 100, 5, gap=gap) <= 0.05).mean() >= least


def test_more_rows_find_smaller_shifts():
    few, many = (p_values(15, n, n, 3, gap=0.4) for n in (30, 400))
    assert np.median(many) < 0.01 < np.median(few)


def test_a_fragment_that_is_the_validation_set_raises_no_alarm():
    x = derive(0, "same").normal(size=(80, 3))
    assert alarm(Pair.of(x, x), derive(0, "blocks")).p_value > 0.05


def test_equal_scores_raise_no_alarm():
    found = alarm(Pair.of(np.ones((20, 2)), np.ones((20, 2))), derive(0, "blocks"))
    assert (found.p_value, found.auc) == (1.0, 0.5)


@pytest.mark.parametrize("n_values", [1000, 6], ids=["untied", "tied"])
def test_the_law_of_a_rank_sum_is_that_of_mann_and_whitney(n_values):
    rng = derive(0, "ranks")
    scores, is_fragment = rng.integers(n_values, size=50).astype(float), np.arange(50) < 20
    found = rank_sum(scores, is_fragment)
    u, p = mannwhitneyu(
        scores[:20],
        scores[20:],
        alternative="greater",
        use_continuity=False,
        method="asymptotic",
    )
    assert found.excess == pytest.approx(u - 300)
    assert ndtr(-found.excess / np.sqrt(found.variance)) == pytest.approx(p)


def test_what_can_be_detected_is_detected_four_times_in_five():
    limit = alarm(Pair.of(*np.zeros((2, 150, 1))), derive(0, "x")).detectable(0.05)
    gap = np.sqrt(2) * ndtri(limit)  # with one feature, any classifier has the right direction
    assert 0.65 < (p_values(60, 150, 150, 1, gap=gap) <= 0.05).mean() < 0.95


def labelled(n, rng, gap=0.0):
    x = rng.normal(size=(n, 4)) + gap
    return x, (x[:, 0] + rng.normal(size=n) > 0).astype(int)


def whole(seed, gap, n=60):
    rng = derive(seed, "global")
    parts = {name: labelled(n, rng) for name in ("A", "B")}
    given = checked(
        {name: x for name, (x, _) in parts.items()},
        labelled(n, rng, gap)[0],
        {name: y for name, (_, y) in parts.items()},
        None,
        None,
    )
    return global_test(trained(given, seed), seed=seed, level=0.05)


def test_the_validation_set_is_held_against_all_fragments_together():
    assert whole(0, gap=1.5).alarm
    quiet = whole(0, gap=0.0)
    assert not quiet.alarm
    assert 0.05 < quiet.p_value <= 1


@pytest.mark.slow
def test_the_global_test_keeps_to_its_level():
    n_alarms = sum(whole(seed, gap=0.0).alarm for seed in range(150))
    assert n_alarms <= most_alarms(150, 0.05)
