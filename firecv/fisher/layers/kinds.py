"""Which layers have a closed form, and how a captured call becomes per-sample gradients.

A kind gets one call of a layer and the gradient of its output, both already known to run over
the samples, and returns per-sample gradients in factored form, or None where its closed form
does not apply; the parameters then go through the fallback.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, cast

from torch import Tensor, nn
from torch.nn import functional

from firecv.fisher.layers.contract import LayerGradients
from firecv.fisher.layers.convolution import ConvolutionGradients, Geometry
from firecv.fisher.layers.embedding import EmbeddingGradients
from firecv.fisher.layers.linear import LinearGradients
from firecv.fisher.layers.norms import batch_norm, group_norm, layer_norm
from firecv.tree import Tree


@dataclass(frozen=True)
class Site:
    """A module with trainable parameters of its own.

    Parameters
    ----------
    path
        Where the module sits in the model.
    module
        The module itself.
    names
        Trainable parameters of its own: attribute to name in the model.
    inside
        All parameters and buffers below it: name below it to name in the model.
    """

    path: str
    module: nn.Module
    names: dict[str, str]
    inside: dict[str, str]

    def state(self, attribute: str, weights: Tree | None) -> Tensor:
        """Return a parameter or buffer as the captured pass used it."""
        own = cast(Tensor, getattr(self.module, attribute))
        return own if weights is None else weights.get(self.inside[attribute], own)


class Use(NamedTuple):
    """One use of a layer: inputs and output gradients with the samples on `axis`.

    Parameters
    ----------
    site
        The layer.
    x, delta
        Its input and the gradient of its output.
    axis
        Axis of the samples in both.
    n_samples
        How many samples the batch has.
    share
        Weight of one sample in Kronecker factors of inputs.
    weights
        Weights used instead of the model's own, if any.
    """

    site: Site
    x: Tensor
    delta: Tensor
    axis: int
    n_samples: int
    share: float
    weights: Tree | None


Kind = Callable[[Use], LayerGradients | None]


def kind_of(module: nn.Module) -> Kind | None:
    """Return the closed form for this module, or None.

    A subclass counts only if it keeps the forward pass of its base.
    """
    if "forward" in module.__dict__:
        return None
    for layer, kind in KINDS.items():
        if isinstance(module, layer) and type(module).forward is layer.forward:
            return kind
    return None


def _linear(use: Use) -> LayerGradients:
    a, delta = _positions(use.x, use, 1), _positions(use.delta, use, 1)
    names = use.site.names
    return LinearGradients(names.get("weight"), names.get("bias"), a, delta, use.share)


def _embedding(use: Use) -> LayerGradients | None:
    module = use.site.module
    assert isinstance(module, nn.Embedding)
    if module.max_norm is not None or module.scale_grad_by_freq:
        return None
    index = _positions(use.x, use, 0)
    delta = _positions(use.delta, use, 1)
    return EmbeddingGradients.of(
        use.site.names["weight"],
        module.num_embeddings,
        index.reshape(use.n_samples, -1),
        delta.reshape(use.n_samples, -1, delta.shape[-1]),
        module.padding_idx,
    )


def _layer_norm(use: Use) -> LayerGradients:
    module = use.site.module
    assert isinstance(module, nn.LayerNorm)
    x, delta = (
        _positions(value, use, len(module.normalized_shape), squeeze=False)
        for value in (use.x, use.delta)
    )
    return layer_norm(module, use.site.names, x, delta)


def _group_norm(use: Use) -> LayerGradients | None:
    module = use.site.module
    assert isinstance(module, nn.GroupNorm)
    if not _batched(use, use.x.ndim):
        return None
    return group_norm(module, use.site.names, use.x, use.delta)


def _batch_norm(use: Use) -> LayerGradients | None:
    module = use.site.module
    assert isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d | nn.BatchNorm3d)
    if not _batched(use, use.x.ndim):
        return None
    mean, variance = (
        use.site.state(name, use.weights).to(use.x.dtype)
        for name in ("running_mean", "running_var")
    )
    return batch_norm(use.site.names, use.x, use.delta, mean, variance, module.eps)


def _convolution(use: Use) -> LayerGradients | None:
    module = use.site.module
    assert isinstance(module, nn.Conv1d | nn.Conv2d)
    n_spatial = len(module.kernel_size)
    if not _batched(use, n_spatial + 2):
        return None
    x, delta = use.x, use.delta
    # The module's own list, last axis first: it knows numbers, "same" and "valid".
    padding: list[int] = module._reversed_padding_repeated_twice  # pyright: ignore
    if any(padding):
        mode = "constant" if module.padding_mode == "zeros" else module.padding_mode
        x = functional.pad(x, padding, mode=mode)
    if n_spatial == 1:
        x, delta = x.unsqueeze(2), delta.unsqueeze(2)
    flat = (1,) * (2 - n_spatial)
    geometry = Geometry(
        kernel=_pair(flat + tuple(module.kernel_size)),
        stride=_pair(flat + tuple(module.stride)),
        dilation=_pair(flat + tuple(module.dilation)),
        groups=module.groups,
    )
    names = use.site.names
    shape = module.weight.shape
    return ConvolutionGradients(
        names.get("weight"), names.get("bias"), x, delta, geometry, shape, use.share
    )


KINDS: dict[type[nn.Module], Kind] = {
    nn.Linear: _linear,
    nn.Conv2d: _convolution,
    nn.Conv1d: _convolution,
    nn.Embedding: _embedding,
    nn.LayerNorm: _layer_norm,
    nn.GroupNorm: _group_norm,
    nn.BatchNorm1d: _batch_norm,
    nn.BatchNorm2d: _batch_norm,
    nn.BatchNorm3d: _batch_norm,
}


def _positions(value: Tensor, use: Use, n_feature_axes: int, *, squeeze: bool = True) -> Tensor:
    """Return (n_samples, n_positions, *features), without positions if there is only one."""
    n, features = use.n_samples, value.shape[value.ndim - n_feature_axes :]
    if value.shape[:-1] == (n,) and squeeze and n_feature_axes == 1:
        return value
    result = value.movedim(use.axis, 0).reshape(n, -1, *features)
    return result.squeeze(1) if squeeze and n_feature_axes == 1 and result.shape[1] == 1 else result


def _batched(use: Use, n_axes: int) -> bool:
    """Tell whether the input has its batch axis, and the samples run along it."""
    return use.x.ndim == n_axes and use.axis == 0


def _pair(values: tuple[int, ...]) -> tuple[int, int]:
    height, width = values
    return height, width
