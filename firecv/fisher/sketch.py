"""A small linear sketch of the diagonal Fisher, one row per sample.

Per linear or convolutional layer with input a (1 appended for the bias) and output gradient
delta, phi(x) = (a^2 R1) * (E_y[delta^2] R2), elementwise, with fixed Gaussian R1 (inputs x m) and
R2 (outputs x m): m numbers per layer, linear in the squared gradient, so the sketch of a mixture
of fragments is the mixture of their sketches. Other layers are not sketched.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from firecv.errors import ModelError
from firecv.fisher import checks
from firecv.fisher.capture import plan_of
from firecv.fisher.laws import Law
from firecv.fisher.layers.contract import KroneckerFactors, LayerGradients
from firecv.fisher.layers.linear import sketch_of_gradients
from firecv.fisher.perceptron import Perceptron
from firecv.fisher.stream import (
    MICRO_BATCH,
    Batches,
    MicroBatch,
    full_precision,
    micro_batches,
    parts,
)
from firecv.models import Task
from firecv.seeding import derive_torch
from firecv.tree import Tree

NUMBERS = 16
ROWS_AT_ONCE = 640
"""Gradients, of a sample and a class each, that go through a plain perceptron together."""


def sketch(
    task: Task,
    batches: Batches,
    *,
    seed: int,
    law: Law = "exact",
    rng: torch.Generator | None = None,
    weights: Tree | None = None,
    n_numbers: int = NUMBERS,
    expanded: bool = False,
) -> Tensor:
    """Return the sketch of every sample, of shape (n_samples, n_layers * n_numbers).

    Parameters
    ----------
    task
        The model, in eval mode.
    batches
        ``(x, y)`` or ``(x,)`` batches.
    seed
        Seed of the random maps; all who compare sketches use the same.
    law
        Law of the label.
    rng
        Draws the labels of the sampled law.
    weights
        Weights to use instead of the model's own.
    n_numbers
        Numbers per layer.
    expanded
        For layers applied at many positions (convolutions, tokens): sum squares over positions
        instead of squaring the sum. Cheaper, but not the Fisher.

    Examples
    --------
    >>> from firecv.models import batches
    >>> task = Task(torch.nn.Linear(3, 2).eval())
    >>> sketch(task, batches(torch.randn(8, 3)), seed=0).shape
    torch.Size([8, 16])
    """
    checks.check_law(law)
    checks.check_eval(task)
    perceptron = plan_of(task).perceptron
    layers = _sketched(task)
    maps = _Maps(layers, seed, n_numbers)
    rows: list[Tensor] = []
    for x, y in parts(batches, MICRO_BATCH):
        if law == "exact" and perceptron is not None and perceptron.applies(x):
            rows += _written_out(perceptron, task, x, weights, maps)
            continue
        given = [x] if y is None else [x, y]
        for micro_batch in micro_batches(task, [given], law, rng, weights):
            rows.append(_over_passes(micro_batch, maps, expanded=expanded))
    return torch.cat(rows)


class SketchedLayer(NamedTuple):
    """Names of the trainable weight and bias of a linear or convolutional layer."""

    weight: str | None
    bias: str | None

    @property
    def names(self) -> list[str]:
        """The names there are."""
        return [name for name in self if name]

    def sketch(
        self, owner: LayerGradients, inputs: Tensor, outputs: Tensor, *, expanded: bool
    ) -> Tensor:
        """Return the sketch of this layer from the gradients that hold it."""
        if hasattr(owner, "sketch"):
            return cast(KroneckerFactors, owner).sketch(inputs, outputs, expanded=expanded)
        return sketch_of_gradients(owner.materialise(), self.weight, self.bias, inputs, outputs)


class _Maps(NamedTuple):
    """How the random maps of layers are drawn."""

    layers: list[SketchedLayer]
    seed: int
    n_numbers: int

    def of(
        self, layer: SketchedLayer, shapes: Mapping[str, torch.Size], like: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return R1 (inputs, the bias's last) and R2 (outputs)."""
        n_outputs = shapes[layer.names[0]][0]
        n_inputs = shapes[layer.weight][1:].numel() if layer.weight else 0
        n_inputs += layer.bias is not None
        dtype = torch.promote_types(like.dtype, torch.float32)
        names = (self.seed, layer.weight or "", layer.bias or "")
        inputs, outputs = (
            _drawn(*names, side, n_rows, self.n_numbers, dtype).to(like.device)
            for side, n_rows in (("inputs", n_inputs), ("outputs", n_outputs))
        )
        return inputs, outputs


@lru_cache(maxsize=64)
def _drawn(
    seed: int,
    weight: str,
    bias: str,
    side: str,
    n_rows: int,
    n_numbers: int,
    dtype: torch.dtype,
) -> Tensor:
    """Return one map; kept, since every client of a round draws the same."""
    rng = derive_torch(seed, "sketch", weight, bias, side)
    return torch.randn(n_rows, n_numbers, generator=rng, dtype=torch.float64).to(dtype)


def _over_passes(micro_batch: MicroBatch, maps: _Maps, *, expanded: bool) -> Tensor:
    """Return the sketches of a few samples, one backward pass after the other."""
    scores, total = micro_batch.done.scores, None
    for found in micro_batch.passes():
        with torch.no_grad(), full_precision(scores):
            columns: list[Tensor] = []
            for layer in maps.layers:
                owner = next(part for part in found if layer.names[0] in part.shapes)
                drawn = maps.of(layer, owner.shapes, scores)
                columns.append(layer.sketch(owner, *drawn, expanded=expanded))
            phi = torch.cat(columns, 1)
            total = phi if total is None else total + phi
    assert total is not None
    return total


def _written_out(
    perceptron: Perceptron, task: Task, x: Tensor, weights: Tree | None, maps: _Maps
) -> list[Tensor]:
    """Return the sketches of a few samples of a plain perceptron, all classes at once."""
    n_classes = perceptron.layers[-1][0].out_features
    shapes = {name: value.shape for name, value in task.parameters().items()}
    rows: list[Tensor] = []
    with torch.no_grad():
        for part in x.split(max(1, ROWS_AT_ONCE // n_classes)):
            scores, found = perceptron.exact_squares(part, weights)
            checks.check_scores(scores.requires_grad_(), len(part))
            checks.check_finite_scores(scores, task, part, weights)
            columns: list[Tensor] = []
            for layer, (a, squared) in zip(maps.layers, found, strict=True):
                inputs, outputs = maps.of(layer, shapes, scores)
                left = a.square() @ inputs[: a.shape[1]]
                columns.append((left + inputs[-1] if layer.bias else left) * (squared @ outputs))
            rows.append(torch.cat(columns, 1))
    return rows


def _sketched(task: Task) -> list[SketchedLayer]:
    """Return the linear and convolutional layers in the order of the model."""
    layers = [
        SketchedLayer(site.names.get("weight"), site.names.get("bias"))
        for site in plan_of(task).sites
        if isinstance(site.module, nn.Linear | nn.Conv1d | nn.Conv2d)
        and {"weight", "bias"} & site.names.keys()
    ]
    if not layers:
        raise ModelError(
            "the model has no trainable linear or convolutional layer to sketch; unfreeze one"
        )
    return list(dict.fromkeys(layers))
