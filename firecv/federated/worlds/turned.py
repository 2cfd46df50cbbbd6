"""Worlds whose clients hold images of different angles."""

from dataclasses import replace

import numpy as np

from firecv.data.arrays import Array, Arrays
from firecv.data.rotation import rotate
from firecv.data.skew import Dirichlet, dirichlet
from firecv.federated.contract import Client
from firecv.federated.worlds.parts import (
    SPARE,
    Sizes,
    World,
    client,
    drawn,
    made,
    pieces,
    unbalanced,
)

PATCH = 6
"""Side of the patch of *nuisance*, in pixels of 28."""


def bands(images: Arrays, sizes: Sizes, rng: np.random.Generator) -> World:
    """Return clients with bands of angles, V and the test at 180 Beta(6, 2) degrees."""
    train, rest = drawn(images, sizes, rng)
    return _turned(pieces(train, sizes.n_clients), rest, sizes, rng)


def nuisance(images: Arrays, sizes: Sizes, rng: np.random.Generator) -> World:
    """Return *bands* with a bright patch in V, the test and the clients least like V."""
    train, rest = drawn(images, sizes, rng)
    return _turned(pieces(train, sizes.n_clients), rest, sizes, rng, has_patch=True)


def bandsandskew(images: Arrays, sizes: Sizes, rng: np.random.Generator) -> World:
    """Return *bands* whose clients also differ in their classes, by Dirichlet 0.5."""
    train, rest = drawn(images, sizes, rng)
    return _turned(_skewed(train, sizes, rng), rest, sizes, rng)


def nuisanceandskew(images: Arrays, sizes: Sizes, rng: np.random.Generator) -> World:
    """Return *nuisance* whose clients also differ in their classes, by Dirichlet 0.5."""
    train, rest = drawn(images, sizes, rng)
    return _turned(_skewed(train, sizes, rng), rest, sizes, rng, has_patch=True)


def bandsandlabelshift(images: Arrays, sizes: Sizes, rng: np.random.Generator) -> World:
    """Return *bands* whose V and test have few samples of some classes, unlike the clients."""
    train, rest = drawn(images, replace(sizes, n_test=SPARE * sizes.n_rest), rng)
    rest = unbalanced(rest, sizes, rng)
    return _turned(pieces(train, sizes.n_clients), rest, sizes, rng)


def _skewed(train: Arrays, sizes: Sizes, rng: np.random.Generator) -> list[Arrays]:
    cut = dirichlet(train, rng, Dirichlet(n=sizes.n_clients, alpha=0.5))
    return [train.take(rows) for rows in cut.values()]


def _turned(
    parts: list[Arrays],
    rest: Arrays,
    sizes: Sizes,
    rng: np.random.Generator,
    *,
    has_patch: bool = False,
) -> World:
    width, clients = 180 / len(parts), list[Client]()
    for k, part in enumerate(parts):
        turned = rotate(np.asarray(part.x), rng.uniform(width * k, width * (k + 1), len(part)))
        is_wrong = width * (k + 1) <= 90  # far from V, whose angles are about 135 degrees
        clients.append(client(_patched(turned) if has_patch and is_wrong else turned, part.y))
    turned = rotate(np.asarray(rest.x), 180 * rng.beta(6, 2, len(rest)))
    return made(clients, _patched(turned) if has_patch else turned, rest.y, sizes.n_validation)


def _patched(x: Array) -> Array:
    side = max(1, round(PATCH * x.shape[1] / 28))
    x = x.copy()
    x[:, :side, :side] = np.iinfo(x.dtype).max if x.dtype.kind == "u" else 1.0
    return x
