"""No scale, rank or sign of a covariance makes the shift test or the mixture fail."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.errors import DataError, NumericalError
from firecv.fire.balance import balanced, lower_root, semidefinite
from firecv.fire.mixture import mixture
from firecv.fire.shift_test import shift_test
from firecv.fire.summaries import SketchSummary
from firecv.seeding import derive

EXPONENTS = st.integers(-150, 150)


def world(seed, k=4, n=30, rank=None):
    rng = derive(seed, "balance")
    maps = rng.normal(size=(rank or k, k))
    rows = [rng.normal(c, 1, (20 + 10 * i, len(maps))) @ maps for i, c in enumerate((0, 1, 2))]
    return rng.normal(1.5, 1, (n, len(maps))) @ maps, [SketchSummary.of_rows(r) for r in rows]


def both(rows, summaries):
    test, weights = shift_test(rows, summaries), mixture(rows, summaries, strength=1.0)
    assert 0 <= test.p_value <= 1 and test.statistic >= 0
    assert weights.sum() == pytest.approx(1) and (weights >= 0).all()
    assert mixture(rows, summaries).sum() == pytest.approx(1)
    return test, weights


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.lists(EXPONENTS, min_size=4, max_size=4), st.integers(1, 4))
def test_any_scale_of_any_coordinate_and_any_rank(seed, exponents, rank):
    rows, summaries = world(seed, rank=rank)
    units = 10.0 ** np.array(exponents)
    scaled = [
        replace(s, mean=s.mean * units, covariance=s.covariance * units[:, None] * units)
        for s in summaries
    ]
    test, weights = both(rows * units, scaled)
    plain, wanted = both(rows, summaries)
    if rank == 4:  # else what is left of dropped directions is rounding
        assert test.statistic == pytest.approx(plain.statistic, rel=1e-5)
        np.testing.assert_allclose(weights, wanted, atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(0, 2),
    EXPONENTS,
    st.sampled_from(["noise", "negative", "indefinite", "lopsided", "zero", "wide", "far"]),
)
def test_a_covariance_that_is_none_costs_nobody_the_answer(seed, fragment, exponent, kind):
    rows, summaries = world(seed)
    rng, size, s = derive(seed, "bad"), 10.0**exponent, summaries[fragment]
    noise = rng.normal(size=(4, 4))
    bad = {
        "noise": replace(s, covariance=s.covariance + 0.1 * (noise + noise.T)),
        "negative": replace(s, covariance=-size * s.covariance),
        "indefinite": replace(s, covariance=size * (noise + noise.T)),
        "lopsided": replace(s, covariance=size * noise),
        "zero": replace(s, covariance=np.zeros((4, 4))),
        "wide": replace(s, covariance=size**2 * s.covariance),
        "far": replace(s, mean=size**2 * s.mean),
    }[kind]
    both(rows, [bad if i == fragment else other for i, other in enumerate(summaries)])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 3))
def test_v_that_hardly_varies_beside_fragments_of_lower_rank(seed, n, rank):
    rows, summaries = world(seed, k=6, n=n, rank=rank)
    both(rows[:1] + 1e-12 * rows, [replace(s, used=2) for s in summaries])
    both(np.repeat(rows[:1], n, 0), summaries)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_our_own_error(value):
    rows, summaries = world(0)
    spoiled = replace(summaries[1], covariance=np.full((4, 4), value))
    for rule in (shift_test, mixture):
        with pytest.raises(DataError, match="NaN or infinite"):
            rule(rows, [summaries[0], spoiled])
        with pytest.raises(DataError, match="NaN or infinite"):
            rule(np.full_like(rows, value), summaries)
    with pytest.raises(NumericalError, match="not finite"):
        lower_root(np.full((2, 2), value))


def test_what_is_a_covariance_already_keeps_its_bits():
    rows, summaries = world(3, rank=2)
    found, same = balanced(rows, summaries)
    powers = np.log2(rows[0] / found[0])
    assert np.array_equal(powers, powers.round())
    for before, after in zip(summaries, same, strict=True):
        assert np.array_equal(after.mean * 2**powers, before.mean)
        assert np.array_equal(after.covariance * np.outer(2**powers, 2**powers), before.covariance)


def test_the_nearest_covariance_keeps_what_is_right():
    right = np.array([[2.0, 1.0], [1.0, 3.0]])
    wrong = np.array([[1.0, 3.0], [3.0, 1.0]])
    found = semidefinite(np.stack([right, wrong]))
    assert np.array_equal(found[0], right)
    np.testing.assert_allclose(found[1], [[1.0, 1.0], [1.0, 1.0]], atol=1e-12)
