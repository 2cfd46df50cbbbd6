"""A small linear sketch of the diagonal Fisher, one row per sample.

Per linear or convolutional layer with input a (1 appended for the bias) and output gradient
delta, phi(x) = (a^2 R1) * (E_y[delta^2] R2), elementwise, with fixed Gaussian R1 (inputs x m) and
R2 (outputs x m): m numbers per layer, linear in the squared gradient, so the sketch of a mixture
of fragments is the mixture of their sketches. Other layers are not sketched.
"""

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from firecv.errors import ModelError
from firecv.fisher.capture import plan_of
from firecv.fisher.laws import Law
from firecv.fisher.layers.contract import KroneckerFactors, LayerGradients
from firecv.fisher.layers.linear import sketch_of_gradients
from firecv.fisher.stream import Batches, full_precision, micro_batches
from firecv.models import Task
from firecv.seeding import derive_torch
from firecv.tree import Tree

NUMBERS = 16


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
    layers = _sketched(task)
    rows: list[Tensor] = []
    maps: dict[SketchedLayer, tuple[Tensor, Tensor]] = {}
    for micro_batch in micro_batches(task, batches, law, rng, weights):
        scores, total = micro_batch.done.scores, None
        for found in micro_batch.passes():
            with torch.no_grad(), full_precision(scores):
                columns: list[Tensor] = []
                for layer in layers:
                    owner = next(part for part in found if layer.names[0] in part.shapes)
                    if layer not in maps:
                        maps[layer] = layer.random_maps(seed, n_numbers, owner.shapes, scores)
                    columns.append(layer.sketch(owner, *maps[layer], expanded=expanded))
                phi = torch.cat(columns, 1)
                total = phi if total is None else total + phi
        assert total is not None
        rows.append(total)
    return torch.cat(rows)


class SketchedLayer(NamedTuple):
    """Names of the trainable weight and bias of a linear or convolutional layer."""

    weight: str | None
    bias: str | None

    @property
    def names(self) -> list[str]:
        """The names there are."""
        return [name for name in self if name]

    def random_maps(
        self, seed: int, n_numbers: int, shapes: dict[str, torch.Size], like: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return R1 (inputs, the bias's last) and R2 (outputs)."""
        n_outputs = shapes[self.names[0]][0]
        n_inputs = (shapes[self.weight][1:].numel() if self.weight else 0) + (self.bias is not None)

        def draw(side: str, n_rows: int) -> Tensor:
            rng = derive_torch(seed, "sketch", self.weight or "", self.bias or "", side)
            values = torch.randn(n_rows, n_numbers, generator=rng, dtype=torch.float64)
            return values.to(like.device, torch.promote_types(like.dtype, torch.float32))

        return draw("inputs", n_inputs), draw("outputs", n_outputs)

    def sketch(
        self, owner: LayerGradients, inputs: Tensor, outputs: Tensor, *, expanded: bool
    ) -> Tensor:
        """Return the sketch of this layer from the gradients that hold it."""
        if hasattr(owner, "sketch"):
            return cast(KroneckerFactors, owner).sketch(inputs, outputs, expanded=expanded)
        return sketch_of_gradients(owner.materialise(), self.weight, self.bias, inputs, outputs)


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
