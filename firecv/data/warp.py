"""Linear maps of many images at once, each image about its centre by its own matrix.

An output pixel at offset (row, column) from the centre takes the value found at matrix @ offset
in the input, interpolated linearly between the four nearest pixels, with zeros all around the
image. This is SciPy's ``affine_transform`` with ``order=1, mode="grid-constant"``, under which an
image fades out over one pixel at its edge, rather than ``mode="constant"``, under which it breaks
off: there a rounding error in the last digit decides whether a pixel on the edge is kept.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import grid_sample

from firecv.data.arrays import Array

CHUNK = 200_000
"""Numbers worked on at a time: 255 images of 28 x 28. They then stay close to the core."""

SMALL = 32
"""Largest side for float32, in which a pixel is then placed to about a millionth of its width."""


def warp(images: Array, matrices: NDArray[np.float64]) -> Array:
    """Return images mapped about their centres, in the size and type they came in.

    The work is done in float32 for small images that are not float64, and in float64 otherwise.

    Parameters
    ----------
    images
        Of shape (n_samples, height, width) or (n_samples, height, width, channels).
    matrices
        From output to input offsets, (row, column), of shape (n_samples, 2, 2).

    Examples
    --------
    >>> flip = np.array([[[1.0, 0.0], [0.0, -1.0]]])
    >>> warp(np.array([[[1, 2, 3], [4, 5, 6]]], np.uint8), flip)
    array([[[3, 2, 1],
            [6, 5, 4]]], dtype=uint8)
    """
    height, width = images.shape[1:3]
    exact = images.dtype == np.float64 or max(height, width) > SMALL
    # Torch multiplies places by the sides, without rounding if these are powers of two.
    sides = (height, width) if exact else (_power_of_two(height), _power_of_two(width))
    dtype = torch.float64 if exact else torch.float32
    offsets, maps = _geometry((height, width), sides, matrices, dtype)
    with_channels = images if images.ndim == 4 else images[..., None]
    result = np.empty(with_channels.shape, images.dtype)
    most = max(1, CHUNK // with_channels[0].size) if len(images) else 0
    pixels = torch.zeros((most, with_channels.shape[3], *sides), dtype=dtype)
    places = torch.zeros((most, 2, height, width), dtype=dtype)
    some_maps = torch.zeros((most, *maps.shape[1:]), dtype=dtype)
    for start in range(0, len(images), max(most, 1)):
        part = slice(start, min(start + most, len(images)))
        n = part.stop - start
        some = with_channels[part]
        if not (some.flags.c_contiguous and some.flags.writeable):  # torch takes no others
            some = some.copy(order="C")
        pixels[:n, :, :height, :width] = torch.from_numpy(some).permute(0, 3, 1, 2)
        some_maps[:n] = maps[part]
        # Always of one shape: its last digit may depend on that, and so on the other images.
        torch.mm(some_maps.flatten(0, 1), offsets, out=places.view(2 * most, -1))
        found = grid_sample(pixels[:n], places[:n].permute(0, 2, 3, 1), align_corners=False)
        if images.dtype == np.uint8:
            found += 0.5  # the cast cuts off, so this rounds to nearest
        np.copyto(result[part], found.numpy().transpose(0, 2, 3, 1), casting="unsafe")
    return result.reshape(images.shape)


def _power_of_two(side: int) -> int:
    """Return the smallest power of two that is not below `side`."""
    return 1 << (side - 1).bit_length()


def _geometry(
    size: tuple[int, int],
    sides: tuple[int, int],
    matrices: NDArray[np.float64],
    dtype: torch.dtype,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return factors of which the product says where output pixels come from, as torch counts.

    Torch counts (column, row) from the centre of `sides`, in units of half of them; the image lies
    in their corner. Offsets from the image's centre and a one are the rows of the first factor,
    of shape (3, n_pixels). The other holds each image's matrix and centre, (n_samples, 2, 3).
    """
    height, width = size
    rows, columns = np.indices(size).reshape(2, -1)
    offsets = np.stack([rows - (height - 1) / 2, columns - (width - 1) / 2, np.ones(rows.size)])
    scaled = matrices[:, ::-1] / (np.array(sides[::-1]) / 2)[:, None]
    centre = np.broadcast_to(np.array(size[::-1]) / sides[::-1] - 1, (len(matrices), 2))
    maps = np.concatenate([scaled, centre[:, :, None]], axis=2)
    return torch.from_numpy(offsets).to(dtype), torch.from_numpy(maps).to(dtype)
