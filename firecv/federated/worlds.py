"""Federations made of a set of grey images, in which clients differ from V in a known way.

- *bands*: every client holds images of a band of angles of its own, V and the test set those of
  180 Beta(6, 2) degrees: covariate shift, and a few clients are like V.
- *nuisance*: the same, and V, the test set and the clients least like V have a bright patch in a
  corner: what is most visible in the inputs points to the wrong clients.
- *skew*: clients differ in their classes (Dirichlet 0.1), V and the test set are like all clients
  together: there is nothing to correct.
- *iid*: no differences at all.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from firecv.data.arrays import Array, Arrays
from firecv.data.even import Iid, iid
from firecv.data.rotation import rotate
from firecv.data.skew import Dirichlet, dirichlet
from firecv.errors import DataError
from firecv.federated.contract import Client
from firecv.models import Batch

PATCH = 6
"""Side of the patch of *nuisance*, in pixels of 28."""


@dataclass(frozen=True)
class World:
    """A federation with its validation and test set.

    Attributes
    ----------
    clients
        Their samples.
    validation
        V, which the server holds, with labels that few methods may use.
    test
        Samples of V's law to judge by.
    """

    clients: tuple[Client, ...]
    validation: Batch
    test: Batch


def world(
    name: str,
    images: Arrays,
    rng: np.random.Generator,
    *,
    n_clients: int = 10,
    n_train: int = 4000,
    n_validation: int = 200,
    n_test: int = 2000,
) -> World:
    """Return a federation of distinct images, in which V differs from the clients by a rule.

    Parameters
    ----------
    name
        A key of `WORLDS`.
    images
        Grey images as bytes, with labels.
    rng
        Draws images, angles and clients.
    n_clients, n_train, n_validation, n_test
        How many clients, and how many images for all of them together, for V and for the test.

    Examples
    --------
    >>> from firecv.data import load
    >>> digits = load("digits").train
    >>> made = world("bands", digits, np.random.default_rng(0), n_train=1000, n_test=500)
    >>> len(made.clients), made.validation[0].shape
    (10, torch.Size([200, 64]))
    """
    if name not in WORLDS:
        raise DataError(f"there is no world {name!r}; expected one of {', '.join(WORLDS)}")
    n_all = n_train + n_validation + n_test
    x = np.asarray(images.x)
    if x.ndim != 3 or len(x) < n_all:
        raise DataError(
            f"got images of shape {x.shape}; expected (n, height, width) with n at least {n_all}"
        )
    order = rng.permutation(len(x))[:n_all]
    train, rest = order[:n_train], order[n_train:]
    return WORLDS[name](images.take(train), images.take(rest), n_clients, n_validation, rng)


Maker = Callable[[Arrays, Arrays, int, int, np.random.Generator], World]


def _bands(
    train: Arrays, rest: Arrays, n_clients: int, n_validation: int, rng: np.random.Generator
) -> World:
    return _turned(train, rest, n_clients, n_validation, rng, has_patch=False)


def _nuisance(
    train: Arrays, rest: Arrays, n_clients: int, n_validation: int, rng: np.random.Generator
) -> World:
    return _turned(train, rest, n_clients, n_validation, rng, has_patch=True)


def _turned(
    train: Arrays,
    rest: Arrays,
    n_clients: int,
    n_validation: int,
    rng: np.random.Generator,
    *,
    has_patch: bool,
) -> World:
    width, clients = 180 / n_clients, list[Client]()
    for k, rows in enumerate(np.array_split(np.arange(len(train)), n_clients)):
        part = train.take(rows)
        turned = rotate(np.asarray(part.x), rng.uniform(width * k, width * (k + 1), len(rows)))
        is_wrong = width * (k + 1) <= 90  # far from V, whose angles are about 135 degrees
        clients.append(Client(_batch(_patched(turned) if has_patch and is_wrong else turned, part)))
    turned = rotate(np.asarray(rest.x), 180 * rng.beta(6, 2, len(rest)))
    return _world(clients, _patched(turned) if has_patch else turned, rest, n_validation)


def _skew(
    train: Arrays, rest: Arrays, n_clients: int, n_validation: int, rng: np.random.Generator
) -> World:
    cut = dirichlet(train, rng, Dirichlet(n=n_clients, alpha=0.1))
    return _world(
        [_client(train, rows) for rows in cut.values()], np.asarray(rest.x), rest, n_validation
    )


def _iid(
    train: Arrays, rest: Arrays, n_clients: int, n_validation: int, rng: np.random.Generator
) -> World:
    cut = iid(train, rng, Iid(n=n_clients))
    return _world(
        [_client(train, rows) for rows in cut.values()], np.asarray(rest.x), rest, n_validation
    )


def _world(clients: list[Client], x: Array, rest: Arrays, n_validation: int) -> World:
    images, labels = _batch(x, rest)
    v = slice(0, n_validation), slice(n_validation, None)
    return World(tuple(clients), (images[v[0]], labels[v[0]]), (images[v[1]], labels[v[1]]))


def _client(train: Arrays, rows: NDArray[np.intp]) -> Client:
    part = train.take(rows)
    return Client(_batch(np.asarray(part.x), part))


def _patched(x: Array) -> Array:
    side = max(1, round(PATCH * x.shape[1] / 28))
    x = x.copy()
    x[:, :side, :side] = np.iinfo(x.dtype).max if x.dtype.kind == "u" else 1.0
    return x


def _batch(x: Array, labelled: Arrays) -> Batch:
    top = float(np.iinfo(x.dtype).max) if x.dtype.kind == "u" else 1.0
    pixels = torch.tensor(x.reshape(len(x), -1), dtype=torch.float32) / top
    return pixels, torch.tensor(labelled.y, dtype=torch.int64)


WORLDS: dict[str, Maker] = {"bands": _bands, "nuisance": _nuisance, "skew": _skew, "iid": _iid}
