"""Moving, zooming and trailing batches of images: what several corruptions are made of."""

from typing import Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from firecv.data.arrays import Array
from firecv.data.pixels import FloatImages


def moved(padded: Array, down: Array, right: Array, size: tuple[int, int]) -> Array:
    """Return a window of each padded image, at its own place.

    Parameters
    ----------
    padded
        Of shape (n_samples, height, width, channels).
    down, right
        Upper left corner of each image's window, whole numbers.
    size
        Height and width of the windows.
    """
    windows = sliding_window_view(padded, size, axis=(1, 2))
    return windows[np.arange(len(padded)), down, right].transpose(0, 2, 3, 1)


def trail(
    images: FloatImages,
    radius: float,
    sigma: float,
    degrees: NDArray[np.float64],
    beyond: Literal["edge", "wrap"] = "edge",
) -> FloatImages:
    """Return images blurred along one direction each, as if moved while exposed.

    Each pixel is a mean of those at distances 0, 1, 2 and so on to one side, rounded to whole
    pixels, with the weights of half a Gaussian.

    Parameters
    ----------
    images
        Of shape (n_samples, height, width, channels).
    radius
        There are 2 * radius + 1 distances.
    sigma
        Standard deviation of the Gaussian, in pixels.
    degrees
        Each image's direction, clockwise from the right.
    beyond
        What lies beyond an edge: the last pixel again and again, or the opposite side.
    """
    reach = 2 * int(np.ceil(radius))
    distances = np.arange(reach + 1)
    weights = np.exp(-(distances**2) / (2 * sigma**2)).astype(images.dtype)
    weights /= weights.sum()
    angles = np.deg2rad(degrees)
    width = np.array([[0, 0], [reach, reach], [reach, reach], [0, 0]])
    padded = np.pad(images, width, mode=beyond)
    result = np.zeros_like(images)
    for distance, weight in zip(distances, weights, strict=True):
        down = reach + np.rint(distance * np.sin(angles)).astype(np.intp)
        right = reach + np.rint(distance * np.cos(angles)).astype(np.intp)
        result += weight * moved(padded, down, right, images.shape[1:3])
    return result


def zoomed(images: FloatImages, factor: float) -> FloatImages:
    """Return the middle of images, enlarged linearly by a factor to the size they came in."""
    down = zoom_matrix(images.shape[1], factor).astype(images.dtype)
    across = zoom_matrix(images.shape[2], factor).astype(images.dtype)
    return np.einsum("rh,nhwc,sw->nrsc", down, images, across, optimize=True)


def zoom_matrix(side: int, factor: float) -> NDArray[np.float64]:
    """Return the matrix that enlarges the middle of one side linearly, of shape (side, side)."""
    kept = int(np.ceil(side / factor))
    grown = round(kept * factor)
    first, trimmed = (side - kept) // 2, (grown - side) // 2
    places = np.linspace(0, kept - 1, grown)[trimmed : trimmed + side] + first
    return np.maximum(0, 1 - np.abs(places[:, None] - np.arange(side)))
