"""The marginal lemma over random laws and under a search for violations."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, target
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from firecv.errors import DataError
from firecv.fisher.theory import deviation, kl, printed_marginal, sharp_marginal

FLOATS = st.floats(-1, 1)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Return two laws p, q with max |p / q - 1| < 1, between 2 and 8 points, often lopsided."""
    n = draw(st.integers(2, 8))
    q = np.exp(8 * draw(arrays(float, n, elements=FLOATS)))
    q /= q.sum()
    u = draw(arrays(float, n, elements=FLOATS))
    u = u - q @ u
    largest = np.abs(u).max()
    if largest > 1e-6:
        u *= draw(st.floats(0, 0.999)) / largest
    return q * (1 + u), q


@settings(max_examples=200, deadline=None)
@given(pairs())
def test_kl_is_below_the_sharp_and_the_printed_bound(laws) -> None:
    p, q = laws
    p = p / p.sum()
    gamma = deviation(p, q)
    bound = sharp_marginal(gamma)
    if bound > 1e-9:
        target(kl(p, q) / bound)
    assert kl(p, q) <= bound + 1e-13
    assert bound <= sum(printed_marginal(gamma)) + 1e-15


@pytest.mark.parametrize("gamma", [1e-6, 0.01, 0.3, 0.9, 0.999, 1.0, 1.5, 40.0])
def test_the_sharp_bound_is_attained(gamma: float) -> None:
    low = max(0.0, 1 - gamma)
    q = np.array([gamma / (1 + gamma - low), (1 - low) / (1 + gamma - low)])
    p = q * np.array([low, 1 + gamma])
    assert deviation(p, q) == pytest.approx(gamma, rel=1e-9)
    assert kl(p, q) == pytest.approx(sharp_marginal(gamma), rel=1e-4)


def test_an_optimiser_finds_the_sharp_bound_and_no_more() -> None:
    def loss(logits: np.ndarray) -> float:
        p, q = (np.exp(part - part.max()) for part in np.split(logits, 2))
        p, q = p / p.sum(), q / q.sum()
        gamma = deviation(p, q)
        return -kl(p, q) / sharp_marginal(gamma) if 1e-4 < gamma < 1 else 0.0

    rng = np.random.default_rng(0)
    best = max(
        -minimize(loss, rng.normal(size=6), method="Nelder-Mead", options={"maxiter": 1500}).fun
        for _ in range(6)
    )
    assert 0.99 < best <= 1 + 1e-9


@pytest.mark.parametrize("gamma", [0.1, 0.5, 0.9])
def test_half_of_the_cubic_constant_in_the_proof_is_enough(gamma: float) -> None:
    u = np.linspace(-gamma, gamma, 1001)
    remainder = np.abs((1 + u) * np.log1p(u) - u - u**2 / 2)
    assert (remainder <= np.abs(u) ** 3 / (6 * (1 - gamma) ** 2) + 1e-15).all()


def test_the_sharp_bound_is_at_most_log_two_times_gamma_squared() -> None:
    for gamma in np.linspace(0.001, 1, 500):
        assert gamma**2 / 2 <= sharp_marginal(gamma) <= math.log(2) * gamma**2 + 1e-15


def test_kl_equals_a_loop_and_points_without_mass_count_nothing() -> None:
    p, q = np.array([0.2, 0.8, 0.0]), np.array([0.5, 0.25, 0.25])
    assert kl(p, q) == pytest.approx(0.2 * math.log(0.4) + 0.8 * math.log(3.2))
    assert deviation(p, q) == pytest.approx(2.2)
    assert kl(q, p) == math.inf == deviation(q, p)


@pytest.mark.parametrize("gamma", [1.0, 2.0, math.inf])
def test_from_gamma_one_on_the_printed_bound_says_nothing(gamma: float) -> None:
    assert printed_marginal(gamma) == (math.inf, math.inf)


@pytest.mark.parametrize(
    ("p", "q", "message"),
    [
        ([0.5, 0.5], [1.0], r"shapes \(2,\) and \(1,\)"),
        ([0.5, 0.6], [0.5, 0.5], "the first law has entries"),
        ([0.5, 0.5], [1.5, -0.5], "the second law has entries"),
        ([math.nan, 1.0], [0.5, 0.5], "the first law"),
    ],
)
def test_what_is_not_a_law_is_refused(p, q, message: str) -> None:
    for function in (kl, deviation):
        with pytest.raises(DataError, match=message):
            function(np.array(p), np.array(q))


@pytest.mark.parametrize("gamma", [-0.1, math.nan])
def test_a_gamma_that_cannot_be_is_refused(gamma: float) -> None:
    for function in (printed_marginal, sharp_marginal):
        with pytest.raises(DataError, match="gamma is"):
            function(gamma)
