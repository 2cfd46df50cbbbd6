"""Weather adds what it should where it should."""

import numpy as np
import pytest

from firecv.data.corruptions.fractal import landscapes
from firecv.data.corruptions.weather import MUD, fog, frost, snow, spatter

GREY = np.full((10, 20, 24, 3), 0.4)


@pytest.mark.parametrize("size", [(8, 8), (9, 30), (32, 32), (33, 5)])
def test_landscapes_fill_the_range_and_differ(size: tuple[int, int]) -> None:
    found = landscapes(4, size, 2.0, np.random.default_rng(0))
    assert found.shape == (4, *size) and found.min() >= 0 and found.max() <= 1
    assert np.abs(found[0] - found[1]).max() > 0.1
    square = landscapes(4, (16, 16), 2.0, np.random.default_rng(0))
    assert (square.min(axis=(1, 2)) == 0).all() and (square.max(axis=(1, 2)) == 1).all()


def test_landscapes_are_the_same_in_law_everywhere() -> None:
    found = landscapes(4000, (8, 8), 1.5, np.random.default_rng(0))
    means = found.mean(axis=0)
    assert np.abs(means - means.mean()).max() < 0.06


def test_snow_only_brightens_and_frost_is_bluish() -> None:
    snowy = snow(GREY, 2, np.random.default_rng(0))
    assert (snowy >= GREY - 1e-12).all() and (snowy > 0.6).any()
    frozen = frost(GREY, 2, np.random.default_rng(0)) - GREY
    assert (frozen >= 0).all() and (frozen[..., 2] >= frozen[..., 0]).all()
    assert 0.1 < (frozen / 0.3).mean() < 0.7


def test_frost_hides_more_of_the_image_the_more_severe() -> None:
    images = np.random.default_rng(0).random((40, 16, 16, 1))
    seen = [
        np.corrcoef(images.ravel(), frost(images, s, np.random.default_rng(1)).ravel())[0, 1]
        for s in range(1, 6)
    ]
    assert (np.diff(seen) < 0).all()


def test_fog_keeps_the_brightest_value_and_black_stays_black() -> None:
    found = fog(GREY, 5, np.random.default_rng(0))
    assert found.max() == pytest.approx(0.4) and found.min() < 0.2
    assert (fog(np.zeros((1, 8, 8, 1)), 3, np.random.default_rng(0)) == 0).all()


def test_spatter_is_mud_coloured() -> None:
    found = spatter(np.zeros((10, 30, 30, 3)), 3, np.random.default_rng(0))
    share = found / MUD
    np.testing.assert_allclose(share[..., 0], share[..., 1], atol=1e-12)
    assert set(np.unique((share[..., 0] == 0) | (share[..., 0] >= 0.8))) == {True}
    assert 0.05 < (share[..., 0] > 0).mean() < 0.5
