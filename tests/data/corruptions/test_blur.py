"""Blurs spread a point as they should, and keep what is uniform."""

import numpy as np
import pytest

from firecv.data.corruptions.blur import defocus_blur, glass_blur, motion_blur, zoom_blur
from firecv.data.corruptions.resample import trail, zoom_matrix, zoomed

BLURS = [defocus_blur, glass_blur, motion_blur, zoom_blur]


@pytest.mark.parametrize("blur", BLURS)
@pytest.mark.parametrize("severity", range(1, 6))
def test_uniform_images_are_kept(blur: type[object], severity: int) -> None:
    images = np.full((2, 11, 9, 3), 0.3)
    found = blur(images, severity, np.random.default_rng(0))  # pyright: ignore[reportCallIssue]
    np.testing.assert_allclose(found, images, rtol=1e-12)


def test_defocus_spreads_a_point_over_a_disc() -> None:
    point = np.zeros((1, 9, 9, 1))
    point[0, 4, 4] = 1
    found = defocus_blur(point, 5, np.random.default_rng(0))[0, :, :, 0]
    np.testing.assert_allclose(found[3:6, 3:6], np.full((3, 3), 1 / 9), rtol=1e-12)
    assert abs(found.sum() - 1) < 1e-12


def test_behind_glass_every_pixel_comes_from_itself_or_up_and_left() -> None:
    places = np.arange(100.0).reshape(1, 10, 10, 1) / 100
    found = np.rint(glass_blur(places, 1, np.random.default_rng(0))[0, :, :, 0] * 100)
    steps = np.rint(places[0, :, :, 0] * 100) - found
    assert (steps[:2] == 0).all() and (steps[:, :2] == 0).all()
    assert set(steps[2:, 2:].ravel()) == {0, 1, 10, 11}


@pytest.mark.parametrize(("degrees", "step"), [(0, (0, -1)), (90, (-1, 0)), (-45, (0.7, -0.7))])
def test_a_trail_is_half_a_gaussian_in_one_direction(
    degrees: float, step: tuple[float, float]
) -> None:
    point = np.zeros((1, 21, 21, 1))
    point[0, 10, 10] = 1
    found = trail(point, 3, 1.5, np.array([degrees]))[0, :, :, 0]
    weights = np.exp(-(np.arange(7) ** 2) / (2 * 1.5**2))
    expected = np.zeros((21, 21))
    for distance, weight in enumerate(weights / weights.sum()):
        row, column = (10 + round(distance * part) for part in step)
        expected[row, column] += weight
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_trail_may_go_round() -> None:
    point = np.zeros((1, 8, 8, 1))
    point[0, 4, 0] = 1
    found = trail(point, 1, 1.0, np.array([0.0]), "wrap")[0, 4, :, 0]
    assert (found > 0).tolist() == [True, *[False] * 5, True, True]
    assert abs(found.sum() - 1) < 1e-12


def test_zooming_by_one_changes_nothing_and_by_two_shows_the_middle() -> None:
    images = np.random.default_rng(0).random((2, 8, 8, 1))
    np.testing.assert_allclose(zoomed(images, 1.0), images, rtol=1e-12)
    corners = zoomed(images, 2.0)[:, [0, 0, -1, -1], [0, -1, 0, -1]]
    np.testing.assert_allclose(corners, images[:, [2, 2, 5, 5], [2, 5, 2, 5]], rtol=1e-12)


@pytest.mark.parametrize("side", [8, 9, 28, 33])
@pytest.mark.parametrize("factor", [1.0, 1.01, 1.13, 1.25, 2.25])
def test_rows_of_a_zoom_are_means(side: int, factor: float) -> None:
    matrix = zoom_matrix(side, factor)
    assert matrix.shape == (side, side) and (matrix >= 0).all()
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-12)
