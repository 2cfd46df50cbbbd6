"""Numbers of secure aggregation, and the room that sums have."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.errors import DataError
from firecv.federated.secure import Secure


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 2000),
    st.sampled_from([32, 64]),
    st.floats(1e-6, 1e9),
    st.integers(0, 2**32),
)
def test_no_sum_can_leave_the_ring(n, bits, largest, seed):
    """Every client sends the largest number there is and rounds up by half a step."""
    secure = Secure(bits=bits, largest=largest)
    shares = np.random.default_rng(seed).dirichlet(np.ones(n))
    worst = sum(int(share * (largest / secure.step)) + 1 for share in shares)
    assert worst < 2 ** (bits - 1)
    assert math.log2(secure.step).is_integer()


@pytest.mark.parametrize(("threshold", "n", "needed"), [(2 / 3, 3, 2), (2 / 3, 10, 7), (1, 4, 4)])
def test_how_many_have_to_stay(threshold, n, needed):
    assert Secure(threshold).needed(n) == needed


@pytest.mark.parametrize("threshold", [0.500001, 0.6, 2 / 3, 1.0])
def test_two_thresholds_never_fit_into_one_round(threshold):
    assert all(2 * Secure(threshold).needed(n) > n for n in range(2, 300))


@pytest.mark.parametrize(
    "words", [{"threshold": 0.5}, {"threshold": 1.1}, {"bits": 48}, {"largest": 0.0}], ids=str
)
def test_numbers_without_sense_are_named(words):
    with pytest.raises(DataError, match=next(iter(words))):
        Secure(**words)
