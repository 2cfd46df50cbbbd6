"""What every corruption promises."""

from functools import cache

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from firecv.data.arrays import Array
from firecv.data.corruptions import CORRUPTIONS
from firecv.data.shifts import Corruption, corruption

CIFAR_10_C = (
    "gaussian_noise shot_noise impulse_noise defocus_blur glass_blur motion_blur zoom_blur snow "
    "frost fog brightness contrast elastic_transform pixelate jpeg_compression"
)
MNIST_C = "shear scale rotate translate stripe spatter dotted_line zigzag canny_edges"
SEVERITIES = range(1, 6)
NOT_RISING = {
    "glass_blur": "smoothing hides the disorder",
    "frost": "from severity 3 on the image is darkened as frost brightens it",
    "elastic_transform": "the affine map weakens as the distortion grows",
    "spatter": "from severity 4 on splashes are smaller",
}
"""Where the published constants do not make the squared change grow, and why."""


@cache
def smooth(shape: tuple[int, ...], dtype: str = "float32") -> Array:
    """Return smooth random images that take up all of [0, 1], read-only."""
    drawn = np.random.default_rng(0).normal(size=shape)
    blurred = gaussian_filter(drawn, (0, *(side / 10 for side in shape[1:3]), 0))
    blurred -= blurred.min(axis=(1, 2, 3), keepdims=True)
    images = (blurred / blurred.max(axis=(1, 2, 3), keepdims=True)).astype(dtype)
    images.flags.writeable = False
    return images


def corrupted(name: str, severity: int, images: Array, seed: int = 0) -> Array:
    return CORRUPTIONS[name](images, severity, np.random.default_rng(seed))


def test_all_that_were_published_are_there() -> None:
    assert list(CORRUPTIONS) == [*CIFAR_10_C.split(), *MNIST_C.split()]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(4, 8, 8, 1), (3, 13, 9, 3), (2, 32, 32, 3), (2, 9, 28, 2)])
@pytest.mark.parametrize("name", CORRUPTIONS)
def test_shape_type_and_range_are_kept(name: str, shape: tuple[int, ...], dtype: str) -> None:
    images = smooth(shape, dtype)
    before = images.copy()
    for severity in SEVERITIES:
        found = corrupted(name, severity, images)
        assert found.shape == shape and found.dtype == dtype
        assert found.min() >= 0 and found.max() <= 1  # false for NaN
        assert (found == corrupted(name, severity, images)).all()
        assert not np.shares_memory(found, images)
    assert (images == before).all()


@pytest.mark.parametrize("name", CORRUPTIONS)
@pytest.mark.parametrize("value", [0.0, 1.0, 0.5])
def test_images_of_one_colour_stay_in_range(name: str, value: float) -> None:
    found = corrupted(name, 5, np.full((2, 10, 12, 3), value, np.float32))
    assert found.min() >= 0 and found.max() <= 1


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", CORRUPTIONS)
def test_the_change_grows_with_severity(name: str, channels: int) -> None:
    images = smooth((60, 32, 32, channels))
    changes = [np.mean((corrupted(name, s, images) - images) ** 2) for s in SEVERITIES]
    assert min(changes) > 0
    if name not in NOT_RISING:
        assert all(b > 0.98 * a for a, b in zip(changes, changes[1:], strict=False)), changes
        assert changes[4] > 1.4 * changes[0]


@pytest.mark.parametrize("name", CORRUPTIONS)
@pytest.mark.parametrize("dtype", ["uint8", "float64"])
def test_the_shift_applies_it_to_any_images(name: str, dtype: str) -> None:
    images = smooth((5, 12, 10, 3))
    x = np.rint(images * 255).astype(np.uint8) if dtype == "uint8" else images.astype(dtype)
    y = np.arange(5)
    same = corruption(x, y, np.random.default_rng(0), "target", Corruption(name, 0))
    assert (same.x == x).all() and same.x.dtype == x.dtype
    other = corruption(x, y, np.random.default_rng(0), "target", Corruption(name, 5))
    assert (other.x != x).any() and other.x.dtype == x.dtype and (other.y == y).all()
    grey = corruption(x[..., 0], y, np.random.default_rng(0), "target", Corruption(name, 5))
    assert grey.x.shape == x.shape[:3]
