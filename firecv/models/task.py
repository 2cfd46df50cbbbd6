"""What is trained: a model, its loss and the names of its trainable parameters."""

import copy
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import NamedTuple, final

from torch import Tensor, nn
from torch.func import functional_call  # pyright: ignore[reportUnknownVariableType]

from firecv.errors import DataError, ModelError
from firecv.tree import Tree

Batch = tuple[Tensor, Tensor]


@final
class Task:
    """A classifier with its loss and the parameters that training may change.

    The model maps a batch of samples to class scores of shape (n_samples, n_classes); the loss
    is the mean cross-entropy of their softmax. The model's layers are looked at once, so a
    model whose layers are exchanged, frozen or unfrozen later needs a new task.

    Parameters
    ----------
    model
        Any `nn.Module` classifier.
    trainable
        Names of trainable parameters; by default those that require a gradient.

    Examples
    --------
    >>> import torch
    >>> task = Task(nn.Linear(3, 2))
    >>> task.trainable
    ('weight', 'bias')
    >>> task.loss((torch.zeros(4, 3), torch.tensor([0, 1, 1, 0]))).shape
    torch.Size([])
    """

    def __init__(self, model: nn.Module, trainable: Sequence[str] | None = None) -> None:
        parameters = dict(model.named_parameters())
        live = tuple(name for name, value in parameters.items() if value.requires_grad)
        chosen = live if trainable is None else tuple(trainable)
        for name in chosen:
            if name not in parameters:
                near = get_close_matches(name, parameters, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else f"; it has {list(parameters)}"
                raise ModelError(f"the model has no parameter {name!r}{hint}")
            if name not in live:
                raise ModelError(
                    f"parameter {name!r} is named as trainable but does not require a gradient; "
                    f"call requires_grad_() on it first"
                )
        if not chosen:
            raise ModelError(
                "the model has no trainable parameter: every parameter is frozen or there is "
                "none; call requires_grad_() on those to train"
            )
        self.model, self.trainable = model, chosen
        self._offset: Tensor | None = None
        # Where tensors are: walking through the model costs more than a small client's batch.
        buffers = [name for name, _ in model.named_buffers()]
        self._places = [_Place.of(model, name) for name in (*parameters, *buffers)]

    def parameters(self) -> Tree:
        """Return the trainable parameters themselves, by name."""
        named = {place.name: place.tensor for place in self._places}
        return {name: named[name] for name in self.trainable}

    def state(self) -> Tree:
        """Return all parameters and floating-point buffers themselves, by name."""
        found = ((place.name, place.tensor) for place in self._places)
        return {name: value for name, value in found if value.is_floating_point()}

    def weights(self) -> Tree:
        """Return a copy of all parameters and floating-point buffers."""
        return {name: value.detach().clone() for name, value in self.state().items()}

    def keep_trainable(self, weights: Tree) -> Tree:
        """Return the trainable entries of `weights`."""
        return {name: weights[name] for name in self.trainable}

    def scores(self, x: Tensor, weights: Tree | None = None) -> Tensor:
        """Return class scores of shape (n_samples, n_classes).

        Parameters
        ----------
        x
            Samples, the first axis running over them.
        weights
            Weights to use instead of the model's own, which stay as they are.
        """
        if weights is None:
            return self.model(x)
        return functional_call(self.model, weights, (x,))

    def loss(self, batch: Batch, weights: Tree | None = None) -> Tensor:
        """Return the mean cross-entropy of a labelled batch."""
        x, y = batch
        return self.loss_of(self.scores(x, weights), y)

    def loss_of(self, scores: Tensor, y: Tensor) -> Tensor:
        """Return the mean cross-entropy of class scores.

        Parameters
        ----------
        scores
            Of shape (n_samples, n_classes).
        y
            Labels, or probabilities of the classes.
        """
        if self._offset is not None:
            scores = scores + self._offset.to(scores)
        return nn.functional.cross_entropy(scores, y)

    def offset_by(self, offset: Tensor) -> "Task":
        """Return a task of the same model whose loss adds a number to the score of each class.

        Scores stay as they are: the offset is what training is to leave out of them.

        Parameters
        ----------
        offset
            One number for each class.

        Examples
        --------
        >>> import torch
        >>> task, batch = Task(nn.Linear(3, 2)), (torch.zeros(4, 3), torch.tensor([0, 1, 1, 0]))
        >>> leaning = task.offset_by(torch.tensor([20.0, 0.0]))
        >>> bool(leaning.loss(batch) > 9), bool(task.loss(batch) < 2)
        (True, True)
        """
        twin = copy.copy(self)
        twin._offset = offset
        return twin


class _Place(NamedTuple):
    """Where a tensor is: a module, and the tensor's own name there."""

    name: str
    module: nn.Module
    own: str

    @classmethod
    def of(cls, model: nn.Module, name: str) -> "_Place":
        path, _, own = name.rpartition(".")
        return cls(name, model.get_submodule(path), own)

    @property
    def tensor(self) -> Tensor:
        return getattr(self.module, self.own)


def batches(x: Tensor, y: Tensor | None = None, size: int = 256) -> Iterator[tuple[Tensor, ...]]:
    """Yield consecutive mini-batches ``(x, y)``, or ``(x,)`` without labels.

    Examples
    --------
    >>> import torch
    >>> [len(x) for x, y in batches(torch.zeros(5, 3), torch.zeros(5), size=2)]
    [2, 2, 1]
    """
    if y is not None and len(x) != len(y):
        raise DataError(f"got {len(x)} samples and {len(y)} labels; they must be as many")
    for start in range(0, len(x), size):
        part = slice(start, start + size)
        yield (x[part],) if y is None else (x[part], y[part])
