"""The CORAL distance against loops over samples, and what leaves it alone."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.errors import DataError
from firecv.rivals.deepcoral import coral


def features(seed, n, width):
    return torch.randn(n, width, generator=torch.Generator().manual_seed(seed)).double()


def slow_covariance(x):
    mean = [sum(column) / len(x) for column in x.T.tolist()]
    return [
        [
            sum((row[i] - mean[i]) * (row[j] - mean[j]) for row in x.tolist()) / (len(x) - 1)
            for j in range(len(mean))
        ]
        for i in range(len(mean))
    ]


def slow_coral(a, b):
    first, second = slow_covariance(a), slow_covariance(b)
    q = a.shape[1]
    total = sum((first[i][j] - second[i][j]) ** 2 for i in range(q) for j in range(q))
    return total / (4 * q * q)


sizes = st.integers(2, 7)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), sizes, sizes, st.integers(1, 4))
def test_it_is_the_distance_of_covariances_summed_one_by_one(seed, n, m, width):
    a, b = features(seed, n, width), 2 * features(seed + 1, m, width)
    assert float(coral(a, b)) == pytest.approx(slow_coral(a, b), rel=1e-10)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), sizes, sizes, st.floats(-50, 50), st.floats(-50, 50))
def test_moving_either_side_changes_nothing(seed, n, m, one, other):
    a, b = features(seed, n, 3), features(seed + 1, m, 3)
    torch.testing.assert_close(coral(a + one, b + other), coral(a, b), rtol=1e-8, atol=1e-11)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), sizes, sizes, st.floats(0.1, 10))
def test_it_is_symmetric_blind_to_order_and_grows_with_the_fourth_power_of_the_scale(
    seed, n, m, scale
):
    a, b = features(seed, n, 3), features(seed + 1, m, 3)
    torch.testing.assert_close(coral(b, a), coral(a, b))
    torch.testing.assert_close(coral(a.flip(0), b), coral(a, b))
    torch.testing.assert_close(coral(scale * a, scale * b), scale**4 * coral(a, b))


def test_equal_batches_have_distance_zero_and_no_pull():
    a = features(0, 6, 3).requires_grad_()
    value = coral(a, a.detach())
    value.backward()
    assert value.item() == 0 and not a.grad.any()


def test_the_gradient_is_that_of_differences():
    a, b = features(0, 5, 2).requires_grad_(), features(1, 4, 2).requires_grad_()
    assert torch.autograd.gradcheck(coral, (a, b))


@pytest.mark.parametrize("n, m", [(1, 5), (5, 1), (0, 5)])
def test_one_sample_has_no_covariance(n, m):
    with pytest.raises(DataError, match="two samples or more"):
        coral(torch.zeros(n, 2), torch.zeros(m, 2))
