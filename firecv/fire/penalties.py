"""The penalties of `trace` and `align` on a forward pass that has been run, differentiable."""

from torch import Tensor, stack

from firecv import tree
from firecv.fire.forms import misalignment, mixed_trace
from firecv.fire.validation import Validation
from firecv.fisher import Diagonal, differentiable_diagonal, differentiable_trace
from firecv.fisher.capture import Pass
from firecv.fisher.differentiable import exact_squares
from firecv.fisher.laws import Law, n_pulls, pulls
from firecv.fisher.layers.contract import LayerGradients
from firecv.fisher.stream import full_precision

Drawn = tuple[Tensor, Tensor | None] | None
"""Samples of the validation set, with labels where these may be seen."""


def trace_term(done: Pass, y: Tensor, drawn: Drawn, validation: Validation, mix: float) -> Tensor:
    """Return mu tr F_B + (1 - mu) tr F_V, or tr F_B where nothing was drawn of V."""
    norms = [layer.norms().sum() for layers in _live(done, y, "empirical") for layer in layers]
    fragment = stack(norms).sum() / len(y)
    if drawn is None:
        return fragment
    live = differentiable_trace(done.task, *drawn, law=validation.law)
    return mixed_trace(fragment, live.trace, mix)


def align_term(done: Pass, y: Tensor, drawn: Drawn, validation: Validation) -> Tensor:
    """Return the sum of squares of F_B - F_V, F_V being frozen if V itself is not at hand."""
    law = validation.law  # the same on both sides, or misfit would count as shift
    if (found := exact_squares(done.task, done.x, law, done.weights)) is not None:
        fragment = found.diagonal()
    else:
        passes = [Diagonal.from_layers(layers).entries for layers in _live(done, y, law)]
        fragment = passes[0]
        for entries in passes[1:]:
            fragment = tree.add(fragment, entries)
        fragment = tree.scale(fragment, 1 / len(y))
    if validation.fisher is not None:
        return misalignment([fragment], validation.fisher.diagonal())
    assert drawn is not None
    return misalignment([fragment], differentiable_diagonal(done.task, *drawn, law=law).diagonal)


def _live(done: Pass, y: Tensor, law: Law) -> list[list[LayerGradients]]:
    """Return differentiable per-sample gradients of every backward pass that the law takes."""
    share = 1 / n_pulls(law, done.scores.shape[1])
    with full_precision(done.x):
        return [
            done.backward(done.scores, each, share, differentiable=True).layers
            for each in pulls(done.scores, y, law, None)
        ]
