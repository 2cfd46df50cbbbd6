"""Federations made of a set of images, in which clients differ from V in a known way.

Covariate shift, a few clients being like V:

- *bands*: every client holds images of a band of angles of its own, V and the test set those of
  180 Beta(6, 2) degrees.
- *nuisance*: the same, and V, the test set and the clients least like V have a bright patch in a
  corner: what is most visible in the inputs points to the wrong clients.
- *bandsandskew*, *nuisanceandskew*: the same two, and clients differ in their classes too
  (Dirichlet 0.5).
- *bandsandlabelshift*: *bands*, and V and the test set have few samples of some classes.
- *noise*: more noise the higher a client's number, V and the test set with much of it.
- *corruption*: each client has a corruption of ten, V and the test set two of them.
- *writers*: digits by writer; V and the test set are by pupils, most clients by employees.

Nothing to correct, V and the test set being like all honest clients together:

- *skew*, *mildskew*: clients differ in their classes (Dirichlet 0.1, 0.5).
- *iid*: no differences at all.
- *labelshift*: *iid*, but V and the test set have few samples of some classes: they do differ from
  the clients, but no client is more like them than another.
- *garbage*: *iid*, but three clients in ten hold noise with random labels.
- *flipped*: *iid*, but three clients in ten hold images with random labels.
"""

from collections.abc import Callable

import numpy as np

from firecv.data.arrays import Arrays
from firecv.errors import DataError
from firecv.federated.worlds.alike import alike, flipped, garbage, labelshift, mildskew, skew
from firecv.federated.worlds.disturbed import corruption, noise
from firecv.federated.worlds.parts import Sizes, World
from firecv.federated.worlds.turned import (
    bands,
    bandsandlabelshift,
    bandsandskew,
    nuisance,
    nuisanceandskew,
)
from firecv.federated.worlds.writers import writers

__all__ = ["SHIFTED", "WORLDS", "World", "world"]

WORLDS: dict[str, Callable[[Arrays, Sizes, np.random.Generator], World]] = {
    "bands": bands,
    "nuisance": nuisance,
    "bandsandskew": bandsandskew,
    "nuisanceandskew": nuisanceandskew,
    "bandsandlabelshift": bandsandlabelshift,
    "noise": noise,
    "corruption": corruption,
    "writers": writers,
    "skew": skew,
    "mildskew": mildskew,
    "iid": alike,
    "labelshift": labelshift,
    "garbage": garbage,
    "flipped": flipped,
}
SHIFTED = (
    "bands",
    "nuisance",
    "bandsandskew",
    "nuisanceandskew",
    "bandsandlabelshift",
    "noise",
    "corruption",
    "writers",
)
"""The worlds in which some clients are more like V than others."""


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
        Images as bytes, grey for worlds that turn them, with labels.
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
    if np.asarray(images.x).ndim not in (3, 4):
        raise DataError(
            f"got inputs of shape {np.asarray(images.x).shape}; expected images of shape "
            f"(n, height, width) or (n, height, width, channels)"
        )
    return WORLDS[name](images, Sizes(n_clients, n_train, n_validation, n_test), rng)
