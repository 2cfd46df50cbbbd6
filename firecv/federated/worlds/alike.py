"""Worlds in which images of V and of honest clients are alike, class by class."""

from dataclasses import replace

import numpy as np

from firecv.data.arrays import Arrays
from firecv.data.even import Iid, iid
from firecv.data.skew import Dirichlet, dirichlet
from firecv.federated.worlds.parts import SPARE, Sizes, World, client, drawn, made, unbalanced

GARBAGE_RATE = 0.3
"""Share of the clients of *garbage* and *flipped* that send nonsense."""


def skew(images: Arrays, sizes: Sizes, rng: np.random.Generator) -> World:
    """Return clients that differ in their classes, by Dirichlet 0.1."""
    return _skewed(images, sizes, rng, 0.1)


def mildskew(images: Arrays, sizes: Sizes, rng: np.random.Generator) -> World:
    """Return clients that differ in their classes, by Dirichlet 0.5."""
    return _skewed(images, sizes, rng, 0.5)


def alike(images: Arrays, sizes: Sizes, rng: np.random.Generator) -> World:
    """Return clients that do not differ."""
    train, rest = drawn(images, sizes, rng)
    cut = iid(train, rng, Iid(n=sizes.n_clients))
    clients = [client(np.asarray(train.x[rows]), train.y[rows]) for rows in cut.values()]
    return made(clients, np.asarray(rest.x), rest.y, sizes.n_validation)


def labelshift(images: Arrays, sizes: Sizes, rng: np.random.Generator) -> World:
    """Return *iid* whose V and test have few samples of some classes, unlike the clients."""
    train, rest = drawn(images, replace(sizes, n_test=SPARE * sizes.n_rest), rng)
    rest = unbalanced(rest, sizes, rng)
    cut = iid(train, rng, Iid(n=sizes.n_clients))
    clients = [client(np.asarray(train.x[rows]), train.y[rows]) for rows in cut.values()]
    return made(clients, np.asarray(rest.x), rest.y, sizes.n_validation)


def garbage(images: Arrays, sizes: Sizes, rng: np.random.Generator) -> World:
    """Return *iid* in which three clients in ten hold noise with random labels."""
    return _spoiled(images, sizes, rng, has_noise=True)


def flipped(images: Arrays, sizes: Sizes, rng: np.random.Generator) -> World:
    """Return *iid* in which three clients in ten hold images with random labels."""
    return _spoiled(images, sizes, rng, has_noise=False)


def _skewed(images: Arrays, sizes: Sizes, rng: np.random.Generator, alpha: float) -> World:
    train, rest = drawn(images, sizes, rng)
    cut = dirichlet(train, rng, Dirichlet(n=sizes.n_clients, alpha=alpha))
    clients = [client(np.asarray(train.x[rows]), train.y[rows]) for rows in cut.values()]
    return made(clients, np.asarray(rest.x), rest.y, sizes.n_validation)


def _spoiled(images: Arrays, sizes: Sizes, rng: np.random.Generator, *, has_noise: bool) -> World:
    train, rest = drawn(images, sizes, rng)
    cut = list(iid(train, rng, Iid(n=sizes.n_clients)).values())
    n_bad, clients = (
        round(GARBAGE_RATE * sizes.n_clients),
        [client(np.asarray(train.x[rows]), train.y[rows]) for rows in cut],
    )
    for k, rows in enumerate(cut[:n_bad]):
        x = np.asarray(train.x[rows])
        if has_noise:
            x = (rng.random(x.shape) * (255 if x.dtype.kind == "u" else 1)).astype(x.dtype)
        clients[k] = client(x, rng.permutation(train.y[rows]))
    return made(clients, np.asarray(rest.x), rest.y, sizes.n_validation)
