"""Edges in place of images, after MNIST-C."""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import correlate1d, gaussian_filter, label

from firecv.data.pixels import FloatImages, luminance

LOW, HIGH = 0.1, 0.2
"""Slopes from which a pixel may belong to an edge, and from which it makes one."""


def canny_edges(images: FloatImages, severity: int, rng: np.random.Generator) -> FloatImages:
    """Return images faded into their edges by Canny's detector, white on black.

    Departures: MNIST-C publishes one severity, the edges alone, which is severity 5 here; lower
    ones keep a share of the image. A slope is compared with its neighbours along the nearest of
    four directions, without interpolating between them. Colours are reduced to their brightness.
    """
    share = images.dtype.type((0.2, 0.4, 0.6, 0.8, 1.0)[severity - 1])
    edges = find_edges(luminance(images)[..., 0])
    return (1 - share) * images + share * edges[..., None]


def find_edges(images: FloatImages) -> NDArray[np.bool_]:
    """Return which pixels lie on edges of grey images (n_samples, height, width).

    Examples
    --------
    >>> step = np.zeros((1, 8, 8))
    >>> step[:, :, 4:] = 1
    >>> find_edges(step)[0].sum(axis=0)
    array([0, 0, 0, 6, 0, 0, 0, 0])
    """
    smooth = gaussian_filter(images, 1.0, mode="nearest", axes=(1, 2))
    down, right = (
        correlate1d(correlate1d(smooth, [-1, 0, 1], along), [1, 2, 1], across)
        for along, across in ((1, 2), (2, 1))
    )
    slope = np.hypot(down, right)
    ridge = _largest_across(slope, down, right)
    ridge[:, [0, -1]] = ridge[:, :, [0, -1]] = False
    in_plane = np.zeros((3, 3, 3), bool)
    in_plane[1] = True
    weak = np.zeros(slope.shape, np.int32)
    label(ridge & (slope >= LOW), in_plane, output=weak)
    strong = np.zeros(weak.max(initial=0) + 1, bool)
    strong[np.unique(weak[ridge & (slope >= HIGH)])] = True
    strong[0] = False
    return strong[weak]


def _largest_across(slope: FloatImages, down: FloatImages, right: FloatImages) -> NDArray[np.bool_]:
    """Return where the slope is no smaller than at both neighbours in its own direction."""
    sector = np.rint(np.arctan2(down, right) / (np.pi / 4)).astype(np.intp) % 4
    padded = np.pad(slope, np.array([[0, 0], [1, 1], [1, 1]]))
    height, width = slope.shape[1:]
    largest = np.zeros(slope.shape, bool)
    for number, (row, column) in enumerate([(0, 1), (1, 1), (1, 0), (1, -1)]):
        ahead, behind = (
            padded[:, 1 + s * row : 1 + s * row + height, 1 + s * column : 1 + s * column + width]
            for s in (1, -1)
        )
        # A tie between two neighbours goes to one of them, so that edges stay one pixel wide.
        largest |= (sector == number) & (slope >= ahead) & (slope > behind)
    return largest
