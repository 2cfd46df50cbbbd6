"""The parameters of a chunk of models in one vector, with a view of each layer.

One vector lets Adam and the Fisher's averages run over all parameters of all models in one call.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from firecv.stacked.stack import NAMES
from firecv.tree import Tree


@dataclass(frozen=True)
class Shape:
    """Numbers of models, inputs, hidden units and classes."""

    models: int
    inputs: int
    hidden: int
    classes: int

    @property
    def n_parameters(self) -> int:
        """Return the number of parameters of one model."""
        return self.hidden * (self.inputs + 1) + self.classes * (self.hidden + 1)


class Layers:
    """Parameters, or anything with one number per parameter, of a chunk of models.

    Attributes
    ----------
    vector
        All numbers.
    first
        View of the first layer, (inputs + 1, models, hidden), biases last: the order in which the
        product with the shared matrix gives gradients.
    second
        View of the second layer, (models, classes, hidden + 1), biases last.
    """

    def __init__(self, shape: Shape, dtype: torch.dtype) -> None:
        self.shape = shape
        self.vector = torch.zeros(shape.models * shape.n_parameters, dtype=dtype)
        n_first = (shape.inputs + 1) * shape.models * shape.hidden
        self.first = self.vector[:n_first].view(shape.inputs + 1, shape.models, shape.hidden)
        self.second = self.vector[n_first:].view(shape.models, shape.classes, shape.hidden + 1)

    def fill_models(self, values: Tensor) -> "Layers":
        """Return self with one number per model at all its parameters."""
        self.first.copy_(values.view(1, -1, 1))
        self.second.copy_(values.view(-1, 1, 1))
        return self

    def clone(self) -> "Layers":
        """Return a copy."""
        copy = Layers(self.shape, self.vector.dtype)
        copy.vector.copy_(self.vector)
        return copy

    def scale_models(self, factors: Tensor) -> None:
        """Multiply every model's numbers by its factor."""
        self.first.mul_(factors.view(1, -1, 1))
        self.second.mul_(factors.view(-1, 1, 1))

    def model_means(self) -> Tensor:
        """Return the mean over every model's parameters."""
        total = self.first.sum((0, 2)).add_(self.second.sum((1, 2)))
        return total.div_(self.shape.n_parameters)

    def model_maxima(self) -> Tensor:
        """Return the largest of every model's numbers."""
        return torch.maximum(self.first.amax((0, 2)), self.second.amax((1, 2)))

    def finite_models(self) -> Tensor:
        """Return for every model whether all its numbers are finite."""
        first = self.first.isfinite().all(2).all(0)
        return first & self.second.isfinite().all(2).all(1)

    def read(self, weights: Tree, models: Tensor) -> "Layers":
        """Return self with the numbers of the chosen models of a tree."""
        matrix, bias, output, output_bias = (weights[name][models] for name in NAMES)
        self.first[:-1].copy_(matrix.permute(2, 0, 1))
        self.first[-1].copy_(bias)
        self.second[:, :, :-1].copy_(output)
        self.second[:, :, -1].copy_(output_bias)
        return self

    def write(self, weights: Tree, models: slice) -> None:
        """Store the numbers as those models of a tree, leaving out models too many."""
        kept = slice(models.stop - models.start)
        weights["0.weight"][models] = self.first[:-1, kept].permute(1, 2, 0)
        weights["0.bias"][models] = self.first[-1, kept]
        weights["2.weight"][models] = self.second[kept, :, :-1]
        weights["2.bias"][models] = self.second[kept, :, -1]


def empty_tree(shape: Shape, dtype: torch.dtype) -> Tree:
    """Return an uninitialised tree of stacked parameters."""
    models, inputs, hidden, classes = shape.models, shape.inputs, shape.hidden, shape.classes
    sizes = [(models, hidden, inputs), (models, hidden), (models, classes, hidden)]
    return {
        name: torch.empty(size, dtype=dtype)
        for name, size in zip(NAMES, [*sizes, (models, classes)], strict=True)
    }
