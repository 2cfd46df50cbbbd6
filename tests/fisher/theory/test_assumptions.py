"""The assumption |r - 1| <= gamma < 1 on the paper's own rotation benchmark.

Training angles are 180 Beta(a, b), validation angles 180 Beta(b, a). In the paper's direction
r = training density / validation density = ((1 - u) / u)^(b - a); importance weights are 1 / r.
"""

import numpy as np
import pytest
from scipy import integrate, special, stats

from firecv.fisher.theory import sharp_marginal

every_level = pytest.mark.parametrize(("a", "b"), [(2, 4), (2, 5), (2, 6)])


def ratio(u, a: int, b: int):
    return ((1 - u) / u) ** (b - a)


@every_level
def test_the_ratio_is_that_of_the_two_densities(a: int, b: int) -> None:
    u = np.linspace(0.01, 0.99, 50)
    expected = stats.beta(a, b).pdf(u) / stats.beta(b, a).pdf(u)
    np.testing.assert_allclose(ratio(u, a, b), expected)


@every_level
def test_gamma_exceeds_one_by_far(a: int, b: int) -> None:
    train = stats.beta(a, b)
    largest = ratio(train.ppf(0.01), a, b) - 1  # the 0.99 quantile: large where u is small
    drawn = np.abs(ratio(train.rvs(100_000, random_state=0), a, b) - 1)
    assert np.mean(drawn > largest) == pytest.approx(0.01, abs=0.001)
    assert largest > 600
    assert np.quantile(drawn, 0.5) > 1  # not only in the tail: for most training images


@every_level
def test_no_gamma_is_large_enough(a: int, b: int) -> None:
    sizes = [ratio(u, a, b) for u in (1e-2, 1e-4, 1e-8)]
    assert sizes[0] < sizes[1] < sizes[2]
    assert sizes[2] > 1e15
    assert sharp_marginal(float("inf")) == float("inf")


@every_level
def test_the_second_moment_of_the_weights_is_infinite(a: int, b: int) -> None:
    """E_train[(1 / r)^2] = E_val[1 / r], which grows without end as the tail is let in."""

    def truncated(cut: float) -> float:
        # In v = log(1 - u) the integral up to u = 1 - cut is smooth.
        def integrand(v: float) -> float:
            u = -np.expm1(v)
            return stats.beta(b, a).pdf(u) / ratio(u, a, b) * np.exp(v)

        return integrate.quad(integrand, np.log(cut), np.log(0.5), limit=200)[0]

    assert 2 * a - b <= 0  # the integrand behaves as (1 - u)^(2a - b - 1)
    growth = np.diff([truncated(10.0**-k) for k in (2, 4, 6, 8)])
    assert (growth > 0).all()
    assert growth[-1] >= 0.99 * growth[0]  # equal steps for 2a = b, growing ones below


@every_level
def test_the_divergence_itself_is_finite(a: int, b: int) -> None:
    train = stats.beta(a, b)
    value = integrate.quad(lambda u: train.pdf(u) * np.log(ratio(u, a, b)), 0, 1)[0]
    assert value == pytest.approx((b - a) * (special.digamma(b) - special.digamma(a)), rel=1e-6)
