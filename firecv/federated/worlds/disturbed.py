"""Worlds whose clients' images are disturbed to different degrees or in different ways."""

import numpy as np
from numpy.typing import NDArray

from firecv.data.arrays import Array, Arrays
from firecv.data.corruptions import CORRUPTIONS
from firecv.data.pixels import change_images
from firecv.federated.worlds.parts import Sizes, World, client, drawn, made, pieces

LOUDEST = 0.6
"""Standard deviation of the strongest noise, in units of the full range."""
KINDS = (
    "brightness",
    "shot_noise",
    "impulse_noise",
    "defocus_blur",
    "motion_blur",
    "elastic_transform",
    "pixelate",
    "jpeg_compression",
    "fog",
    "contrast",
)
"""Corruptions of the clients, in turn; V and the test have the last two."""
SEVERITY = 4


def noise(images: Arrays, sizes: Sizes, rng: np.random.Generator) -> World:
    """Return clients with more noise the higher their number, V and the test with much of it."""
    train, rest = drawn(images, sizes, rng)
    levels = np.linspace(0, LOUDEST, sizes.n_clients)
    clients = [
        client(_noisy(np.asarray(part.x), np.full(len(part), level), rng), part.y)
        for part, level in zip(pieces(train, sizes.n_clients), levels, strict=True)
    ]
    x = _noisy(np.asarray(rest.x), LOUDEST * rng.beta(6, 2, len(rest)), rng)
    return made(clients, x, rest.y, sizes.n_validation)


def corruption(images: Arrays, sizes: Sizes, rng: np.random.Generator) -> World:
    """Return clients each with a corruption of ten, V and the test with fog or low contrast."""
    train, rest = drawn(images, sizes, rng)
    clients = [
        client(_corrupted(np.asarray(part.x), KINDS[k % len(KINDS)], rng), part.y)
        for k, part in enumerate(pieces(train, sizes.n_clients))
    ]
    x = np.asarray(rest.x).copy()
    is_first = rng.random(len(rest)) < 0.5
    for kind, rows in zip(KINDS[-2:], (is_first, ~is_first), strict=True):
        x[rows] = _corrupted(x[rows], kind, rng)
    return made(clients, x, rest.y, sizes.n_validation)


def _noisy(x: Array, std: NDArray[np.float64], rng: np.random.Generator) -> Array:
    """Return images with Gaussian noise, each of its own standard deviation."""
    top = 255 if x.dtype.kind == "u" else 1
    noise = rng.standard_normal(x.shape) * std.reshape(-1, *([1] * (x.ndim - 1)))
    noisy = (x / top + noise).clip(0, 1) * top
    return (noisy.round() if top > 1 else noisy).astype(x.dtype)


def _corrupted(x: Array, kind: str, rng: np.random.Generator) -> Array:
    return change_images(x, lambda images: CORRUPTIONS[kind](images, SEVERITY, rng))
