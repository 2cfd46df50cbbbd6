"""What a stack is made of: initial weights, every fold's scales, merged duplicate rows."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from firecv.errors import DataError
from firecv.models import table_mlp
from firecv.stacked.stack import NAMES, Array, check_row_weights
from firecv.tree import Tree


def initial_weights(n_features: int, n_classes: int, generators: Iterable[torch.Generator]) -> Tree:
    """Return the weights of one `table_mlp` per generator, stacked along a leading axis.

    Examples
    --------
    >>> from firecv.seeding import derive_torch
    >>> rngs = [derive_torch(0, "weights", repeat) for repeat in range(3)]
    >>> weights = initial_weights(30, 2, rngs)
    >>> weights["0.weight"].shape
    torch.Size([3, 4, 30])
    >>> alone = table_mlp(30, 2, derive_torch(0, "weights", 1))
    >>> torch.equal(weights["2.bias"][1], alone[2].bias)
    True
    """
    models = [table_mlp(n_features, n_classes, rng).state_dict() for rng in generators]
    if not models:
        raise DataError("there is no generator, so there would be no model; give at least one")
    return {name: torch.stack([model[name] for model in models]) for name in NAMES}


class Scales(NamedTuple):
    """Mean and scale of every column for every model, each of shape (n_models, n_features)."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]


def standardise(x: Array, train: Array, numeric: Array | None = None) -> Scales:
    """Return mean and standard deviation of every column over each model's training rows.

    A column that is constant there gets the scale infinity, which makes it zero in every row: it
    carries nothing that can be learnt, and elsewhere it would meet weights that were never fitted.

    Parameters
    ----------
    x
        Inputs, (n_rows, n_features).
    train
        Row weights of every model, (n_models, n_rows).
    numeric
        Which columns to standardise, (n_features,); the others, say indicators of categories,
        keep mean 0 and scale 1 unless constant. By default all.

    Examples
    --------
    >>> x = np.array([[1.0, 5.0], [3.0, 5.0], [9.0, 6.0]])
    >>> mean, scale = standardise(x, np.array([[1, 1, 0], [3, 1, 0]]))
    >>> mean[:, 0].tolist(), scale.tolist()
    ([2.0, 1.5], [[1.0, inf], [0.8660254037844386, inf]])
    """
    check_row_weights(train, len(x), "train")
    values = x.astype(np.float64)
    chosen = np.ones(x.shape[1], bool) if numeric is None else np.asarray(numeric, bool)
    if chosen.shape != (x.shape[1],):
        raise DataError(f"numeric has shape {chosen.shape}; expected {x.shape[1]} columns")
    mean, scale = np.zeros((len(train), x.shape[1])), np.ones((len(train), x.shape[1]))
    for model, weights in enumerate(train):
        rows = values[weights > 0]
        shares = weights[weights > 0] / weights.sum(dtype=np.float64)
        centre = shares @ rows
        spread = np.sqrt(shares @ (rows - centre) ** 2)
        mean[model] = np.where(chosen, centre, 0.0)
        varies = (rows != rows[0]).any(axis=0) & (spread > 0)
        scale[model] = np.where(varies, np.where(chosen, spread, 1.0), np.inf)
    return Scales(mean, scale)


class Distinct(NamedTuple):
    """Rows of which no two have the same inputs and label.

    Attributes
    ----------
    x, y
        The distinct rows.
    places
        For every original row, its place among them.
    """

    x: Array
    y: Array
    places: NDArray[np.intp]

    def merge(self, row_weights: Array) -> NDArray[np.float64]:
        """Return weights of the distinct rows, each the sum over the rows it stands for.

        Parameters
        ----------
        row_weights
            Weights of the original rows, (n_models, n_rows).
        """
        order = np.argsort(self.places, kind="stable")
        starts = np.searchsorted(self.places[order], np.arange(len(self.x)))
        # One model at a time: reordering all at once would hold a second copy of the weights.
        return np.stack([np.add.reduceat(row.astype(float)[order], starts) for row in row_weights])


def merge_duplicates(x: Array, y: Array) -> Distinct:
    """Return the distinct rows; trained with merged weights they give the same models.

    Examples
    --------
    >>> x, y = np.array([[1.0], [2.0], [1.0], [1.0]]), np.array([0, 1, 0, 1])
    >>> distinct = merge_duplicates(x, y)
    >>> distinct.x.ravel().tolist(), distinct.y.tolist(), distinct.places.tolist()
    ([1.0, 1.0, 2.0], [0, 1, 1], [0, 2, 0, 1])
    >>> distinct.merge(np.array([[1, 1, 1, 0]])).tolist()
    [[2.0, 0.0, 1.0]]
    """
    if x.ndim != 2 or y.shape != (len(x),):
        raise DataError(
            f"x has shape {x.shape} and y {y.shape}; expected (n_rows, n_features) and (n_rows,)"
        )
    both = np.column_stack([x.astype(np.float64), y])
    _, first, places = np.unique(both, axis=0, return_index=True, return_inverse=True)
    return Distinct(x[first], y[first], places.reshape(-1))
