"""Brightness, contrast, pixels and JPEG by hand and by Pillow."""

import colorsys
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from firecv.data.corruptions.digital import brightness, contrast, jpeg_compression, pixelate

RNG = np.random.default_rng(0)
IMAGES = np.random.default_rng(1).random((3, 12, 10, 3))


def test_brightness_raises_the_value_of_every_colour() -> None:
    images = IMAGES.copy()
    images[0, 0, 0] = 0
    found = brightness(images, 4, RNG)
    for before, after in zip(images.reshape(-1, 3), found.reshape(-1, 3), strict=True):
        hue, saturation, value = colorsys.rgb_to_hsv(*before)
        expected = colorsys.hsv_to_rgb(hue, saturation, min(value + 0.2, 1))
        np.testing.assert_allclose(after, expected, atol=1e-12)


@pytest.mark.parametrize(("severity", "kept"), [(1, 0.75), (3, 0.4), (5, 0.15)])
def test_contrast_shrinks_towards_the_mean_of_each_channel(severity: int, kept: float) -> None:
    found = contrast(IMAGES, severity, RNG)
    means = IMAGES.mean(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(found - means, kept * (IMAGES - means), atol=1e-12)


def test_pixelate_keeps_uniform_images_and_follows_pillow() -> None:
    uniform = np.full((1, 28, 20, 3), 0.3, np.float32)
    np.testing.assert_allclose(pixelate(uniform, 5, RNG), uniform, rtol=1e-6)
    image = np.random.default_rng(2).random((32, 20)).astype(np.float32)
    small = Image.fromarray(image).resize((13, 20), Image.Resampling.BOX)  # int(0.65 * side)
    expected = np.asarray(small.resize((20, 32), Image.Resampling.BOX))
    found = pixelate(image[None, :, :, None], 5, RNG)[0, :, :, 0]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def through_pillow(image: np.ndarray, quality: int) -> np.ndarray:
    stream = BytesIO()
    Image.fromarray(image).save(stream, "JPEG", quality=quality)
    return np.asarray(Image.open(stream))


@pytest.mark.parametrize(("severity", "quality"), [(1, 80), (5, 40)])
def test_jpeg_is_that_of_pillow(severity: int, quality: int) -> None:
    integers = np.random.default_rng(3).integers(0, 256, (2, 16, 12, 3), np.uint8)
    for x in (integers, integers[..., :1], integers[..., :2]):
        found = np.rint(jpeg_compression(x / 255, severity, RNG) * 255)
        for image, compressed in zip(x, found, strict=True):
            if x.shape[3] == 3:
                assert (compressed == through_pillow(image, quality)).all()
                continue
            for channel in range(x.shape[3]):
                expected = through_pillow(np.ascontiguousarray(image[..., channel]), quality)
                assert (compressed[..., channel] == expected).all()
