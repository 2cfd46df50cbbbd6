"""Rotation of many images at once, each by its own angle."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import cosdg, sindg

from firecv.data.arrays import Array
from firecv.data.pixels import check_images
from firecv.data.warp import warp
from firecv.errors import DataError


def rotate(images: Array, degrees: NDArray[np.float64] | float) -> Array:
    """Return images turned counter-clockwise about their centre, in the size they came in.

    Equal to ``scipy.ndimage.rotate(image, angle, reshape=False, order=1, mode="grid-constant")``
    image by image: bilinear, with zeros around the image, so that its edge fades out over one
    pixel. Float64 agrees to rounding; uint8 agrees except where the exact value lies within
    0.001 of halfway between two integers.

    Parameters
    ----------
    images
        ``uint8``, or floats in [0, 1], of shape (n_samples, height, width) or
        (n_samples, height, width, channels).
    degrees
        One angle for all images or one for each.

    Examples
    --------
    >>> rotate(np.array([[[1, 2], [3, 4]]], np.uint8), 90.0)
    array([[[2, 4],
            [1, 3]]], dtype=uint8)
    """
    check_images(images)
    angles = np.asarray(degrees, np.float64)
    if angles.shape not in ((), (len(images),)):
        raise DataError(
            f"got angles of shape {angles.shape} for {len(images)} images; give one angle, or one "
            "for each image"
        )
    if not np.isfinite(angles).all():
        raise DataError("got angles that are NaN or infinite; every angle must be a number")
    angles = np.broadcast_to(angles, len(images))
    cos, sin = cosdg(angles), sindg(angles)  # exact at multiples of 90 degrees
    return warp(images, np.stack([cos, sin, -sin, cos], axis=1).reshape(-1, 2, 2))
