"""The forward and backward pass of a plain multilayer perceptron, written out.

For small networks the automatic differentiation itself is most of the cost. Linear layers with
ReLU between them, the networks for tables and for federated clients, need none of it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from firecv.fisher.layers.contract import LayerGradients
from firecv.fisher.layers.linear import LinearGradients
from firecv.tree import Tree

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
GLOBAL_HOOKS = tuple(getattr(nn.modules.module, f"_global{name}") for name in HOOKS)


class LayerSquares(NamedTuple):
    """A linear layer's inputs and E_y[delta^2], one row per sample, y drawn from the model."""

    inputs: Tensor
    squared: Tensor


@dataclass(frozen=True)
class Perceptron:
    """Linear layers with ReLU between them, all of them trainable.

    Parameters
    ----------
    modules
        All modules of the model, to look for hooks.
    layers
        Linear layers in order, with the names of weight and bias.
    flatten
        Whether samples are flattened first.
    """

    modules: list[nn.Module]
    layers: list[tuple[nn.Linear, str, str | None]]
    flatten: bool

    @classmethod
    def of(cls, model: nn.Module, trainable: frozenset[str]) -> "Perceptron | None":
        """Return the model as a perceptron, or None if it is anything else."""
        if type(model) is not nn.Sequential:
            return None
        parts = list(model.named_children())
        flatten = type(parts[0][1]) is nn.Flatten
        if flatten:
            first = parts.pop(0)[1]
            if (first.start_dim, first.end_dim) != (1, -1):
                return None
        layers: list[tuple[nn.Linear, str, str | None]] = []
        for place, (name, module) in enumerate(parts):
            if type(module) is not (nn.ReLU if place % 2 else nn.Linear):
                return None
            if isinstance(module, nn.Linear):
                bias = f"{name}.bias" if "bias" in dict(module.named_parameters()) else None
                layers.append((module, f"{name}.weight", bias))
        names = [name for _, weight, bias in layers for name in (weight, bias) if name]
        ends_linear = len(parts) % 2 == 1
        if not ends_linear or len({id(m) for m in model.modules()}) != len(list(model)) + 1:
            return None
        return (
            cls(list(model.modules()), layers, flatten) if frozenset(names) == trainable else None
        )

    def applies(self, x: Tensor) -> bool:
        """Tell whether the written-out pass is the model's own: no hooks, no casts."""
        first = self.layers[0][0].weight
        if torch.is_autocast_enabled(x.device.type) or x.dtype != first.dtype:
            return False
        if x.dtype not in (torch.float32, torch.float64) or (x.ndim != 2 and not self.flatten):
            return False
        return not any(_is_touched(module) for module in self.modules) and not any(GLOBAL_HOOKS)

    def run(
        self, x: Tensor, y: Tensor, weights: Tree | None, pull: float, share: float
    ) -> tuple[Tensor, list[LayerGradients]]:
        """Return the mean loss and every layer's gradients of `pull` times the loss.

        Parameters
        ----------
        x, y
            Samples and labels.
        weights
            Weights to use instead of the model's own.
        pull
            Factor of the output gradients.
        share
            Weight of one sample in Kronecker factors of inputs.
        """
        inputs, matrices, scores = self._forward(x, weights)
        logarithms = torch.log_softmax(scores, 1)
        loss = functional.nll_loss(logarithms, y)
        delta = logarithms.exp_()
        delta.scatter_add_(1, y.unsqueeze(1), delta.new_full((), -1.0).expand(delta.shape[0], 1))
        delta.mul_(pull / delta.shape[0])
        layers: list[LayerGradients] = []
        for place in range(len(self.layers) - 1, -1, -1):
            _, weight, bias = self.layers[place]
            layers.append(LinearGradients(weight, bias, inputs[place], delta, share))
            if place:
                delta = torch.ops.aten.threshold_backward(delta @ matrices[place], inputs[place], 0)
        return loss, layers[::-1]

    def exact_squares(self, x: Tensor, weights: Tree | None) -> tuple[Tensor, list[LayerSquares]]:
        """Return the scores, and every layer's squared output gradients over the model's labels.

        All classes go back through the network in one product per layer. Where gradients are on,
        both are differentiable in the weights.

        Parameters
        ----------
        x
            Samples.
        weights
            Weights to use instead of the model's own.
        """
        inputs, matrices, scores = self._forward(x, weights)
        # The root of p, whose slope is finite where p is 0.
        root = (torch.log_softmax(scores, 1) / 2).exp()
        p = root.square()
        squared = [p * (1 - p)]
        # Rows are the classes' gradients, each times the root of its probability.
        delta = (matrices[-1].unsqueeze(1) - p @ matrices[-1]) * root.T.unsqueeze(2)
        for place in range(len(self.layers) - 2, -1, -1):
            active = inputs[place + 1] > 0
            squared.append(delta.square().sum(0) * active)
            if place:
                delta = (delta * active).flatten(0, 1) @ matrices[place]
                delta = delta.unflatten(0, (p.shape[1], len(x)))
        return scores, list(map(LayerSquares, inputs, reversed(squared)))

    def _forward(
        self, x: Tensor, weights: Tree | None
    ) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """Return every layer's input and weight, and the scores."""
        a = x.flatten(1) if self.flatten else x
        inputs: list[Tensor] = []
        matrices: list[Tensor] = []
        for place, (module, weight, bias) in enumerate(self.layers):
            matrix = module.weight if weights is None else weights[weight]
            shift = module.bias if weights is None or bias is None else weights[bias]
            if place:
                a = torch.relu_(a)
            inputs.append(a)
            matrices.append(matrix)
            a = functional.linear(a, matrix, shift)
        return inputs, matrices, a


def _is_touched(module: nn.Module) -> bool:
    """Tell whether a module or a parameter of it has hooks, or a forward pass of its own."""
    own = module.__dict__
    if "forward" in own or any(not _only_looks(hook) for n in HOOKS for hook in own[n].values()):
        return True
    return any(p is not None and p._backward_hooks for p in own["_parameters"].values())


def _only_looks(hook: object) -> bool:
    """Tell whether a hook is known to change nothing."""
    return getattr(getattr(hook, "__self__", None), "only_looks", False)
