"""Skewed pieces follow the Dirichlet law and its limits."""

import math

import numpy as np
import pytest

from firecv.data.fragments import taken
from firecv.data.skew import Dirichlet, Quantity, dirichlet, quantity
from firecv.errors import DataError
from firecv.seeding import derive
from tests.fragment_cases import make


def shares(arrays, cut):
    """Return which part of each class every fragment holds, of shape (n_fragments, n_classes)."""
    counts = np.array([np.bincount(arrays.y[rows], minlength=3) for rows in cut.values()])
    return counts / counts.sum(axis=0)


@pytest.mark.parametrize("alpha", [1e9, 1e308, math.inf])
def test_large_alpha_shares_every_class_evenly(alpha):
    arrays = make(305)
    cut = dirichlet(arrays, derive(0), Dirichlet(n=10, alpha=alpha))
    counts = shares(arrays, cut) * np.bincount(arrays.y)
    assert np.ptp(np.round(counts), axis=0).max() <= 1
    sizes = [len(rows) for rows in quantity(arrays, derive(0), Quantity(10, alpha)).values()]
    assert np.ptp(sizes) <= 1


def test_small_alpha_puts_each_class_in_one_fragment():
    arrays = make(300)
    cut = dirichlet(arrays, derive(0), Dirichlet(n=3, alpha=1e-3))
    np.testing.assert_allclose(np.sort(shares(arrays, cut), axis=0)[-1], 1, atol=0.02)


def test_shares_follow_the_dirichlet_law():
    arrays = make(3000)
    first = [
        shares(arrays, dirichlet(arrays, derive(seed), Dirichlet(n=4, alpha=0.7, min_size=1)))[0]
        for seed in range(300)
    ]
    # Dirichlet(a 1_n): mean 1/n, variance (n - 1) / (n^2 (n a + 1)).
    np.testing.assert_allclose(np.mean(first), 1 / 4, atol=0.03)
    np.testing.assert_allclose(np.var(first), 3 / (16 * 3.8), rtol=0.15)
    # Classes are drawn independently.
    assert abs(np.corrcoef(np.array(first).T)[0, 1]) < 0.2


def test_quantity_skew_varies_sizes_and_leaves_class_shares_alone():
    arrays = make(3000)
    cut = quantity(arrays, derive(0), Quantity(n=5, alpha=0.5, min_size=100))
    sizes = np.array([len(rows) for rows in cut.values()])
    assert sizes.max() > 2 * sizes.min()
    for part in taken(arrays, cut).values():
        np.testing.assert_allclose(np.bincount(part.y) / len(part), 1 / 3, atol=0.1)


@pytest.mark.parametrize("settings_type", [Dirichlet, Quantity])
def test_impossible_and_hopeless_skews_are_refused(settings_type):
    cut = {Dirichlet: dirichlet, Quantity: quantity}[settings_type]
    with pytest.raises(DataError, match="200 samples cannot make 10 fragments of at least 21"):
        cut(make(), derive(0), settings_type(n=10, min_size=21))
    with pytest.raises(DataError, match="1000 draws with alpha=0.001 .* raise alpha"):
        cut(make(), derive(0), settings_type(n=10, alpha=0.001))
    for alpha in (0, -1, math.nan):
        with pytest.raises(DataError, match="alpha is"):
            settings_type(alpha=alpha)
