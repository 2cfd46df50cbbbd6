"""Linear maps of many images at once, each image about its centre by its own matrix.

An output pixel at offset (row, column) from the centre takes the value found at matrix @ offset
in the input, interpolated linearly between the four nearest pixels, with zeros all around the
image. This is SciPy's ``affine_transform`` with ``order=1, mode="grid-constant"``, under which an
image fades out over one pixel at its edge, rather than ``mode="constant"``, under which it breaks
off: there a rounding error in the last digit decides whether a pixel on the edge is kept.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from torch.nn.functional import grid_sample

from firecv.data.arrays import Array
from firecv.data.pixels import chunks

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
    size = images.shape[1:3]
    exact = images.dtype == np.float64 or max(size) > SMALL
    # Torch multiplies places by the sides, without rounding if these are powers of two.
    sides = size if exact else (_power_of_two(size[0]), _power_of_two(size[1]))
    offsets, maps = _geometry(size, sides, matrices, torch.float64 if exact else torch.float32)
    with_channels = images if images.ndim == 4 else images[..., None]
    result = np.empty(with_channels.shape, images.dtype)

    parts = list(chunks(len(images), images[:1].size, CHUNK))
    threads = min(torch.get_num_threads(), len(parts))
    queue = iter(parts)  # every thread takes the next part when it is done with one

    def work() -> None:
        _warp_parts(with_channels, offsets, maps, sides, queue, result)

    if threads == 1:
        work()
    elif threads:
        with ThreadPoolExecutor(threads, initializer=_work_alone) as pool:
            for future in [pool.submit(work) for _ in range(threads)]:
                future.result()
    return result.reshape(images.shape)


def _work_alone() -> None:
    """Keep torch's operations in this thread from waiting for threads of their own.

    Threads that meet after every operation on a few images lose most of their time to meeting,
    the more so if other programs run; threads that each take many images hardly meet.
    """
    torch.get_num_threads()  # torch sets the number in a new thread when first asked
    threadpool_limits(1, user_api="openmp")


def _warp_parts(
    images: Array,
    offsets: torch.Tensor,
    maps: torch.Tensor,
    sides: tuple[int, int],
    parts: Iterator[slice],
    result: Array,
) -> None:
    """Write what `warp` returns for parts of images with channels."""
    n_channels, size = images.shape[3], images.shape[1:3]
    most = max(1, CHUNK // images[0].size)
    pixels = torch.zeros((most, n_channels, *sides), dtype=maps.dtype)
    places = torch.zeros((most, 2, *size), dtype=maps.dtype)
    some_maps = torch.zeros((most, *maps.shape[1:]), dtype=maps.dtype)
    for part in parts:
        n = part.stop - part.start
        inside = pixels[:n, :, : size[0], : size[1]].numpy()
        np.copyto(inside, images[part].transpose(0, 3, 1, 2), casting="unsafe")
        some_maps[:n] = maps[part]
        # Always of one shape: its last digit may depend on that, and so on the other images.
        torch.mm(some_maps.flatten(0, 1), offsets, out=places.view(2 * most, -1))
        found = grid_sample(pixels[:n], places[:n].permute(0, 2, 3, 1), align_corners=False)
        if images.dtype == np.uint8:
            found += 0.5  # the cast cuts off, so this rounds to nearest
        np.copyto(result[part], found.numpy().transpose(0, 2, 3, 1), casting="unsafe")


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
