"""Forward and backward pass of a chunk of models over the shared matrix, in buffers made once."""

import torch
from torch import Tensor

from firecv.stacked.layers import Layers, Shape
from firecv.stacked.shared import Scaling, Shared


class Network:
    """The passes of a chunk, and what they leave behind.

    Rows are the last axis of every buffer, so that each model's numbers lie together.

    Attributes
    ----------
    hidden
        Hidden units after ReLU and a last one that is 1, (models, hidden + 1, rows).
    probabilities
        Of every class, (models, classes, rows).
    errors
        Derivatives of every row's cross-entropy by the class scores, (models, classes, rows).

    Parameters
    ----------
    shared
        The matrix.
    targets
        One for every row's class, else zero, (classes, rows).
    shape
        Sizes of the chunk.
    """

    def __init__(self, shared: Shared, targets: Tensor, shape: Shape) -> None:
        dtype, rows = shared.columns.dtype, shared.n_padded
        self.shared, self.targets, self.shape = shared, targets, shape
        units = torch.ones(shape.hidden + 1, shape.models, rows, dtype=dtype)
        self._activations = units[:-1].view(-1, rows)
        self.hidden = units.transpose(0, 1)
        effective = torch.empty(shape.inputs + 1, shape.hidden, shape.models, dtype=dtype)
        self._product = effective.view(shape.inputs + 1, -1).t()
        self._effective = effective.transpose(1, 2)
        self._scores = torch.empty(shape.models, shape.classes, rows, dtype=dtype)
        self.probabilities = torch.empty_like(self._scores)
        self.errors = torch.empty_like(self._scores)
        self._pulled = torch.empty(shape.models, shape.hidden, rows, dtype=dtype)
        self._gradient = torch.empty(shape.inputs + 1, shape.models, shape.hidden, dtype=dtype)
        self._sums = torch.empty(2 * shape.inputs + 1, shape.models, shape.hidden, dtype=dtype)

    def forward(self, weights: Layers, scaling: Scaling) -> None:
        """Bring `hidden`, `probabilities` and `errors` up to date."""
        scaling.effective(weights.first, out=self._effective)
        torch.mm(self._product, self.shared.values, out=self._activations)
        self._activations.clamp_min_(0)
        torch.bmm(weights.second, self.hidden, out=self._scores)
        torch.softmax(self._scores, 1, out=self.probabilities)
        torch.sub(self.probabilities, self.targets, out=self.errors)

    def losses(self, rows: Tensor) -> Tensor:
        """Return every model's cross-entropy, averaged with row weights (models, rows)."""
        chosen = torch.log_softmax(self._scores, 1).mul_(self.targets)
        return -chosen.sum(1).mul_(rows).sum(1)

    def backward(
        self,
        weights: Layers,
        scaling: Scaling,
        outputs: Tensor,
        units: Tensor | None,
        gradient: Layers,
    ) -> None:
        """Write the gradient, given derivatives by class scores and maybe more by hidden units.

        Parameters
        ----------
        weights, scaling
            As in the forward pass.
        outputs
            Derivatives by class scores, (models, classes, rows).
        units
            Further derivatives by hidden units, (models, hidden, rows).
        gradient
            Where to write.
        """
        torch.bmm(outputs, self.hidden.transpose(1, 2), out=gradient.second)
        torch.bmm(weights.second[:, :, :-1].transpose(1, 2), outputs, out=self._pulled)
        if units is not None:
            self._pulled.add_(units)
        self.keep_active(self._pulled)
        self._reduce(self.shared.values, self._pulled, self._gradient)
        scaling.gradient(self._gradient, out=gradient.first)

    def keep_active(self, units: Tensor) -> None:
        """Make zero what belongs to hidden units that ReLU switched off."""
        torch.ops.aten.threshold_backward.grad_input(
            units, self.hidden[:, :-1], 0, grad_input=units
        )

    def first_fisher(self, squares: Tensor, scaling: Scaling, out: Tensor) -> None:
        """Write the first layer's diagonal, given weighted squares (models, hidden, rows)."""
        self._reduce(self.shared.columns, squares, self._sums)
        scaling.fisher(self._sums, out=out)

    def second_fisher(self, squares: Tensor, squared_units: Tensor, out: Tensor) -> None:
        """Write the second layer's diagonal, given weighted squares (models, classes, rows)."""
        torch.bmm(squares, squared_units.transpose(1, 2), out=out)

    def _reduce(self, columns: Tensor, units: Tensor, out: Tensor) -> None:
        """Write the sums over rows of every column times every hidden unit's number."""
        flat = units.view(-1, units.shape[-1]).t()
        torch.mm(columns, flat, out=out.view(len(columns), -1))
