"""Which weights are taken where fragments differ in classes, and how far V is from a mixture."""

import numpy as np
import pytest

from firecv.fire.explained import MOST_LEFT, explained, left
from firecv.fire.mixture import mixture
from firecv.fire.pooling import pooled
from firecv.fire.shift_test import shift_test
from firecv.fire.summaries import SketchSummary
from firecv.seeding import derive

CENTRES = (0.0, 1.0, 2.0)
FAR = np.array([2.0, 2.0, 2.0, 8.0])
"""Like the last fragment, but for something that none of them has."""


def fragments(n=300):
    return [
        SketchSummary.of_rows(derive(k, "fragment").normal(centre, 1, (n, 4)))
        for k, centre in enumerate(CENTRES)
    ]


def rows(centre, n=100, seed=0):
    return derive(seed, "validation").normal(centre, 1, (n, 4))


@pytest.mark.parametrize(
    ("found", "centre", "moves"),
    [
        ([0.1, 0.2, 0.7], 2.0, True),  # V is like the last fragment, and weights go there
        ([0.8, 0.1, 0.1], 2.0, False),  # the wrong way
        ([0.1, 0.5, 0.4], 2.0, False),  # hardly the same way
        ([1 / 3, 1 / 3, 1 / 3], 2.0, False),  # no way at all
        ([0.1, 0.2, 0.7], FAR, False),  # no mixture explains V
        ([0.8, 0.1, 0.1], FAR, False),
    ],
)
def test_weights_move_only_where_a_mixture_explains_v_and_points_the_same_way(found, centre, moves):
    found, v, some = np.array(found), rows(centre), fragments()
    nearest = mixture(v, some)
    assert (left(v, some, nearest) <= MOST_LEFT) == (centre is not FAR)
    np.testing.assert_array_equal(explained(found, v, some), found if moves else np.full(3, 1 / 3))


def test_without_shift_it_is_the_sizes():
    some = [SketchSummary.of_rows(derive(k, "same").normal(0, 1, (300, 4))) for k in range(3)]
    np.testing.assert_array_equal(
        explained(np.array([0.8, 0.1, 0.1]), rows(0.0), some), np.full(3, 1 / 3)
    )


@pytest.mark.parametrize("weights", [[0.0, 0.0, 1.0], [0.0, 0.5, 0.5], [0.2, 0.3, 0.5]])
def test_what_is_left_does_not_depend_on_the_size_of_v(weights):
    weights, some = np.array(weights), fragments(20_000)
    few, many = (
        np.mean([left(rows(2.0, n, seed), some, weights) for seed in range(40)]) for n in (50, 500)
    )
    assert few == pytest.approx(many, abs=0.01)
    assert (many < 1e-3) == (weights[2] == 1)


def test_given_shares_stand_for_sizes():
    some = [
        SketchSummary.of_rows(derive(k, "fragment").normal(centre, 1, (n, 4)))
        for k, (n, centre) in enumerate(zip((100, 300), (0.0, 1.0), strict=True))
    ]
    by_size, by_share = pooled(some), pooled(some, np.array([0.25, 0.75]))
    np.testing.assert_array_equal(by_size.mean, by_share.mean)
    np.testing.assert_array_equal(by_size.covariance, by_share.covariance)
    # Shares that are chosen and not drawn add nothing to the noise of the mean.
    within = sum(s**2 * f.covariance / f.used for s, f in zip((0.25, 0.75), some, strict=True))
    np.testing.assert_allclose(by_share.noise, within)
    assert np.trace(by_share.noise) < np.trace(by_size.noise)
    one = np.array([0.0, 1.0])
    assert shift_test(rows(1.0), some, shares=one).p_value > 0.05
    assert shift_test(rows(1.0), some, shares=1 - one).rejects
