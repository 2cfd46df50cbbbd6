"""Predictions of all models of a stack."""

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from firecv.errors import DataError
from firecv.stacked.chunk import chunk_size
from firecv.stacked.layers import Layers, Shape
from firecv.stacked.network import Network
from firecv.stacked.shared import Scaling, Shared
from firecv.stacked.stack import Array, check_inputs, check_scales, check_weights
from firecv.stacked.threads import one_thread
from firecv.tree import Tree


def predict_stack(
    weights: Tree, x: Array, mean: Array | None = None, scale: Array | None = None
) -> NDArray[np.floating]:
    """Return every model's class probabilities, (n_models, n_rows, n_classes).

    Parameters
    ----------
    weights
        Weights of all models; their type is that of the result.
    x
        Inputs, (n_rows, n_features), not standardised.
    mean, scale
        Those of the stack the models were trained in, (n_models, n_features).

    Examples
    --------
    >>> from firecv.seeding import derive_torch
    >>> from firecv.stacked import initial_weights
    >>> weights = initial_weights(3, 2, [derive_torch(0, "weights", repeat) for repeat in range(5)])
    >>> predict_stack(weights, np.zeros((10, 3))).shape
    (5, 10, 2)
    """
    check_inputs(x)
    shape = Shape(*check_weights(weights, "weights"))
    if x.shape[1] != shape.inputs:
        raise DataError(f"x has {x.shape[1]} columns, the models take {shape.inputs}")
    check_scales(mean, scale, shape.models, shape.inputs)
    with torch.no_grad(), one_thread():
        return _predict(weights, shape, x, mean, scale)


def _predict(
    weights: Tree, shape: Shape, x: Array, mean: Array | None, scale: Array | None
) -> NDArray[np.floating]:
    dtype = weights["0.weight"].dtype
    shared = Shared(x, dtype)
    size = chunk_size(shared.n_padded, shape.hidden, dtype)
    part = replace(shape, models=size)
    no_labels = torch.zeros(shape.classes, shared.n_padded, dtype=dtype)
    network, layers = Network(shared, no_labels, part), Layers(part, dtype)
    result = torch.empty(shape.models, len(x), shape.classes, dtype=dtype)
    for first in range(0, shape.models, size):
        models = torch.arange(first, first + size).clamp_max(shape.models - 1)
        network.forward(layers.read(weights, models), Scaling(shared, mean, scale, models))
        kept = slice(first, min(first + size, shape.models))
        found = network.probabilities[: kept.stop - first, :, : len(x)]
        result[kept] = found.transpose(1, 2)
    return result.numpy()
