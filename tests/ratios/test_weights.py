import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import genpareto

from firecv.errors import DataError, FirecvNotice, ModelError
from firecv.ratios.weights import (
    clipped,
    effective_sample_size,
    flattened,
    normalised,
    summarise_weights,
    tail_index,
    warn_if_heavy,
)
from firecv.seeding import derive

some_weights = st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=50).filter(
    lambda w: max(w) > 1e-6
)
quick = settings(max_examples=50, deadline=None)


def rotation_weights(a, b, n, rng):
    u = rng.beta(a, b, n)
    return (u / (1 - u)) ** (b - a)


@quick
@given(some_weights)
def test_effective_sample_size_lies_between_one_and_the_number(w):
    assert 1 - 1e-9 <= effective_sample_size(w) <= len(w) * (1 + 1e-9)


@quick
@given(some_weights, st.floats(1e-200, 1e200))
def test_effective_sample_size_has_no_unit(w, factor):
    scaled = effective_sample_size(np.array(w) * factor)
    assert scaled == pytest.approx(effective_sample_size(w))


def test_effective_sample_size_of_replicated_samples_is_their_number():
    assert effective_sample_size([3.0] * 7 + [0.0] * 5) == pytest.approx(7)


@quick
@given(some_weights)
def test_normalised_weights_have_mean_one_and_keep_their_ratios(w):
    found = normalised(w)
    assert found.mean() == pytest.approx(1)
    np.testing.assert_allclose(found * np.sum(w), np.array(w) * np.sum(found), atol=1e-9)


@quick
@given(some_weights)
def test_flattening_raises_the_effective_sample_size(w):
    sizes = [effective_sample_size(flattened(w, gamma)) for gamma in (1, 0.75, 0.5, 0.25)]
    assert all(b >= a * (1 - 1e-9) for a, b in zip(sizes, sizes[1:], strict=False))


def test_flattening_ends_at_the_weights_and_at_ones():
    w = np.array([0.0, 0.3, 2.0])
    assert flattened(w, 1).tolist() == w.tolist()
    assert flattened(w, 0).tolist() == [1.0, 1.0, 1.0]


def test_clipping_cuts_above_the_quantile_only():
    w = np.arange(101.0)
    assert clipped(w, 0.9).max() == 90
    assert clipped(w, 0.9)[:91].tolist() == w[:91].tolist()
    assert clipped(w, 1).tolist() == w.tolist()


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.3, 0.5, 0.8, 1.2])
def test_tail_index_recovers_the_shape_of_pareto_tails(shape):
    rng = derive(0, "pareto", str(shape))
    found = [tail_index(genpareto.rvs(shape, size=4000, random_state=rng)) for _ in range(20)]
    n_tail = math.ceil(3 * math.sqrt(4000))
    drawn = (n_tail * shape + 5) / (n_tail + 10)  # the prior draws it towards 1/2
    assert np.mean(found) == pytest.approx(drawn, abs=0.05)


def test_tail_index_agrees_with_maximum_likelihood():
    w = np.sort(rotation_weights(2, 5, 20_000, derive(0, "fit")))
    n_tail = math.ceil(3 * math.sqrt(len(w)))
    shape, _, _ = genpareto.fit(w[-n_tail:] - w[-n_tail - 1], floc=0)
    assert tail_index(w) == pytest.approx((n_tail * shape + 5) / (n_tail + 10), abs=0.03)


def test_tail_index_has_no_unit_and_no_order():
    w = rotation_weights(2, 4, 500, derive(0, "unit"))
    assert tail_index(w[::-1] * 1e-7) == pytest.approx(tail_index(w))


@pytest.mark.parametrize("w", [np.ones(1000), np.arange(1.0, 25), np.r_[np.ones(999), 5.0]])
def test_tail_index_without_a_tail_is_not_a_number(w):
    assert math.isnan(tail_index(w))


@pytest.mark.parametrize("laws", [(2, 4), (2, 5), (2, 6)], ids=str)
@pytest.mark.parametrize("n", [1000, 5000, 60_000])
def test_weights_without_a_second_moment_are_told(laws, n):
    for draw in range(10):
        with pytest.warns(FirecvNotice, match="heavy tail.*flatten.*relative ratio.*clip"):
            assert warn_if_heavy(rotation_weights(*laws, n, derive(draw, "heavy")))


@pytest.mark.parametrize(
    "law",
    ["ones", "uniform", "exp(0.3 z)", "exponential", "relative"],
)
@pytest.mark.parametrize("n", [100, 1000, 5000])
def test_light_tails_are_passed_over(law, n):
    for draw in range(50):
        rng = derive(draw, "light")
        z = rng.normal(size=n)
        ratio = np.exp(z - 0.5)
        w = {
            "ones": np.ones(n),
            "uniform": rng.random(n),
            "exp(0.3 z)": np.exp(0.3 * z),
            "exponential": rng.exponential(size=n),
            "relative": ratio / (0.5 * ratio + 0.5),
        }[law]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not warn_if_heavy(w)


def test_summary_agrees_with_a_count_by_hand():
    w = np.r_[np.zeros(100), np.ones(99), 101.0]
    found = summarise_weights(w)
    assert (found.n, found.mean, found.largest, found.zero_rate) == (200, 1.0, 101.0, 0.5)
    assert found.effective_sample_size == pytest.approx(200**2 / (99 + 101**2))
    assert found.effective_rate == pytest.approx(found.effective_sample_size / 200)
    assert found.top_share == pytest.approx(102 / 200)  # the largest two


FUNCTIONS = {
    "effective_sample_size": effective_sample_size,
    "normalised": normalised,
    "clipped": lambda w: clipped(w, 0.9),
    "flattened": lambda w: flattened(w, 0.5),
    "tail_index": tail_index,
    "summarise_weights": summarise_weights,
    "warn_if_heavy": warn_if_heavy,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    ("w", "words"),
    [
        ([0.0, 0.0], "all 2 weights are zero"),
        ([], "one number per sample"),
        ([[1.0], [2.0]], "one number per sample"),
        ([1.0, -1.0], "from 0 on"),
        ([1.0, math.nan], "finite"),
        ([1.0, math.inf], "finite"),
    ],
    ids=["zeros", "none", "table", "negative", "nan", "infinite"],
)
def test_what_cannot_weigh_samples_is_refused(name, w, words):
    with pytest.raises(DataError, match=words):
        FUNCTIONS[name](w)


def test_settings_outside_their_range_are_refused():
    with pytest.raises(ModelError, match="gamma is 1.5"):
        flattened([1.0], 1.5)
    with pytest.raises(ModelError, match="quantile is 0"):
        clipped([1.0], 0)
