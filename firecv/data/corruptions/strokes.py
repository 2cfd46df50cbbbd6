"""Strokes and stripes drawn over images, after MNIST-C, which publishes one severity of each.

Here that is severity 3; the others have thinner or thicker strokes, narrower or wider stripes.
"""

import numpy as np
from numpy.typing import NDArray

from firecv.data.pixels import FloatImages

REACHES = (1.15, 1.725, 2.3, 3.45, 4.6)
"""Distance from a stroke, in rows, at which its brightness log(1 - distance / reach) + 1 ends."""


def stripe(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images inverted in a stripe along the left and the right edge."""
    share = (1 / 12, 1 / 6, 1 / 4, 1 / 3, 5 / 12)[severity - 1]
    width = round(share * images.shape[2])
    result = images.copy()
    for edge in (slice(None, width), slice(images.shape[2] - width, None)):
        result[:, :, edge] = 1 - result[:, :, edge]
    return result


def dotted_line(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images with a dotted straight line from the left edge to the right."""
    n, height, width, _ = images.shape
    ends = rng.integers(0, height - 1, (n, 2))
    columns = np.arange(width)
    rows = ends[:, :1] + (ends[:, 1:] - ends[:, :1]) * columns / (width - 1)
    return _drawn(images, rows, columns // 2 % 2 == 1, REACHES[severity - 1])


def zigzag(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images with a zigzag from left to right, two pixels up and down in every eight.

    Departure: the line is slanted by a shear, not a rotation, so that teeth lean a little less.
    """
    n, height, width, _ = images.shape
    first, last = 2 / 28 * width, 25 / 28 * width
    start = rng.integers(0, height - 1, (n, 1))
    slope = rng.integers(-5, 5, (n, 1)) * (height / 28) / (last - first)
    columns = np.arange(width)
    along = columns - first
    teeth = 2 - np.abs((along + 2) % 8 - 4)
    rows = start + slope * along - teeth
    return _drawn(images, rows, (along >= 0) & (columns <= last), REACHES[severity - 1])


def _drawn(
    images: FloatImages, rows: NDArray[np.float64], present: NDArray[np.bool_], reach: float
) -> FloatImages:
    """Return images with a white stroke added.

    Parameters
    ----------
    images
        Of shape (n_samples, height, width, channels).
    rows
        The row of the stroke in each column, of shape (n_samples, width).
    present
        Whether the stroke is drawn in a column.
    reach
        See `REACHES`.
    """
    distances = np.abs(np.arange(images.shape[1])[:, None] - rows[:, None])
    near = np.maximum(1 - distances / reach, np.exp(-1))
    stroke = (np.log(near) + 1) * present
    return np.clip(images + stroke[..., None].astype(images.dtype), 0, 1)
