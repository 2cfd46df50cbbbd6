"""The forms that are penalties on live Fishers: their derivatives, for the backward pass."""

import torch

from firecv.stacked.accumulate import mixed_rows
from firecv.stacked.chunk import Chunk, Fishers
from firecv.stacked.laws import Adjoint, make_law
from firecv.stacked.layers import Layers
from firecv.stacked.settings import StackSettings


class Trace:
    """strength * (mu tr F_B + (1 - mu) tr F_V)."""

    def __init__(self, chunk: Chunk, settings: StackSettings) -> None:
        self.law = make_law(chunk.network, settings.label_law)
        network, train = chunk.network, chunk.train
        self.rows = mixed_rows(chunk, settings.share) * chunk.strength.unsqueeze(1)
        ones = train.new_ones(network.shape.inputs + 1, len(train), 1)
        self.lengths = torch.einsum(
            "dmk,dn->mkn", chunk.scaling.squares(ones), network.shared.columns
        )
        self.factors = train.new_ones(chunk.layers().second.shape)

    def adjoint(self, weights: Layers) -> Adjoint:
        """Return the derivatives at the last forward pass, given the weights."""
        self.law.measure(weights.second)
        return self.law.adjoint(weights.second, self.rows, self.lengths, self.factors)


class Align:
    """strength times the squared distance of F_B and F_V, or of F_B and a fixed Fisher."""

    def __init__(self, chunk: Chunk, settings: StackSettings, fixed: Layers | None) -> None:
        self.fishers, self.fixed = Fishers(chunk, settings.label_law), fixed
        self.chunk, self._difference = chunk, chunk.layers()
        self.factors = chunk.layers().fill_models(2 * chunk.strength)
        if fixed is not None:
            self.rows = chunk.train
        else:
            assert chunk.validation is not None
            self.rows = chunk.train - chunk.validation

    def adjoint(self, weights: Layers) -> Adjoint:
        """Return the derivatives at the last forward pass, given the weights."""
        law, difference = self.fishers.law, self._difference
        law.measure(weights.second)
        self.fishers.diagonal(self.rows, difference)
        if self.fixed is not None:
            difference.vector.sub_(self.fixed.vector)
        difference.vector.mul_(self.factors.vector)
        effective = self.chunk.scaling.squares(difference.first)
        columns = self.chunk.network.shared.columns
        first = torch.mm(effective.view(len(columns), -1).t(), columns).view_as(law.units)
        return law.adjoint(weights.second, self.rows, first, difference.second)
