"""The two discrepancies against sums over pairs, their limits and their law without shift."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.errors import DataError
from firecv.rivals.ddc import GAMMAS, gaussian_mmd, linear_mmd


def features(seed, n, width):
    return torch.randn(n, width, generator=torch.Generator().manual_seed(seed)).double()


def linear(x, y):
    return sum(i * j for i, j in zip(x, y, strict=True))


def gaussian(x, y):
    square = sum((i - j) ** 2 for i, j in zip(x, y, strict=True))
    return sum(math.exp(-gamma * square) for gamma in (0.001, 0.01, 0.1, 1, 10, 100, 1000))


def mean_over_pairs(kernel, a, b, skip=False):
    values = [
        kernel(x, y)
        for i, x in enumerate(a.tolist())
        for j, y in enumerate(b.tolist())
        if not (skip and i == j)
    ]
    return sum(values) / len(values)


def slow_mmd(kernel, a, b, unbiased=False):
    own = mean_over_pairs(kernel, a, a, unbiased) + mean_over_pairs(kernel, b, b, unbiased)
    return own - 2 * mean_over_pairs(kernel, a, b)


sizes = st.integers(2, 6)
seeds = st.integers(0, 10**6)


@settings(deadline=None, max_examples=40)
@given(seeds, sizes, sizes, st.integers(1, 4), st.floats(0.05, 5))
def test_both_are_sums_over_all_pairs(seed, n, m, width, scale):
    a, b = scale * features(seed, n, width), scale * features(seed + 1, m, width) + 1
    assert float(linear_mmd(a, b)) == pytest.approx(slow_mmd(linear, a, b), rel=1e-8, abs=1e-10)
    for unbiased in (False, True):
        found = float(gaussian_mmd(a, b, unbiased=unbiased))
        assert found == pytest.approx(slow_mmd(gaussian, a, b, unbiased), rel=1e-8, abs=1e-10)


@settings(deadline=None, max_examples=40)
@given(seeds, sizes, sizes, st.floats(-20, 20))
def test_both_are_symmetric_blind_to_order_and_to_a_move_of_both_sides(seed, n, m, move):
    a, b = features(seed, n, 3), features(seed + 1, m, 3)
    for distance in (linear_mmd, gaussian_mmd, lambda x, y: gaussian_mmd(x, y, unbiased=True)):
        value = distance(a, b)
        torch.testing.assert_close(distance(b, a), value)
        torch.testing.assert_close(distance(a.flip(0), b), value)
        torch.testing.assert_close(distance(a + move, b + move), value, rtol=1e-7, atol=1e-10)


@settings(deadline=None, max_examples=40)
@given(seeds, st.integers(1, 6), st.integers(1, 6), st.floats(0.01, 10))
def test_the_biased_form_is_never_negative(seed, n, m, scale):
    a, b = scale * features(seed, n, 3), scale * features(seed + 1, m, 3)
    assert float(gaussian_mmd(a, b)) > -1e-12


@pytest.mark.parametrize("distance", [linear_mmd, gaussian_mmd], ids=["linear", "gaussian"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_equal_batches_have_distance_zero_and_no_pull(distance, dtype):
    a = (10 * features(0, 30, 5)).to(dtype).requires_grad_()
    value = distance(a, a.detach())
    value.backward()
    size = torch.finfo(dtype).eps
    assert abs(value.item()) < 100 * size
    assert float(a.grad.abs().max()) < 1e4 * size


def test_far_apart_the_gaussian_distance_is_that_of_single_points():
    a, b = torch.zeros(1, 2).double(), torch.full((1, 2), 1e3).double()
    assert float(gaussian_mmd(a, b)) == pytest.approx(2 * len(GAMMAS))


def test_the_gaussian_distance_sees_a_change_of_scale_that_the_linear_one_does_not():
    a = torch.cat((features(0, 40, 2), -features(0, 40, 2)))
    assert float(linear_mmd(a, 3 * a)) < 1e-20
    assert float(gaussian_mmd(a, 3 * a)) > 0.1


def test_without_shift_the_unbiased_form_is_zero_on_average_and_the_biased_one_is_not():
    pairs = [(features(2 * k, 6, 2), features(2 * k + 1, 9, 2)) for k in range(600)]
    values = torch.tensor([float(gaussian_mmd(a, b, unbiased=True)) for a, b in pairs])
    error = float(values.std()) / math.sqrt(len(values))
    assert abs(float(values.mean())) < 4 * error
    biased = torch.tensor([float(gaussian_mmd(a, b)) for a, b in pairs])
    assert float(biased.mean()) > 20 * error
    assert 0.3 < float((values < 0).double().mean()) < 0.8


@pytest.mark.parametrize("unbiased", [False, True])
def test_the_gradient_is_that_of_differences(unbiased):
    a, b = features(0, 5, 2).requires_grad_(), features(1, 4, 2).requires_grad_()
    assert torch.autograd.gradcheck(linear_mmd, (a, b))
    assert torch.autograd.gradcheck(lambda x, y: gaussian_mmd(x, y, unbiased=unbiased), (a, b))


@pytest.mark.parametrize("n, m, unbiased", [(0, 3, False), (3, 0, False), (1, 3, True)])
def test_too_few_samples_are_refused(n, m, unbiased):
    with pytest.raises(DataError, match=f"expected {2 if unbiased else 1} or more of each"):
        gaussian_mmd(torch.zeros(n, 2), torch.zeros(m, 2), unbiased=unbiased)
