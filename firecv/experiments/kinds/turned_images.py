"""Images to train on, V and T, turned by angles drawn from beta laws; what `Rotated` trains on."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from firecv.data import Arrays, Split
from firecv.data.arrays import Rows
from firecv.data.rotation import rotate
from firecv.errors import DataError
from firecv.experiments.kinds.images import Labelled, inputs
from firecv.seeding import derive

DEGREES = 180.0


def drawn(
    split: Split, seed: int, n_train: int, n_validation: int, n_test: int
) -> tuple[Arrays, Arrays, Arrays]:
    """Return images to train on, V and T, drawn at random and disjoint.

    The training images of a seed do not depend on the size of V, nor V on theirs.

    Parameters
    ----------
    split
        The data set; T is drawn from its test part if there is one.
    seed
        Of the draws.
    n_train, n_validation, n_test
        Numbers of images.

    Examples
    --------
    >>> from firecv.data import load
    >>> [len(part) for part in drawn(load("digits"), 0, 1000, 200, 500)]
    [1000, 200, 500]
    """
    pool, others = split.train, split.test
    order = derive(seed, "rotated", "rows").permutation(len(pool))
    train, validation = order[:n_train], order[::-1][:n_validation]
    if others is None:
        others, tests = pool, order[n_train : len(pool) - n_validation]
    else:
        tests = derive(seed, "rotated", "test rows").permutation(len(others))
    if n_train + n_validation > len(pool) or n_test > len(tests):
        raise DataError(
            f"asked for {n_train} images to train on, {n_validation} of V and {n_test} of T, but "
            f"there are {len(pool)} and {len(tests)} for T; ask for fewer"
        )
    return pool.take(train), pool.take(validation), others.take(tests[:n_test])


def turned(
    arrays: Arrays, a: float, b: float, part: Literal["train", "validation", "test"], seed: int
) -> tuple[NDArray[np.float64], Labelled]:
    """Return angles in units of 180 degrees, and images turned by them.

    Parameters
    ----------
    arrays
        The images.
    a, b
        Of the beta law of the angles.
    part
        What the images are for; each has draws of its own.
    seed
        Of the angles.
    """
    u = derive(seed, "rotated", "angles", part).beta(a, b, len(arrays))
    return u, Labelled(inputs(rotate(np.asarray(arrays.x), DEGREES * u)), arrays.y)


def cut(u: NDArray[np.float64], n_fragments: int, by: Literal["angle", "iid"], seed: int) -> Rows:
    """Return the fragment of every image.

    Parameters
    ----------
    u
        The angles.
    n_fragments
        Number of fragments of equal size.
    by
        At random ("iid"), or by angle from small to large.
    seed
        Of what is drawn.
    """
    rng = derive(seed, "rotated", "fragments")
    order = np.argsort(u) if by == "angle" else rng.permutation(len(u))
    numbers = np.empty(len(u), np.intp)
    for number, rows in enumerate(np.array_split(order, n_fragments)):
        numbers[rows] = number
    return numbers
