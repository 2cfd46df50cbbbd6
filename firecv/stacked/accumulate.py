"""The Fisher averaged over epochs and fragments (Algorithm 1), for a chunk of models.

Symbols: mu is `mix`, alpha is `decay`.
"""

import torch
from torch import Tensor

from firecv.stacked.chunk import Chunk, Fishers
from firecv.stacked.layers import Layers
from firecv.stacked.settings import Form, StackSettings


class PerEpoch:
    """I_G of the preset "paper": one step of the exponential average per epoch.

    Parameters
    ----------
    chunk, settings
        Models and mixture.
    average
        I_G of earlier fragments, which is then changed.
    """

    def __init__(self, chunk: Chunk, settings: StackSettings, average: Layers) -> None:
        self.fishers, self.average = Fishers(chunk, settings.label_law), average
        self.decay = settings.decay
        self.rows, self._now = mixed_rows(chunk, settings.share), chunk.layers()

    def refresh(self, second: Tensor) -> Layers:
        """Return I_G with the Fisher of this epoch, given the second layer."""
        self.fishers.law.measure(second)
        # The Fisher is linear in the rows' weights, so one of mixed rows is the mixture of two.
        self.fishers.diagonal(self.rows, self._now)
        _keep_non_negative(self._now)
        self.average.vector.lerp_(self._now.vector, 1 - self.decay)
        return self.average

    def finish(self) -> Layers:
        """Return I_G after the fragment."""
        return self.average


class PerFragment:
    """I_G of the preset "default": one step per fragment, normalized for use.

    Its bias from the start at zero is one factor for all parameters, which normalizing takes out.

    Parameters
    ----------
    chunk, settings
        Models and mixture.
    average
        I_G of earlier fragments, which is then changed.
    """

    def __init__(self, chunk: Chunk, settings: StackSettings, average: Layers) -> None:
        self.fishers, self.average = Fishers(chunk, settings.label_law), average
        self.chunk, self.share, self.decay = chunk, settings.share, settings.decay
        self.form: Form = settings.form
        self.n_epochs = 0
        self._train, self._used = chunk.layers(), chunk.layers()
        self._now = chunk.layers()  # of the training rows, then of the validation rows

    def refresh(self, second: Tensor) -> Layers:
        """Return the average to use in this epoch, given the second layer."""
        self.n_epochs += 1
        self.fishers.law.measure(second)
        self.fishers.diagonal(self.chunk.train, self._now)
        _keep_non_negative(self._now)
        self._train.vector.lerp_(self._now.vector, 1 / self.n_epochs)
        if self.chunk.validation is not None:
            self.fishers.diagonal(self.chunk.validation, self._now)
            _keep_non_negative(self._now)
        used = self._combined()
        normalize(used, self.form)
        return used

    def finish(self) -> Layers:
        """Return I_G after the fragment."""
        if self.n_epochs:
            self.average.vector.copy_(self._combined().vector)
        return self.average

    def _combined(self) -> Layers:
        """Return alpha I_G + (1 - alpha) (mu F_B + (1 - mu) F_V)."""
        used, fresh = self._used.vector, 1 - self.decay
        torch.mul(self.average.vector, self.decay, out=used)
        used.add_(self._train.vector, alpha=fresh * self.share)
        if self.chunk.validation is not None:
            used.add_(self._now.vector, alpha=fresh * (1 - self.share))
        return self._used


def mixed_rows(chunk: Chunk, share: float) -> Tensor:
    """Return the row weights of mu times the training and 1 - mu times the validation rows."""
    if chunk.validation is None:
        return chunk.train
    return share * chunk.train + (1 - share) * chunk.validation


def normalize(fisher: Layers, form: Form) -> None:
    """Divide every model's Fisher by the unit of the form, in place; zero stays zero.

    As `firecv.fire.forms.unit`: the largest entry for `precondition`, else the mean.
    """
    units = fisher.model_maxima() if form == "precondition" else fisher.model_means()
    fisher.scale_models(torch.where(units > 0, 1 / units, 0))


def _keep_non_negative(fisher: Layers) -> None:
    """Undo rounding below zero, which the expanded square of the inputs allows."""
    fisher.first.clamp_min_(0)
