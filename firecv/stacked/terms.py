"""What a form adds to the training of a chunk, as hooks of the loop."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from firecv.stacked.accumulate import PerEpoch, PerFragment, normalize
from firecv.stacked.adam import Adam
from firecv.stacked.chunk import Chunk
from firecv.stacked.laws import Adjoint
from firecv.stacked.layers import Layers
from firecv.stacked.penalties import Align, Trace
from firecv.stacked.settings import Form, StackSettings


@dataclass(frozen=True)
class Term:
    """Hooks of the training loop; one left out does nothing.

    Attributes
    ----------
    adjoint
        Returns derivatives of a penalty at the last forward pass, given the weights.
    transform
        Changes the gradient, given the weights it was taken at and the gradient.
    after_step
        Changes the weights after the optimiser has, given the weights and the optimiser.
    finish
        Returns I_G after the fragment.
    """

    adjoint: Callable[[Layers], Adjoint] | None = None
    transform: Callable[[Layers, Layers], None] | None = None
    after_step: Callable[[Layers, Adam], None] | None = None
    finish: Callable[[], Layers] | None = None


@dataclass(frozen=True)
class Start:
    """What earlier fragments left for a chunk.

    Attributes
    ----------
    average
        I_G so far; zero before the first.
    reference
        Weights towards which `quadratic` pulls.
    fixed
        Diagonal Fisher to use as it is.
    """

    average: Layers
    reference: Layers
    fixed: Layers | None


def make_term(form: Form, chunk: Chunk, settings: StackSettings, start: Start) -> Term:
    """Return the hooks of a form."""
    if form == "trace":
        return Term(adjoint=Trace(chunk, settings).adjoint)
    if form == "align":
        return Term(adjoint=Align(chunk, settings, start.fixed).adjoint)
    if form == "plain":
        return Term()
    if (fixed := start.fixed) is not None:
        return _hooks(form, chunk, lambda second: fixed, None, start.reference)
    if settings.preset == "paper":
        accumulator = PerEpoch(chunk, settings, start.average)
    else:
        accumulator = PerFragment(chunk, settings, start.average)
    source = accumulator.refresh
    if form == "quadratic" and settings.frozen:
        source = _frozen(accumulator, start.average, settings)
    return _hooks(form, chunk, source, accumulator.finish, start.reference)


Source = Callable[[Tensor], Layers]
"""Returns the Fisher to use in this epoch, given the second layer."""


def _frozen(
    accumulator: PerEpoch | PerFragment, average: Layers, settings: StackSettings
) -> Source:
    """Return a source that accumulates, but gives what earlier fragments left."""
    left = average.clone()
    if settings.preset == "default":
        normalize(left, settings.form)

    def source(second: Tensor) -> Layers:
        accumulator.refresh(second)
        return left

    return source


def _hooks(
    form: Form,
    chunk: Chunk,
    source: Source,
    finish: Callable[[], Layers] | None,
    reference: Layers,
) -> Term:
    if form == "precondition":
        return Term(transform=_precondition(chunk, source), finish=finish)
    refresh, pull = _quadratic(chunk, source, reference)
    return Term(transform=refresh, after_step=pull, finish=finish)


def _precondition(chunk: Chunk, source: Source) -> Callable[[Layers, Layers], None]:
    """Return the change of the gradient g to g + strength * I_G g."""
    strength = chunk.layers().fill_models(chunk.strength).vector
    factors = torch.empty_like(strength)

    def transform(weights: Layers, gradient: Layers) -> None:
        torch.mul(source(weights.second).vector, strength, out=factors)
        gradient.vector.addcmul_(factors, gradient.vector)

    return transform


def _quadratic(
    chunk: Chunk, source: Source, reference: Layers
) -> tuple[Callable[[Layers, Layers], None], Callable[[Layers, Adam], None]]:
    """Return the refresh of I_G and the proximal step around the reference.

    The step solves min_w |w - weights|^2 / (2 t) + strength / 2 (w - reference)' I_G (w -
    reference) for every coordinate, with Adam's own t = lr / (sqrt(v) + epsilon): the fixed point
    of both steps together is then that of loss and penalty.
    """
    strength = chunk.layers().fill_models(chunk.strength).vector
    factors = torch.empty_like(strength)

    def refresh(weights: Layers, gradient: Layers) -> None:
        torch.mul(source(weights.second).vector, strength, out=factors)

    def pull(weights: Layers, adam: Adam) -> None:
        factors.div_(adam.denominator).mul_(adam.lr)
        weights.vector.addcmul_(factors, reference.vector).div_(factors.add_(1))

    return refresh, pull
