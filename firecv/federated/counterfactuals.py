"""Features with some of their factors replaced, and which factors matter.

The features of a sample are what the first part of a network, the encoder, makes of it; a factor is
one channel or unit of them. The rest of the network is the decoder.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from firecv.errors import ModelError


class Counterfactuals(NamedTuple):
    """Features with the least important factors replaced, and with the most important ones."""

    same: Tensor
    other: Tensor


def counterfactuals(
    h: Tensor, others: Tensor, importance: Tensor, n_swapped: int
) -> Counterfactuals:
    """Return features with some of their factors replaced by those of others.

    Parameters
    ----------
    h, others
        Features; the second axis runs over factors.
    importance
        Of each factor for each sample, of shape (n_samples, n_factors).
    n_swapped
        How many factors are replaced.

    Examples
    --------
    >>> h, importance = torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[0.3, 0.1, 0.2]])
    >>> counterfactuals(h, torch.zeros(1, 3), importance, 1)
    Counterfactuals(same=tensor([[1., 0., 3.]]), other=tensor([[0., 2., 3.]]))
    """
    order = importance.argsort(1)

    def swapped(factors: Tensor) -> Tensor:
        mask = torch.zeros_like(importance, dtype=torch.bool).scatter_(1, factors, True)
        return torch.where(mask.reshape(*mask.shape, *[1] * (h.ndim - 2)), others, h)

    return Counterfactuals(swapped(order[:, :n_swapped]), swapped(order[:, -n_swapped:]))


def correlation(h: Tensor) -> Tensor:
    """Return the mean over pairs of factors of their squared correlation over the samples.

    Examples
    --------
    >>> h = torch.tensor([[1.0, 1.0, 1.0], [1.0, 1.0, 2.0], [2.0, 2.0, 1.0], [2.0, 2.0, 2.0]])
    >>> correlation(h[:, :2]), correlation(h[:, 1:])
    (tensor(1.), tensor(0.))
    """
    means = h.flatten(2).mean(2) if h.ndim > 2 else h
    columns = functional.normalize(means - means.mean(0), dim=0)
    squares = (columns.mT @ columns).square()
    n_factors = len(squares)
    return (squares.sum() - squares.diagonal().sum()) / max(1, n_factors * (n_factors - 1))


def split(model: nn.Module) -> tuple[nn.Sequential, nn.Sequential]:
    """Return the encoder, up to the second layer with a weight matrix, and the decoder.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 4), nn.Linear(4, 2))
    >>> [len(part) for part in split(model)]
    [2, 2]
    """
    if isinstance(model, nn.Sequential) and type(model).forward is nn.Sequential.forward:
        matrices = [
            place
            for place, layer in enumerate(model)
            if any(value.ndim > 1 for value in layer.parameters())
        ]
        if len(matrices) > 1:
            layers = list(model)
            return nn.Sequential(*layers[: matrices[1]]), nn.Sequential(*layers[matrices[1] :])
    raise ModelError(
        f"FedCFA splits a model into an encoder and a decoder and needs an nn.Sequential with two "
        f"layers that have weights or more, got a {type(model).__name__}; wrap its parts in one"
    )


def importance(judge: Callable[[Tensor], Tensor], h: Tensor, y: Tensor) -> Tensor:
    """Return how the score of a sample's label grows with each factor, as a mean over positions.

    Parameters
    ----------
    judge
        Takes features and returns class scores.
    h
        Features; the second axis runs over factors.
    y
        Labels.

    Examples
    --------
    >>> weights = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> importance(lambda h: h @ weights, torch.zeros(1, 2), torch.tensor([1]))
    tensor([[2., 4.]])
    """
    h = h.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(judge(h).gather(1, y[:, None]).sum(), h)
    return gradient.flatten(2).mean(2) if h.ndim > 2 else gradient
