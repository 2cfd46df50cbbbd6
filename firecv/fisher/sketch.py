"""A small linear sketch of the diagonal Fisher, one row per sample.

Per linear or convolutional layer with input a (1 appended for the bias) and output gradient
delta, phi(x) = (a^2 R1) * (E_y[delta^2] R2), elementwise, with fixed Gaussian R1 (inputs x m) and
R2 (outputs x m): m numbers per layer, linear in the squared gradient, so the sketch of a mixture
of fragments is the mixture of their sketches. Other layers are not sketched.
"""

from typing import cast

import torch
from torch import Tensor

from firecv.errors import ModelError
from firecv.fisher.laws import Law
from firecv.fisher.layers.contract import KroneckerFactors, LayerGradients
from firecv.fisher.stream import Batches, micro_batches
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
    rows: list[Tensor] = []
    maps: dict[str, tuple[Tensor, Tensor]] = {}
    for micro_batch in micro_batches(task, batches, law, rng, weights):
        total = torch.zeros(())
        for layers in micro_batch.passes():
            columns: list[Tensor] = []
            for layer in sketchable(layers):
                key = layer.weight or layer.bias or ""
                if key not in maps:
                    maps[key] = _random_maps(layer, seed, n_numbers, micro_batch.done.scores)
                with torch.no_grad():
                    columns.append(layer.sketch(*maps[key], expanded=expanded))
            total = total.to(columns[0]) + torch.cat(columns, 1)
        rows.append(total)
    return torch.cat(rows)


def sketchable(layers: list[LayerGradients]) -> list[KroneckerFactors]:
    """Return the linear and convolutional layers."""
    found = [cast(KroneckerFactors, layer) for layer in layers if hasattr(layer, "sketch")]
    if not found:
        raise ModelError(
            "the model has no trainable linear or convolutional layer to sketch; unfreeze one"
        )
    return found


def _random_maps(
    layer: KroneckerFactors, seed: int, n_numbers: int, like: Tensor
) -> tuple[Tensor, Tensor]:
    """Return R1 (inputs, the bias's last) and R2 (outputs) of one layer."""
    shapes = layer.shapes
    n_outputs = next(iter(shapes.values()))[0]
    n_inputs = (shapes[layer.weight][1:].numel() if layer.weight else 0) + (layer.bias is not None)

    def draw(side: str, n_rows: int) -> Tensor:
        rng = derive_torch(seed, "sketch", layer.weight or "", layer.bias or "", side)
        values = torch.randn(n_rows, n_numbers, generator=rng, dtype=torch.float64)
        return values.to(like.device, like.dtype)

    return draw("inputs", n_inputs), draw("outputs", n_outputs)
