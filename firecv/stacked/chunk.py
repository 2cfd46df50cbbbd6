"""A chunk of a stack's models, laid out for training: rows, scaling, strengths and Fishers."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from firecv.stacked.laws import make_law
from firecv.stacked.layers import Layers
from firecv.stacked.network import Network
from firecv.stacked.settings import Law
from firecv.stacked.shared import Scaling, Shared
from firecv.stacked.stack import Array, Stack

HIDDEN_BYTES = 1 << 19
FEWEST, MOST, STEP = 32, 128, 16


def chunk_size(n_rows: int, hidden: int, dtype: torch.dtype) -> int:
    """Return how many models are trained at once, so that their buffers fit the caches.

    It depends on neither the number of models nor the form, and the last chunk is filled up:
    products of other sizes round otherwise, and a model would depend on how many others there are.
    """
    per_model = n_rows * hidden * dtype.itemsize
    return min(MOST, max(FEWEST, HIDDEN_BYTES // per_model // STEP * STEP))


@dataclass(frozen=True)
class Chunk:
    """Models to be trained at once.

    Attributes
    ----------
    network
        Passes over the shared matrix.
    scaling
        Every model's mean and scale.
    train, validation
        Row weights, (models, rows), each model's summing to one.
    strength, penalty
        One number per model.
    """

    network: Network
    scaling: Scaling
    train: Tensor
    validation: Tensor | None
    strength: Tensor
    penalty: Tensor

    @classmethod
    def of(cls, stack: Stack, models: Tensor, network: Network, sees_validation: bool) -> "Chunk":
        """Return those models of a stack.

        Parameters
        ----------
        stack
            All models.
        models
            Which ones.
        network
            Passes over the stack's matrix.
        sees_validation
            Whether the validation rows may be looked at.
        """
        shared = network.shared
        dtype = shared.columns.dtype

        def per_model(values: float | Array) -> Tensor:
            spread = np.broadcast_to(np.asarray(values, np.float64), len(stack))
            return torch.from_numpy(spread[models.numpy()]).to(dtype)

        validation = stack.validation if sees_validation else None
        return cls(
            network,
            Scaling(shared, stack.mean, stack.scale, models),
            row_shares(stack.train, models, shared),
            None if validation is None else row_shares(validation, models, shared),
            per_model(stack.strength),
            per_model(stack.penalty),
        )

    def layers(self) -> Layers:
        """Return one zero per parameter of every model."""
        return Layers(self.network.shape, self.train.dtype)


def row_shares(weights: Array, models: Tensor, shared: Shared) -> Tensor:
    """Return row weights of those models, each model's summing to one."""
    chosen = torch.from_numpy(weights[models.numpy()].astype(np.float64))
    return shared.pad(chosen / chosen.sum(1, keepdim=True))


class Fishers:
    """Diagonal Fishers of a chunk at the weights of the last forward pass.

    Parameters
    ----------
    chunk
        The models.
    law
        The label's law.
    """

    def __init__(self, chunk: Chunk, law: Law) -> None:
        self.chunk, network = chunk, chunk.network
        self.law = make_law(network, law)
        self._units = torch.empty_like(self.law.units)
        self._outputs = torch.empty_like(self.law.outputs)

    def diagonal(self, rows: Tensor, out: Layers) -> None:
        """Write the Fisher of row weights (models, rows), after `law.measure`."""
        weights, network = rows.unsqueeze(1), self.chunk.network
        torch.mul(self.law.units, weights, out=self._units)
        torch.mul(self.law.outputs, weights, out=self._outputs)
        network.first_fisher(self._units, self.chunk.scaling, out.first)
        network.second_fisher(self._outputs, self.law.squared_hidden, out.second)
