"""Noise for differential privacy: its distribution, where it comes from and what it is added to."""

import hashlib
import math
import os

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from firecv.federated.noise import STEPS, add_noise

FALSE_ALARM = 1e-7
"""Probability that a test of fresh noise fails by chance, about; noise cannot be seeded."""


def stream(n):
    """Return bytes that are the same in every call."""
    return hashlib.shake_256(b"noise").digest(n)


def drawn(n, deviation=1.0, value=0.0, dtype=torch.float64):
    return add_noise({"a": torch.full((n,), value, dtype=dtype)}, deviation)["a"].double().numpy()


@settings(max_examples=20, deadline=None)
@given(st.floats(1e-6, 1e6), st.floats(-10, 10))
def test_noise_is_gaussian_with_the_deviation_it_should_have(deviation, value):
    n = 20_000
    found = (drawn(n, deviation, value * deviation) - value * deviation) / deviation
    assert abs(found.mean()) < stats.norm.isf(FALSE_ALARM) / math.sqrt(n) + 1 / STEPS
    low, high = stats.chi2.ppf([FALSE_ALARM, 1 - FALSE_ALARM], n)
    assert low < (found**2).sum() < high
    assert stats.kstest(found, "norm").pvalue > FALSE_ALARM


def test_moments_and_tails_of_a_million_numbers():
    found, n = drawn(1_000_000), 1_000_000
    far = stats.norm.isf(FALSE_ALARM)
    # E z^3 = 0 and E z^4 = 3, with variances 15 and 96.
    assert abs((found**3).mean()) < far * math.sqrt(15 / n)
    assert abs((found**4).mean() - 3) < far * math.sqrt(96 / n)
    for edge in (1, 2, 3, 4):
        expected = 2 * stats.norm.sf(edge)
        spread = math.sqrt(expected * (1 - expected) / n)
        assert abs((abs(found) > edge).mean() - expected) < 1.5 * far * spread
    assert abs(found).max() < 9.5
    assert stats.kstest(found, "norm").pvalue > FALSE_ALARM


def test_numbers_are_independent_of_each_other_also_within_a_pair():
    n = 200_000
    found = drawn(n)
    far = stats.norm.isf(FALSE_ALARM) / math.sqrt(n / 2)
    for one, other in ((found[: n // 2], found[n // 2 :]), (found[:-1:2], found[1::2])):
        assert abs((one * other).mean()) < far
        assert abs(((one**2 - 1) * (other**2 - 1)).mean()) < 3 * far


def test_no_seed_of_ours_reaches_the_noise(monkeypatch):
    found = []
    for _ in range(2):
        torch.manual_seed(0)
        np.random.seed(0)
        found.append(drawn(100))
    assert (found[0] == found[1]).mean() < 0.1  # of a grid, two may be the same by chance
    # The operating system's generator, and nothing else, decides.
    monkeypatch.setattr(os, "urandom", stream)
    found = []
    for seed in range(2):
        torch.manual_seed(seed)
        found.append(drawn(100))
    np.testing.assert_array_equal(*found)


def test_the_generators_of_the_process_stay_as_they_are():
    state = torch.get_rng_state()
    drawn(100)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("deviation", [3e-5, 1.0, 1.7, 400.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sums_are_whole_steps_of_a_grid_that_does_not_depend_on_the_value(deviation, dtype):
    step = 2.0 ** math.floor(math.log2(deviation / STEPS))
    assert deviation / 2 < step * STEPS <= deviation
    for value in (0.0, 1e-30, math.pi * deviation, -1e3 * deviation / 7):
        given = {"a": torch.full((2000,), value, dtype=torch.float64)}
        steps = add_noise(given, deviation)["a"].numpy() / step
        np.testing.assert_array_equal(steps, np.rint(steps))
        assert len(np.unique(np.mod(steps, 64))) == 64  # nothing of the value in the last bits
    assert add_noise({"a": torch.zeros(3, dtype=dtype)}, deviation)["a"].dtype == dtype


def test_two_values_within_a_step_have_the_same_sums():
    step = 1.0 / STEPS
    one, other = (
        add_noise({"a": torch.full((500,), value, dtype=torch.float64)}, 1.0, _random=stream)["a"]
        for value in (7.1 * step, 7.9 * step)
    )
    assert torch.equal(one, other)


def test_rounding_makes_no_value_larger_and_leaves_no_negative_zero():
    values = torch.linspace(-3, 3, 1001, dtype=torch.float64) / STEPS

    def none(n):  # radius 0: all of the first half of the bits set
        return b"\xff" * (n // 2) + bytes(n // 2)

    found = add_noise({"a": values}, 1.0, _random=none)["a"]
    assert bool((found.abs() <= values.abs()).all())
    assert not bool(torch.signbit(found[found == 0]).any())


def test_all_shapes_are_noised():
    part = {"a": torch.tensor(1.0), "b": torch.zeros(2, 3), "c": torch.zeros(0, 4)}
    found = add_noise(part, 0.5)
    assert {name: value.shape for name, value in found.items()} == {
        name: value.shape for name, value in part.items()
    }
    assert bool((found["b"] != 0).all()) and float(found["a"]) != 1.0
