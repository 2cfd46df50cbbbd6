import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.errors import DataError
from firecv.fire.shares import capped, proportions

COHORTS = st.lists(
    st.tuples(st.integers(1, 1000), st.floats(0, 1) | st.just(0.0)), min_size=1, max_size=12
).filter(lambda pairs: sum(weight for _, weight in pairs) > 1e-3)


@settings(max_examples=300, deadline=None)
@given(COHORTS, st.sampled_from([1.0, 1.001, 1.5, 2.0, 10.0]))
def test_no_weight_is_above_its_cap_and_they_sum_to_one(pairs, multiple):
    shares = proportions([n for n, _ in pairs])
    weights = np.array([weight for _, weight in pairs])
    weights = weights / weights.sum()
    found = capped(weights, shares, multiple)
    assert (found >= 0).all() and found.sum() == pytest.approx(1.0)
    assert (found <= multiple * shares * (1 + 1e-6)).all()
    is_free = found < multiple * shares * (1 - 1e-6)
    # What is not capped keeps its proportions, and only gains.
    counts = is_free & (weights > 1e-14)
    if counts.any():
        assert (found[is_free] >= weights[is_free] * (1 - 1e-6) - 1e-14).all()
        ratios = found[counts] / weights[counts]
        assert np.allclose(ratios, ratios[0])


@pytest.mark.parametrize("multiple", [1.0, 1.5, 10.0])
@pytest.mark.parametrize("tiny", [5e-324, 1e-300, 1e-16])
def test_next_to_nothing_counts_as_nothing(tiny, multiple):
    found = capped(np.array([1.0, tiny, 0.0]), proportions([1, 1, 2]), multiple)
    wanted = capped(np.array([1.0, 0.0, 0.0]), proportions([1, 1, 2]), multiple)
    np.testing.assert_allclose(found, wanted, atol=1e-15)
    assert found.sum() == pytest.approx(1.0)


def test_weights_below_the_cap_stay_as_they_are():
    weights = np.array([0.5, 0.3, 0.2])
    assert capped(weights, proportions([1, 1, 1]), 2.0) is weights


def test_a_cap_of_one_is_n_over_n():
    shares = proportions([1, 2, 5])
    assert np.allclose(capped(np.array([0.0, 0.0, 1.0]), shares, 1.0), shares)


def test_where_nobody_else_has_weight_the_rest_goes_by_n_over_n():
    found = capped(np.array([1.0, 0.0, 0.0]), proportions([1, 1, 2]), 2.0)
    assert np.allclose(found, [0.5, 1 / 6, 1 / 3])


@pytest.mark.parametrize("multiple", [0.9, 0.0, float("nan")])
def test_a_cap_below_one_is_refused(multiple):
    with pytest.raises(DataError, match="a multiple of n/N of at least 1"):
        capped(np.ones(1), np.ones(1), multiple)
