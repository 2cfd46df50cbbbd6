"""Moments of the mixture against numpy, against simulation and against scikit-learn."""

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf

from firecv.errors import DataError
from firecv.fire.pooling import covariances, pooled, shrunk, standard_deviations
from firecv.fire.shares import check_strength, proportions
from firecv.fire.summaries import SketchSummary
from firecv.seeding import derive

LAWS = [(0.0, 1.0), (3.0, 0.5), (-1.0, 2.0)]
"""Mean and standard deviation of three fragments."""


def draw(law: tuple[float, float], n: int, rng: np.random.Generator) -> np.ndarray:
    """Return samples of two coordinates, the second skewed and dependent on the first."""
    z = rng.normal(size=n)
    return law[0] + law[1] * np.stack([z, z + rng.exponential(size=n)], 1)


def test_one_fragment_is_itself() -> None:
    rows = draw(LAWS[0], 50, derive(0))
    found = pooled([SketchSummary.of_rows(rows)])
    np.testing.assert_allclose(found.mean, rows.mean(0))
    np.testing.assert_allclose(found.covariance, np.cov(rows.T))
    np.testing.assert_allclose(found.noise, np.cov(rows.T) / 50)
    assert found.n_effective == pytest.approx(50)


def test_with_all_samples_used_the_noise_is_the_covariance_over_all() -> None:
    fragments = [draw(law, n, derive(1, n)) for law, n in zip(LAWS, (20, 30, 50), strict=True)]
    found = pooled([SketchSummary.of_rows(rows) for rows in fragments])
    np.testing.assert_allclose(found.noise, found.covariance / 100)
    np.testing.assert_allclose(found.mean, np.concatenate(fragments).mean(0))


def test_covariance_is_unbiased_for_fragments_of_unequal_size_and_use() -> None:
    sizes, used, rng = (4, 60, 936), (4, 12, 20), derive(2)
    found = [
        pooled(
            [
                SketchSummary.of_rows(draw(law, u, rng), n)
                for law, u, n in zip(LAWS, used, sizes, strict=True)
            ]
        ).covariance
        for _ in range(3000)
    ]
    many = np.concatenate([draw(law, 400 * n, rng) for law, n in zip(LAWS, sizes, strict=True)])
    np.testing.assert_allclose(np.mean(found, 0), np.cov(many.T), rtol=0.05)


def test_noise_is_that_of_fragments_cut_from_one_law() -> None:
    """However unevenly one sample is cut up and however little of it is used."""
    rng, means, noises = derive(3), [], []
    for _ in range(3000):
        rows = draw(LAWS[0], 120, rng)
        rows = rows[np.argsort(rows[:, 0])]  # as uneven as can be
        parts = np.split(rows, [30, 100])
        summaries = [
            SketchSummary.of_rows(rng.permutation(part)[:used], len(part))
            for part, used in zip(parts, (30, 10, 5), strict=True)
        ]
        found = pooled(summaries)
        means.append(found.mean)
        noises.append(found.noise)
    np.testing.assert_allclose(np.mean(noises, 0), np.cov(np.array(means).T), rtol=0.12)


def test_a_single_sample_gets_the_spread_of_the_others() -> None:
    a, b = (SketchSummary.of_rows(draw(LAWS[0], n, derive(4, n))) for n in (40, 10))
    lone = SketchSummary.of_rows(np.ones((1, 2)))
    found = covariances([a, lone, b])
    np.testing.assert_allclose(found[1], 0.8 * a.covariance + 0.2 * b.covariance)
    assert not lone.covariance.any()
    with pytest.raises(DataError, match="one sample"):
        pooled([lone, lone])


def test_the_widest_fragment_is_narrowed_to_ten_medians() -> None:
    plain = [SketchSummary.of_rows(draw(LAWS[0], 40, derive(6, i))) for i in range(4)]
    wild = SketchSummary(40, 40, np.zeros(2), 1e8 * plain[0].covariance)
    found = covariances([*plain, wild])
    for got, given in zip(found, plain, strict=False):
        np.testing.assert_array_equal(got, given.covariance)
    ratio = found[4] / plain[0].covariance
    np.testing.assert_allclose(ratio, ratio[0, 0])
    assert 3 < ratio[0, 0] < 30


@pytest.mark.parametrize(("n", "k"), [(8, 20), (50, 20), (500, 3)])
def test_shrinkage_of_plain_samples_is_ledoit_and_wolfs(n: int, k: int) -> None:
    rows = derive(5, n).exponential(size=(n, k)) * np.arange(1, k + 1)
    centred = rows - rows.mean(0)
    found = shrunk(centred, centred.T @ centred / n, n)
    np.testing.assert_allclose(found, ledoit_wolf(rows)[0], rtol=1e-6)


def test_coordinates_that_vary_by_rounding_do_not_count() -> None:
    found = standard_deviations(np.diag([4.0, 1e-16, 0.0]), np.array([1.0, 5.0, 0.0]))
    assert found.tolist() == [2.0, np.inf, np.inf]


@pytest.mark.parametrize("sizes", [[], [3, 0], [3, -1], [3, float("nan")], [[3]]])
def test_sizes_are_positive_numbers(sizes) -> None:
    with pytest.raises(DataError, match="sizes"):
        proportions(sizes)


@pytest.mark.parametrize("strength", [-1.0, float("inf"), float("nan")])
def test_strengths_are_finite_and_not_negative(strength: float) -> None:
    with pytest.raises(DataError, match="strength"):
        check_strength(strength)


def summary(**changes) -> SketchSummary:
    fields = {"n": 9, "used": 3, "mean": np.zeros(2), "covariance": np.eye(2)} | changes
    return SketchSummary(**fields)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (summary(mean=np.zeros(3), covariance=np.eye(3)), "fragment 1 has a mean and covariance"),
        (summary(covariance=np.eye(3)), "fragment 1 has a mean and covariance"),
        (summary(used=10), "10 of 9 samples"),
        (summary(used=0), "0 of 9 samples"),
        (summary(n=0), "sizes"),
        (summary(mean=np.array([0.0, np.inf])), "NaN or infinite"),
        (summary(covariance=np.full((2, 2), np.nan)), "NaN or infinite"),
    ],
)
def test_summaries_that_do_not_fit_are_refused(bad: SketchSummary, message: str) -> None:
    with pytest.raises(DataError, match=message):
        pooled([summary(), bad])
