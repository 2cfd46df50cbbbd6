import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firecv.errors import DataError, ModelError, NumericalError
from firecv.ratios.kernels import Scaling
from firecv.ratios.kmm import EXACT, KMM, match
from firecv.seeding import derive
from tests.ratios.problems import gram, missed


def samples(n, m, n_features, shift=0.7, seed=0):
    rng = derive(seed, "kmm")
    train, target = rng.normal(size=(n, n_features)), rng.normal(size=(m, n_features))
    target[:, 0] += shift
    return train, target


def discrepancy(fitted, train, target, weights):
    """Return the squared maximum mean discrepancy, with the kernel that was fitted with."""
    scaling = Scaling.of(train, target)
    x, y, n = scaling.apply(train), scaling.apply(target), len(train)
    own = weights @ gram(x, x, fitted.width_) @ weights / n**2
    across = weights @ gram(x, y, fitted.width_).mean(1) / n
    return own - 2 * across + gram(y, y, fitted.width_).mean()


@pytest.mark.parametrize("n_features", [1, 5, 40])
@pytest.mark.parametrize("slack", [None, 0.0])
@pytest.mark.parametrize("rank", [None, 60])
def test_weights_bring_the_samples_together(n_features, slack, rank):
    train, target = samples(301, 150, n_features)
    fitted = KMM(slack=slack, rank=rank).fit(train, target)
    w = fitted.weights(train)
    before = discrepancy(fitted, train, target, np.ones(301))
    assert discrepancy(fitted, train, target, w) < before / 2
    assert fitted.kkt_residual_ <= 1e-6
    assert np.average(train[:, 0], weights=w) == pytest.approx(target[:, 0].mean(), abs=0.1)


def test_weights_solve_the_program_of_the_paper():
    train, target = samples(200, 90, 3)
    fitted = KMM(bound=8.0, slack=0.1).fit(train, target)
    scaling = Scaling.of(train, target)
    x, y = scaling.apply(train), scaling.apply(target)
    kernel = gram(x, x, fitted.width_) + 1e-5 * np.eye(200)
    kappa = 200 / 90 * gram(x, y, fitted.width_).sum(1)
    assert missed(kernel / 200, kappa / 200, fitted.weights(train), 8.0, 0.1) < 1e-5


@pytest.mark.parametrize("rank", [None, 40])
@pytest.mark.parametrize("slack", [0.0, None])
def test_identical_samples_have_weights_of_one(rank, slack):
    train, _ = samples(120, 2, 4)
    w = KMM(slack=slack, rank=rank).fit(train, train).weights(train)
    assert w.tolist() == [1.0] * 120


@pytest.mark.parametrize("n", [97, 101, 128])
def test_no_row_is_left_without_a_weight(n):
    train, target = samples(n, 50, 2, shift=0.2)
    assert (KMM(rank=30).fit(train, target).weights(train) > 0).all()
    assert (KMM().fit(train, target).weights(train) > 0).all()


@pytest.mark.parametrize("n_features", [1, 3])
def test_the_bound_on_what_projecting_changes_holds(n_features):
    train, target = samples(300, 300, n_features)
    for rank in (3, 10, 40):
        fitted = KMM(rank=rank).fit(train, target)
        w = fitted.weights(train)
        exact = discrepancy(fitted, train, target, w)
        best = discrepancy(fitted, train, target, KMM().fit(train, target).weights(train))
        # Either side of the bound is used once: at the weights found, and at the best ones.
        assert exact - best <= 2 * fitted.kernel_error_ + 1e-6
    assert KMM().fit(train, target).kernel_error_ == 0


def test_a_full_projection_is_the_exact_solution():
    train, target = samples(60, 80, 2)
    exact, full = KMM(ridge=0.1), KMM(ridge=0.1, rank=60)
    full.fit(train, target)
    assert full.kernel_error_ < 1e-3
    np.testing.assert_allclose(
        full.weights(train), exact.fit(train, target).weights(train), atol=1e-3
    )


def test_a_ridge_draws_weights_towards_equal_ones():
    train, target = samples(200, 200, 5)
    spread = [KMM(ridge=r).fit(train, target).weights(train).std() for r in (1e-5, 0.1, 10.0)]
    assert spread[0] > spread[1] > spread[2]


