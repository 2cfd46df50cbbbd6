"""One-step for all models of a stack at once: every model what `OneStep` makes of it alone.

A classifier and a network of weights per model take their steps in turns, all models' first layers
being one product with the shared matrix; nothing is differentiated automatically. A network of
weights changes once in an epoch, so its pass after a step is also the one before the next.

Zhang, Yamane, Lu and Sugiyama, ACML 2020, PMLR 129:65-80, arXiv 2007.04043.

*Symbols*: as in `firecv.rivals.onestep`: the classifier f, the network of weights g, J(f, g), and
bound = M.

*Departures*: those of `OneStep`. A model whose training rows are all of one class is trained as
the others are, and one that diverges predicts NaN, where `OneStep` would raise.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from firecv.errors import DataError
from firecv.models import Task
from firecv.models.initialise import built
from firecv.regimes import require
from firecv.rivals.onestep import OneStep, Weigher
from firecv.seeding import derive_torch
from firecv.stacked import Stack
from firecv.stacked.adam import Adam
from firecv.stacked.chunk import Chunk, chunk_size
from firecv.stacked.layers import Layers, Shape, empty_tree
from firecv.stacked.network import Network
from firecv.stacked.shared import Shared
from firecv.stacked.stack import check_weights
from firecv.stacked.threads import one_thread
from firecv.training import Training
from firecv.tree import Tree


def fit_onestep_stack(
    stack: Stack, seeds: Sequence[int], *, n_epochs: int, rate: float = 1e-3, bound: float = 1.0
) -> Tree:
    """Return the weights of all classifiers of a stack, trained by full-batch steps of Adam.

    A model's result depends on its place in the stack by rounding only.

    Parameters
    ----------
    stack
        Data and models; a row counts as often as its weight says, and the type of `initial` is that
        of all numbers. Labels of validation rows are not seen.
    seeds
        One per model, as it would be given to `OneStep.fit`.
    n_epochs, rate
        Steps of each network, and the learning rate of both.
    bound
        As for `OneStep`.

    Returns
    -------
    Tree
        Named and shaped as `Stack.initial`; a model whose loss did not stay finite has weights
        that are NaN, and so has its predictions.

    Examples
    --------
    >>> from firecv.seeding import derive
    >>> from firecv.stacked import initial_weights, predict_stack
    >>> x = derive(0, "x").normal(size=(200, 1))
    >>> y, place = (np.abs(x[:, 0]) < 1).astype(int), np.arange(200)
    >>> train, right = place % 2 == np.array([[0], [1]]), x[:, 0] > 0
    >>> initial = initial_weights(1, 2, [derive_torch(seed, "weights") for seed in (0, 1)])
    >>> stack = Stack(x, y, train, initial, validation=~train & right)
    >>> weights = fit_onestep_stack(stack, [0, 1], n_epochs=200, rate=0.03)
    >>> is_right = predict_stack(weights, x).argmax(2) == y
    >>> bool((is_right[:, right].mean(1) > 0.95).all())  # where V is
    True
    """
    settings, method = Training(n_epochs, None, rate), OneStep(bound)
    require(method.regime, "none" if stack.validation is None else "unlabelled", method.label)
    if len(seeds) != len(stack):
        raise DataError(f"got {len(seeds)} seeds for {len(stack)} models; give one per model")
    with torch.no_grad(), one_thread():
        return _fit(stack, _initial_weighers(stack.initial, seeds), settings, method)


def _initial_weighers(initial: Tree, seeds: Sequence[int]) -> Tree:
    """Return the networks of weights before training: first layers as given, and a unit each."""
    head = initial["2.weight"]
    like = built(lambda: nn.Linear(head.shape[2], 1), torch.Generator()).to(head.dtype)
    units = [Weigher(Task(like), derive_torch(seed, "weigher")).unit for seed in seeds]
    return initial | {
        "2.weight": torch.stack([unit.weight for unit in units]),
        "2.bias": torch.stack([unit.bias for unit in units]),
    }


def _fit(stack: Stack, weighers: Tree, settings: Training, method: OneStep) -> Tree:
    shape, dtype = Shape(*check_weights(stack.initial, "initial")), stack.initial["0.weight"].dtype
    shared = Shared(stack.x, dtype)
    labels = torch.from_numpy(stack.y.astype(np.int64))
    targets = shared.pad(functional.one_hot(labels, shape.classes).t())
    size = chunk_size(shared.n_padded, shape.hidden, dtype)
    network = Network(shared, targets, replace(shape, models=size))
    weights = empty_tree(shape, dtype)
    for first in range(0, shape.models, size):
        models = torch.arange(first, first + size).clamp_max(shape.models - 1)
        chunk = Chunk.of(stack, models, network, sees_validation=True)
        classifiers = chunk.layers().read(stack.initial, models)
        _descend(chunk, classifiers, _Weighers(chunk, weighers, models, method, settings), settings)
        classifiers.write(weights, slice(first, min(first + size, shape.models)))
    return weights


def _descend(chunk: Chunk, weights: Layers, weighers: "_Weighers", settings: Training) -> None:
    """Train the classifiers in place, and the networks of weights beside them."""
    network, gradient = chunk.network, chunk.layers()
    scores, outputs = torch.empty_like(network.errors), torch.empty_like(network.errors)
    adam = Adam(weights.vector, settings.rate)
    for _ in range(settings.n_epochs):
        network.forward(weights, chunk.scaling)
        torch.bmm(weights.second, network.hidden, out=scores)
        losses = torch.log_softmax(scores, 1).mul_(network.targets).sum(1).neg_()
        weighers.step(losses)  # of a loss that is not finite all weights are NaN, then the model
        torch.mul(network.errors, weighers.row_weights().unsqueeze(1), out=outputs)
        network.backward(weights, chunk.scaling, outputs, None, gradient)
        adam.step(weights.vector, gradient.vector)


class _Weighers:
    """The networks of weights of a chunk.

    Parameters
    ----------
    chunk
        Rows and scaling.
    initial, models
        Weights before training, and which of them are the chunk's.
    method, settings
        The bound, and how to train.
    """

    def __init__(
        self, chunk: Chunk, initial: Tree, models: Tensor, method: OneStep, settings: Training
    ) -> None:
        assert chunk.validation is not None
        self.train, self.validation, self.scaling = chunk.train, chunk.validation, chunk.scaling
        shape = replace(chunk.network.shape, classes=1)
        no_labels = torch.zeros_like(chunk.train[:1])
        self.network = Network(chunk.network.shared, no_labels, shape)
        self.weights = Layers(shape, chunk.train.dtype).read(initial, models)
        self.gradient = Layers(shape, chunk.train.dtype)
        self.adam = Adam(self.weights.vector, settings.rate)
        self.squared_bound = method.bound**2
        self._forward()

    def step(self, losses: Tensor) -> None:
        """Take a step down J, given the losses of the classifiers, (models, rows)."""
        weighted = self.train * losses
        risk = torch.linalg.vecdot(weighted, self.found).unsqueeze(1)
        error = (self.train * self.found).sub_(self.validation)
        slopes = weighted.mul_(risk).add_(error, alpha=self.squared_bound).mul_(2)  # of J by g
        slopes.mul_(self.scores.sigmoid())  # the derivative of softplus
        self.network.backward(self.weights, self.scaling, slopes.unsqueeze(1), None, self.gradient)
        self.adam.step(self.weights.vector, self.gradient.vector)
        self._forward()

    def row_weights(self) -> Tensor:
        """Return each row's weight times its share of the training rows; a model's sum to 1."""
        weighted = self.train * self.found
        return weighted / weighted.sum(1, keepdim=True).clamp_min(torch.finfo(weighted.dtype).tiny)

    def _forward(self) -> None:
        self.network.forward(self.weights, self.scaling)
        self.scores = torch.bmm(self.weights.second, self.network.hidden).squeeze(1)
        self.found = functional.softplus(self.scores)
