"""Gaussian noise on images and on tables."""

import numpy as np
from numpy.typing import NDArray

from firecv.data.arrays import Array
from firecv.data.pixels import FloatImages, change_images, check_images
from firecv.errors import DataError


def check_numbers(x: Array) -> None:
    """Check that an array holds images or a table of floats, all finite."""
    if x.ndim != 2:
        check_images(x)
    elif x.dtype.name not in ("float32", "float64") or not x.dtype.isnative:
        raise DataError(f"got a table of type {x.dtype}; make it float32 or float64: encode it")
    elif not np.isfinite(x).all():
        raise DataError("got a table with NaN or infinite values; replace them first")


def noise_unit(x: Array) -> NDArray[np.float64]:
    """Return what noise is measured in: 1 for images, each column's standard deviation else."""
    return np.ones(1) if x.ndim > 2 or len(x) == 0 else x.std(axis=0, dtype=np.float64)


def add_noise(x: Array, std: NDArray[np.float64], rng: np.random.Generator) -> Array:
    """Return images or a table with Gaussian noise of the standard deviations given."""

    def noisy(values: FloatImages) -> FloatImages:
        return values + std.astype(values.dtype) * rng.standard_normal(values.shape, values.dtype)

    return noisy(x) if x.ndim == 2 else change_images(x, noisy)
