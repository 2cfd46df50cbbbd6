"""Normalisation layers: scale and shift act on the normalised input, one sample at a time."""

from torch import Tensor, nn
from torch.nn import functional

from firecv.fisher.layers.samples import SampleGradients


def layer_norm(
    module: nn.LayerNorm, names: dict[str, str], x: Tensor, delta: Tensor
) -> SampleGradients:
    """Return the gradients of a layer norm applied to (n_samples, n_positions, *normalised)."""
    shape = module.normalized_shape
    normalised = functional.layer_norm(x, shape, eps=module.eps)
    return _affine(names, normalised, delta, positions=(1,))


def group_norm(
    module: nn.GroupNorm, names: dict[str, str], x: Tensor, delta: Tensor
) -> SampleGradients:
    """Return the gradients of a group norm applied to (n_samples, channels, ...)."""
    normalised = functional.group_norm(x, module.num_groups, eps=module.eps)
    return _affine(names, normalised, delta, positions=tuple(range(2, x.ndim)))


def batch_norm(
    names: dict[str, str], x: Tensor, delta: Tensor, mean: Tensor, variance: Tensor, eps: float
) -> SampleGradients:
    """Return the gradients of a batch norm that uses the running statistics given."""
    normalised = functional.batch_norm(x, mean, variance, eps=eps)
    return _affine(names, normalised, delta, positions=tuple(range(2, x.ndim)))


def _affine(
    names: dict[str, str], normalised: Tensor, delta: Tensor, positions: tuple[int, ...]
) -> SampleGradients:
    """Return the gradients of scale and shift, summed over a sample's positions."""

    def summed(values: Tensor) -> Tensor:
        return values.sum(positions) if positions else values

    gradients: dict[str, Tensor] = {}
    if "weight" in names:
        gradients[names["weight"]] = summed(normalised * delta)
    if "bias" in names:
        gradients[names["bias"]] = summed(delta)
    return SampleGradients(gradients)
