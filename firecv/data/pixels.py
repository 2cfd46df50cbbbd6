"""What counts as images, and how functions on floats in [0, 1] are applied to them.

Images are ``uint8``, or ``float32`` or ``float64`` in [0, 1], of shape (n_samples, height, width)
or (n_samples, height, width, channels).
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firecv.data.arrays import Array
from firecv.errors import DataError

FloatImages = NDArray[np.floating[Any]]
"""Floats in [0, 1] of shape (n_samples, height, width, channels)."""

CHUNK = 1 << 20
"""Numbers that `change_images` converts at a time."""


def check_images(x: Array) -> None:
    """Check that an array holds images as this package understands them.

    Examples
    --------
    >>> check_images(np.zeros((5, 3), np.float32))
    Traceback (most recent call last):
    firecv.errors.DataError: got an array of shape (5, 3) and type float32; images have shape \
(n, height, width) or (n, height, width, channels)
    """
    if x.ndim not in (3, 4):
        raise DataError(
            f"got an array of shape {x.shape} and type {x.dtype}; images have shape "
            "(n, height, width) or (n, height, width, channels)"
        )
    if 0 in x.shape[1:]:
        raise DataError(f"got images of shape {x.shape}; every side must be at least one pixel")
    if x.dtype.name not in ("uint8", "float32", "float64") or not x.dtype.isnative:
        raise DataError(f"got images of type {x.dtype}; make them uint8, float32 or float64")
    if x.dtype != np.uint8 and x.size:
        low, high = x.min(), x.max()
        if not (low >= 0 and high <= 1):  # said this way round, it also refuses NaN
            raise DataError(
                f"got float images with values from {low} to {high}; they must lie in [0, 1]: "
                "divide by their full range, and replace NaN"
            )


def change_images(x: Array, change: Callable[[FloatImages], FloatImages]) -> Array:
    """Return images after a function on floats in [0, 1], in the type and shape they came in.

    The function is given copies of a few images at a time, with a channel axis, in float32 for
    uint8 images. What it returns is clipped to [0, 1] and, for uint8, rounded to nearest. It may
    return more channels than it was given.

    Examples
    --------
    >>> change_images(np.array([[[0, 100, 200]]], np.uint8), lambda x: 1.3 * x)
    array([[[  0, 130, 255]]], dtype=uint8)
    """
    parts = [_restored(change(_floats(x[part])), x) for part in chunks(len(x), x[:1].size, CHUNK)]
    return np.concatenate(parts) if parts else x.copy()


def chunks(n: int, size: int, most: int) -> Iterator[slice]:
    """Yield slices of `n` samples, each of `size` numbers, with at most `most` numbers in each.

    Examples
    --------
    >>> list(chunks(5, 10, 25))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, most // max(size, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def luminance(images: FloatImages) -> FloatImages:
    """Return the brightness of each pixel, with one channel.

    Examples
    --------
    >>> luminance(np.array([[[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]])).ravel()
    array([0.299, 0.587])
    """
    if images.shape[3] != 3:
        return images.mean(axis=3, keepdims=True)
    return images @ np.array([[0.299], [0.587], [0.114]], images.dtype)


def _floats(x: Array) -> FloatImages:
    """Return a copy in [0, 1] with a channel axis."""
    with_channels = x if x.ndim == 4 else x[..., None]
    if x.dtype == np.uint8:
        return with_channels.astype(np.float32) / np.float32(255)
    return with_channels.copy()


def _restored(values: FloatImages, x: Array) -> Array:
    """Return values in [0, 1] as images like `x`."""
    values = np.clip(values, 0, 1)
    if x.ndim == 3 and values.shape[3] == 1:
        values = values[..., 0]
    if x.dtype == np.uint8:
        return np.rint(values * 255).astype(np.uint8)
    return values.astype(x.dtype, copy=False)
