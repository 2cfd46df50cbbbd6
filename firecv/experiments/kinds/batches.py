"""Batches of images: what `Batchwise` trains on and what it makes of the scores."""

from collections.abc import Mapping, Sequence

import numpy as np

from firecv.data import Arrays
from firecv.data.arrays import Rows
from firecv.data.shifts import Permutation, permutation
from firecv.errors import DataError
from firecv.estimators import FIREClassifier, Piece, RivalClassifier
from firecv.experiments.kinds.images import Labelled, inputs, shown
from firecv.regimes import Regime
from firecv.seeding import derive


def images_of(arrays: Arrays, seed: int, n_images: int | None, *, permuted: bool) -> Labelled:
    """Return the images of a seed, in the order in which they are cut into batches.

    Parameters
    ----------
    arrays
        All images.
    seed
        Of their order and of the permutation.
    n_images
        How many are taken; None for all.
    permuted
        Whether pixels change places, in all images the same way.
    """
    rows = derive(seed, "batchwise", "rows").permutation(len(arrays))
    if n_images is not None and n_images > len(rows):
        raise DataError(
            f"asked for {n_images} images, but the data set has {len(rows)}; ask for fewer, or for "
            f"None to take all"
        )
    taken = arrays.take(rows[:n_images])
    images = np.asarray(taken.x)
    if permuted:
        rng = derive(seed, "batchwise", "pixels")
        images = permutation(images, taken.y, rng, "train", Permutation()).x
    return Labelled(inputs(images), taken.y)


def fit(
    model: FIREClassifier | RivalClassifier,
    data: Labelled,
    piece: Piece,
    regime: Regime,
    n_classes: int,
) -> FIREClassifier | RivalClassifier:
    """Return the model after a batch: a rival anew, FIRE with what it carries.

    Parameters
    ----------
    model
        What is trained.
    data, piece
        All images, and which of them are the batch and V.
    regime
        What the model is given of V.
    n_classes
        Number of classes.
    """
    x, y = at(data, piece.train)
    x_val, y_val = shown(at(data, piece.validation), regime)
    if isinstance(model, RivalClassifier):
        return model.fit(x, y, X_val=x_val, y_val=y_val)
    return model.partial_fit(x, y, np.arange(n_classes), X_val=x_val, y_val=y_val)


def at(data: Labelled, rows: Rows) -> Labelled:
    """Return some of the images."""
    return Labelled(data.x[rows], data.y[rows])


def summed_up(batches: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return means of the scores of batches, and what else is known of their accuracies.

    Examples
    --------
    >>> found = summed_up([{"accuracy": 0.9}, {"accuracy": 0.92}, {"accuracy": 0.88}])
    >>> {name: round(value, 3) for name, value in found.items()}
    {'accuracy': 0.9, 'variance': 0.04, 'batch 1': 0.9, 'batch 2': 0.92, 'batch 3': 0.88, \
'batch n/2': 0.9, 'batch n-1': 0.92, 'batch n': 0.88}
    """
    n, accuracies = len(batches), [each["accuracy"] for each in batches]
    found = {name: float(np.mean([each[name] for each in batches])) for name in batches[0]}
    places = {"batch 1": 1}
    if n > 1:
        found["variance"] = 100 * float(np.var(accuracies, ddof=1))
        places |= {
            "batch 2": 2,
            "batch 3": 3,
            "batch n/2": n // 2,
            "batch n-1": n - 1,
            "batch n": n,
        }
    return found | {name: accuracies[k - 1] for name, k in places.items() if k <= n}
