"""Rotation equals SciPy's, image by image."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from firecv.data.arrays import Array
from firecv.data.rotation import rotate
from firecv.errors import DataError


def by_scipy(images: Array, degrees: Array) -> Array:
    """Rotate in float64, image by image."""
    return np.stack(
        [
            ndimage.rotate(i.astype(np.float64), d, reshape=False, order=1, mode="grid-constant")
            for i, d in zip(images, degrees, strict=True)
        ]
    )


def wrongly_rounded(found: Array, exact: Array) -> Array:
    """Return how far from halfway the exact values lie whose rounding is not as found."""
    return np.abs(exact[found != np.floor(exact + 0.5)] % 1 - 0.5)


@settings(max_examples=60, deadline=None)
@given(
    shape=st.tuples(*[st.integers(1, 40)] * 2) | st.tuples(*[st.integers(1, 40)] * 2, st.just(3)),
    turns=st.floats(-2, 2),
    seed=st.integers(0, 100),
)
def test_equals_scipy_on_any_size(shape: tuple[int, ...], turns: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    images, degrees = rng.random((3, *shape)), 360 * turns + rng.uniform(-10, 10, 3)
    exact = by_scipy(images, degrees)
    np.testing.assert_allclose(rotate(images, degrees), exact, rtol=0, atol=1e-9)
    single = rotate(images.astype(np.float32), degrees)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, exact, rtol=0, atol=2e-5)
    integers = rng.integers(0, 256, images.shape, np.uint8)
    assert (wrongly_rounded(rotate(integers, degrees), by_scipy(integers, degrees)) < 1e-3).all()


@pytest.mark.parametrize("side", [28, 32, 33, 300])
def test_uint8_is_rounded_like_the_exact_value(side: int) -> None:
    rng = np.random.default_rng(side)
    n = 2_000_000 // side**2
    images = rng.choice(np.array([0, 255], np.uint8), (n, side, side))  # the steepest slopes
    degrees = rng.uniform(-360, 360, n)
    assert (wrongly_rounded(rotate(images, degrees), by_scipy(images, degrees)) < 1e-3).all()


@pytest.mark.parametrize("shape", [(5, 5), (6, 6), (28, 28), (7, 7, 3)])
@pytest.mark.parametrize("quarters", [-5, -1, 0, 1, 2, 3, 4])
def test_right_angles_are_those_of_numpy(shape: tuple[int, ...], quarters: int) -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (4, *shape), np.uint8)
    expected = np.rot90(images, quarters, axes=(1, 2))
    assert (rotate(images, 90.0 * quarters) == expected).all()
    np.testing.assert_allclose(
        rotate(images / 255, 90.0 * quarters), expected / 255, rtol=0, atol=1e-12
    )


def test_every_image_has_its_own_angle_over_many_chunks() -> None:
    rng = np.random.default_rng(1)
    images, degrees = rng.integers(0, 256, (700, 28, 28), np.uint8), rng.uniform(0, 180, 700)
    together = rotate(images, degrees)
    alone = [rotate(images[i : i + 1], degrees[i])[0] for i in range(0, 700, 50)]
    assert (together[::50] == np.stack(alone)).all()


def test_any_number_of_threads_gives_the_same() -> None:
    rng = np.random.default_rng(2)
    images, degrees = rng.integers(0, 256, (5000, 28, 28), np.uint8), rng.uniform(0, 180, 5000)
    before = torch.get_num_threads()
    found: list[Array] = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append(rotate(images, degrees))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()


def test_inputs_are_left_alone_whatever_their_layout() -> None:
    rng = np.random.default_rng(2)
    images = rng.random((9, 8, 5, 3)).transpose(1, 2, 0, 3)
    before = images.copy()
    images.flags.writeable = False
    found = rotate(images, np.linspace(0, 90, 8))
    assert (images == before).all()
    assert (found == rotate(before, np.linspace(0, 90, 8))).all()


def test_no_images_give_no_images() -> None:
    assert rotate(np.zeros((0, 4, 4), np.uint8), 10.0).shape == (0, 4, 4)


@pytest.mark.parametrize(
    ("images", "degrees", "message"),
    [
        (np.zeros((3, 4)), 0.0, "height, width"),
        (np.zeros((3, 4, 4)), np.zeros(2), "one angle"),
        (np.zeros((3, 4, 4)), np.nan, "NaN"),
        (np.full((3, 4, 4), 7.0), 1.0, r"\[0, 1\]"),
        (np.full((3, 4, 4), np.nan), 1.0, "NaN"),
        (np.zeros((3, 4, 4), np.int64), 1.0, "int64"),
        (np.zeros((3, 0, 4)), 1.0, "one pixel"),
    ],
)
def test_bad_input_is_refused(images: Array, degrees: float, message: str) -> None:
    with pytest.raises(DataError, match=message):
        rotate(images, degrees)
