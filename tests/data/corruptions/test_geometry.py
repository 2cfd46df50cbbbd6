"""Maps of images go where they are said to go."""

import numpy as np
import pytest
from scipy import ndimage

from firecv.data.corruptions.geometry import elastic_transform, rotate, scale, shear, translate

IMAGES = np.random.default_rng(0).random((12, 15, 13, 2))


@pytest.mark.parametrize("severity", range(1, 6))
def test_translate_moves_by_the_pixels_stated(severity: int) -> None:
    found = translate(IMAGES, severity, np.random.default_rng(0))
    ways: set[tuple[int, int]] = set()
    for image, result in zip(IMAGES, found, strict=True):
        for way in [(1, 1), (1, -1), (-1, 1), (-1, -1)]:
            expected = ndimage.shift(image, (*(severity * w for w in way), 0), order=0, cval=0)
            if (expected == result).all():
                ways.add(way)
                break
        else:
            pytest.fail("moved by something else")
    assert len(ways) == 4


@pytest.mark.parametrize(("severity", "angle"), [(1, 0.2), (2, 0.4), (5, 1.0)])
def test_rotate_turns_by_the_angle_stated_either_way(severity: int, angle: float) -> None:
    found = rotate(IMAGES, severity, np.random.default_rng(0))
    turned = [
        ndimage.rotate(
            IMAGES, way * np.rad2deg(angle), (2, 1), reshape=False, order=1, mode="grid-constant"
        )
        for way in (1, -1)
    ]
    ways = [np.isclose(found, t, atol=1e-9).all(axis=(1, 2, 3)) for t in turned]
    assert (ways[0] ^ ways[1]).all() and ways[0].any() and ways[1].any()


def test_scale_shrinks_about_the_centre() -> None:
    bright = np.ones((1, 20, 20, 1))
    found = scale(bright, 5, np.random.default_rng(0))[0, :, :, 0]
    assert (found[5:15, 5:15] == 1).all() and found.sum() == pytest.approx(100, rel=0.1)


def test_shear_keeps_the_centre_row_and_slants_the_others() -> None:
    line = np.zeros((30, 21, 21, 1))
    line[:, :, 10] = 1
    found = shear(line, 2, np.random.default_rng(0))[..., 0]
    assert (found[:, 10].argmax(axis=1) == 10).all()
    slants = {
        int(a - b) for a, b in zip(found[:, 5].argmax(1), found[:, 15].argmax(1), strict=True)
    }
    assert slants == {-4, 4}  # 10 rows times sin 0.4


def test_an_affine_map_alone_keeps_planes_flat() -> None:
    rows, columns = np.indices((24, 24)) / 100
    plane = np.broadcast_to((0.1 + rows + 2 * columns)[..., None], (5, 24, 24, 1))
    found = elastic_transform(plane, 1, np.random.default_rng(0))[:, 6:18, 6:18, 0]
    for axis in (1, 2):
        assert np.abs(np.diff(found, n=2, axis=axis)).max() < 1e-9
    assert np.abs(found - plane[:, 6:18, 6:18, 0]).max() > 0.01


def test_distortion_grows_with_severity_while_the_affine_map_weakens() -> None:
    rows, columns = np.indices((32, 32)) / 100
    plane = np.broadcast_to((rows + 2 * columns)[..., None], (30, 32, 32, 1))
    rough: list[float] = []
    for severity in range(1, 6):
        bent = elastic_transform(plane, severity, np.random.default_rng(0))[:, 6:26, 6:26]
        rough.append(np.abs(np.diff(bent, n=2, axis=1)).mean())
    assert (np.diff(rough) > 0).all()
