"""Random landscapes: rough surfaces whose detail falls off from scale to scale."""

import numpy as np
from numpy.typing import NDArray


def landscapes(
    n: int, size: tuple[int, int], decay: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return random surfaces by the diamond-square method, each with values from 0 to 1.

    A coarse periodic grid is refined again and again: new points are means of the four around
    them, plus uniform noise. The noise shrinks by decay**2 at each refinement.

    Parameters
    ----------
    n
        Number of surfaces.
    size
        Height and width, cut out of a square of the next power of two.
    decay
        The larger, the smoother.
    rng
        Source of the noise.

    Examples
    --------
    >>> rough, smooth = (landscapes(9, (32, 32), d, np.random.default_rng(0)) for d in (1.2, 3.0))
    >>> [float(np.abs(np.diff(s)).mean().round(2)) for s in (rough, smooth)]
    [0.08, 0.02]
    """
    side = 1 << (max(size) - 1).bit_length()
    surface = np.zeros((n, side, side))
    step, height = side, 1.0
    while step >= 2:
        half = step // 2
        corners = surface[:, ::step, ::step]
        middles = _mean(corners, _next(corners, 1), _next(corners, 2), _next(corners, 1, 2))
        middles += rng.uniform(-height, height, middles.shape)
        surface[:, half::step, half::step] = middles
        above, left = np.roll(middles, 1, 1), np.roll(middles, 1, 2)
        for rows, columns, other, beside in ((0, half, above, 2), (half, 0, left, 1)):
            edges = _mean(corners, _next(corners, beside), middles, other)
            edges += rng.uniform(-height, height, edges.shape)
            surface[:, rows::step, columns::step] = edges
        step, height = half, height / decay**2
    surface -= surface.min(axis=(1, 2), keepdims=True)
    surface /= surface.max(axis=(1, 2), keepdims=True)
    return surface[:, : size[0], : size[1]]


def _next(grid: NDArray[np.float64], *axes: int) -> NDArray[np.float64]:
    """Return for every point its neighbour one on along the axes, going round at the end."""
    return np.roll(grid, -1, axes)


def _mean(*grids: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of grids, point by point."""
    return np.mean(grids, axis=0)
