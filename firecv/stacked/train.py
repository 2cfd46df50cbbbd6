"""Training of a stack, chunk by chunk."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from firecv.errors import DataError
from firecv.stacked.adam import Adam
from firecv.stacked.chunk import Chunk, chunk_size
from firecv.stacked.layers import Layers, Shape, empty_tree
from firecv.stacked.network import Network
from firecv.stacked.settings import ACCUMULATED, SUMMARIES, StackSettings
from firecv.stacked.shared import Shared
from firecv.stacked.stack import Carried, Stack, StackResult, check_weights
from firecv.stacked.terms import Start, Term, make_term
from firecv.stacked.threads import one_thread


def train_stack(stack: Stack, settings: StackSettings | None = None) -> StackResult:
    """Return all models of a stack, trained.

    Every model is what it would be if trained alone by full-batch Adam on its own rows, up to
    rounding. A model's result depends on its place in the stack by rounding only, and on the
    number of models after it not at all. Torch is held to one thread meanwhile: for more cores,
    see `run_stacks`.

    Parameters
    ----------
    stack
        Data and models.
    settings
        How to train; by default plainly.

    Examples
    --------
    >>> from firecv.seeding import derive, derive_torch
    >>> from firecv.stacked import initial_weights
    >>> x = derive(0, "x").normal(size=(60, 3))
    >>> y = (x[:, 0] > 0).astype(int)
    >>> folds = np.arange(60) % 2 == np.array([[0], [1]])  # two models, each on one half
    >>> initial = initial_weights(3, 2, [derive_torch(0, "weights", fold) for fold in range(2)])
    >>> plain = train_stack(Stack(x, y, folds, initial), StackSettings(lr=0.01, n_epochs=300))
    >>> bool((plain.losses < 0.1).all())
    True
    >>> fire = Stack(x, y, folds, initial, validation=~folds, strength=np.array([0.0, 0.1]))
    >>> both = train_stack(fire, StackSettings("trace", "labelled", lr=0.01, n_epochs=300))
    >>> (both.losses == plain.losses).tolist()  # strength 0 is plain training
    [True, False]
    """
    chosen = settings or StackSettings()
    check_fit(stack, chosen)
    with torch.no_grad(), one_thread():
        return _train(stack, chosen)


def _train(stack: Stack, settings: StackSettings) -> StackResult:
    dtype = torch.float32 if settings.precision == "float32" else torch.float64
    shape = Shape(*check_weights(stack.initial, "initial"))
    shared = Shared(stack.x, dtype)
    labels = torch.from_numpy(stack.y.astype(np.int64))
    targets = shared.pad(torch.nn.functional.one_hot(labels, shape.classes).t())
    size = chunk_size(shared.n_padded, shape.hidden, dtype)
    network = Network(shared, targets, replace(shape, models=size))
    accumulates = settings.form in ACCUMULATED and stack.fixed is None
    weights, fisher = empty_tree(shape, dtype), empty_tree(shape, dtype)
    losses, finite = np.empty(shape.models), np.empty(shape.models, bool)
    for first in range(0, shape.models, size):
        models = torch.arange(first, first + size).clamp_max(shape.models - 1)
        kept = slice(first, min(first + size, shape.models))
        trained = _train_chunk(stack, settings, network, models)
        trained.weights.write(weights, kept)
        losses[kept] = trained.losses[: kept.stop - first].numpy()
        finite[kept] = trained.weights.finite_models()[: kept.stop - first].numpy()
        if accumulates:
            trained.fisher.write(fisher, kept)
    n_fragments = 1 + (stack.carried.n_fragments if stack.carried else 0)
    carried = Carried(fisher, n_fragments, weights) if accumulates else None
    return StackResult(weights, losses, finite, carried)


class _Trained(NamedTuple):
    weights: Layers
    losses: Tensor
    fisher: Layers


def _train_chunk(
    stack: Stack, settings: StackSettings, network: Network, models: Tensor
) -> _Trained:
    """Return those models of a stack, trained."""
    strengths = np.broadcast_to(stack.strength, len(stack))[models.numpy()]
    # Where all strengths are 0 there is nothing but plain training, and no look at V.
    form = settings.form if strengths.any() else "plain"
    chunk = Chunk.of(stack, models, network, form != "plain" and settings.sees_rows)
    weights, old = chunk.layers().read(stack.initial, models), stack.carried
    start = Start(
        average=chunk.layers().read(old.fisher, models) if old else chunk.layers(),
        reference=chunk.layers().read(old.reference if old else stack.initial, models),
        fixed=None if stack.fixed is None else chunk.layers().read(stack.fixed, models),
    )
    term = make_term(form, chunk, settings, start)
    _descend(chunk, settings, weights, term)
    network.forward(weights, chunk.scaling)
    fisher = term.finish() if term.finish else chunk.layers()
    fisher.scale_models((chunk.strength > 0).to(chunk.strength.dtype))
    return _Trained(weights, network.losses(chunk.train), fisher)


def _descend(chunk: Chunk, settings: StackSettings, weights: Layers, term: Term) -> None:
    """Train the weights in place."""
    network, gradient = chunk.network, chunk.layers()
    rows, outputs = chunk.train.unsqueeze(1), torch.empty_like(network.errors)
    adam = Adam(weights.vector, settings.lr)
    is_penalised = bool(chunk.penalty.any())
    for _ in range(settings.n_epochs):
        network.forward(weights, chunk.scaling)
        torch.mul(network.errors, rows, out=outputs)
        adjoint = term.adjoint(weights) if term.adjoint else None
        if adjoint is not None:
            outputs.add_(adjoint.outputs)
        units = None if adjoint is None else adjoint.units
        network.backward(weights, chunk.scaling, outputs, units, gradient)
        if adjoint is not None:
            gradient.second[:, :, :-1].add_(adjoint.second)
        if is_penalised:
            gradient.first[:-1].addcmul_(weights.first[:-1], chunk.penalty.view(1, -1, 1))
            gradient.second[..., :-1].addcmul_(
                weights.second[..., :-1], chunk.penalty.view(-1, 1, 1)
            )
        if term.transform:
            term.transform(weights, gradient)
        adam.step(weights.vector, gradient.vector)
        if term.after_step:
            term.after_step(weights, adam)


def check_fit(stack: Stack, settings: StackSettings) -> None:
    """Raise `DataError` unless the stack has what the form needs."""
    if settings.sees_rows and stack.validation is None:
        raise DataError(
            f"regime={settings.regime!r} looks at validation rows, but the stack has none; give "
            f"validation row weights or use regime='none'"
        )
    if settings.form == "align" and (settings.regime in SUMMARIES) != (stack.fixed is not None):
        raise DataError(
            f"form='align' takes the validation Fisher from `fixed` in the regimes {SUMMARIES} and "
            f"from validation rows in the others; got regime={settings.regime!r} and "
            f"fixed={'None' if stack.fixed is None else 'given'}"
        )