def test_many_rows_need_no_matrix_of_all_pairs():
    n = 3 * EXACT
    train, target = samples(n, n, 3)
    tracemalloc.start()
    fitted = KMM(rank=50).fit(train, target)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The kernel of the rows picked from is the largest array, in three copies.
    assert peak < 5 * 8 * EXACT**2 < 8 * n**2
    assert fitted.kkt_residual_ <= 1e-6


@pytest.mark.slow
def test_a_hundred_thousand_rows_are_matched():
    train, target = samples(100_000, 100_000, 5)
    fitted = KMM().fit(train, target)
    w, ratio = fitted.weights(train), np.exp(0.7 * train[:, 0] - 0.245)
    assert fitted.kkt_residual_ <= 1e-6 and fitted.kernel_error_ < 1e-3
    assert np.corrcoef(w, ratio)[0, 1] > 0.9


def test_other_rows_than_those_fitted_on_are_refused():
    train, target = samples(50, 50, 2)
    fitted = KMM().fit(train, target)
    assert len(fitted.weights(train.astype(np.float64))) == 50
    for other in (target, train[:10], train[::-1]):
        with pytest.raises(DataError, match="KMM weighs the 50 rows it was fitted on"):
            fitted.weights(other)


def test_a_narrow_kernel_without_overlap_is_refused():
    train, target = samples(50, 50, 1, shift=100)
    for rank in (None, 20):
        with pytest.raises(NumericalError, match="outside the support"):
            KMM(width=0.01, rank=rank).fit(train, target)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bound": 1.0}, "bound is 1.0; expected a number above 1"),
        ({"slack": 1.0}, "slack is 1.0"),
        ({"slack": -0.1}, "slack is -0.1"),
        ({"ridge": -1.0}, "ridge is -1.0"),
        ({"tolerance": 0.0}, "tolerance is 0.0"),
        ({"width": 0.0}, "width"),
        ({"rank": 0}, "rank is 0"),
        ({"rank": 5, "bound": np.nan}, "bound is nan"),
    ],
    ids=str,
)
def test_settings_outside_their_range_are_refused(settings, words):
    with pytest.raises(ModelError, match=words):
        KMM(**settings).fit(*samples(20, 20, 2))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 80),
    st.sampled_from([1e-3, 0.3, 3.0, 1e3]),
    st.sampled_from([0.0, 1e-5]),
    st.sampled_from([None, 0.0]),
    st.booleans(),
    st.integers(0, 9),
)
def test_losses_of_a_batch_are_matched_whatever_they_are(n, width, ridge, slack, tied, seed):
    rng = derive(seed, "losses")
    losses, wanted = rng.exponential(size=(n, 1)), rng.exponential(0.5, size=(n, 1))
    if tied:
        losses = np.round(losses)
    kernel, kappa = gram(losses, losses, width), n * gram(losses, wanted, width).mean(1)
    found = match(kernel, kappa, bound=50, slack=slack, ridge=ridge)
    assert found.kkt_residual <= 1e-6
    allowed = 1 - n**-0.5 if slack is None else slack
    total = (kernel + ridge * np.eye(n)) / n
    assert missed(total, kappa / n, found.weights, 50, allowed) < 1e-5


def test_dense_and_factored_ways_agree():
    """A kernel just above and just below half rank is solved in two ways."""
    losses = np.sort(derive(0, "losses").exponential(size=(40, 1)), 0)
    wanted = derive(1, "losses").exponential(0.5, size=(40, 1))
    found = {}
    for width in (0.30, 0.31, 0.32, 0.33, 0.34, 0.35, 0.36, 0.37, 0.38):
        kernel = gram(losses, losses, width)
        kappa = 40 * gram(losses, wanted, width).mean(1)
        found[width] = match(kernel, kappa, ridge=0.1, bound=50).weights
    values = list(found.values())
    steps = [np.abs(a - b).max() for a, b in zip(values, values[1:], strict=False)]
    assert max(steps) < 3 * np.median(steps)  # no jump where the way changes


@pytest.mark.parametrize(
    ("kernel", "kappa"),
    [
        (np.eye(3), np.ones(2)),
        (np.ones((3, 2)), np.ones(3)),
        (np.full((2, 2), np.nan), np.ones(2)),
        (np.eye(2), np.array([1.0, np.inf])),
    ],
    ids=["sizes", "not square", "nan", "infinite"],
)
def test_a_kernel_that_is_none_is_refused(kernel, kappa):
    with pytest.raises(DataError, match=r"expected \(n, n\) and \(n,\)"):
        match(kernel, kappa)
