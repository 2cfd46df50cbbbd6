"""Batch norms in eval mode that can be differentiated in their running statistics.

PyTorch's own kernel refuses, but where models are averaged the statistics are averaged with the
weights, so a derivative in the weights of the average runs through them.
"""

from collections.abc import Callable
from typing import cast, final

from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode


@final
class DifferentiableBatchNorm(TorchFunctionMode):
    """A context in which batch norms with running statistics are computed by plain arithmetic.

    Examples
    --------
    >>> import torch
    >>> mean = torch.zeros(2, requires_grad=True)
    >>> with DifferentiableBatchNorm():
    ...     y = functional.batch_norm(torch.ones(3, 2), mean, torch.ones(2))
    >>> torch.autograd.grad(y.sum(), mean)[0]
    tensor([-3.0000, -3.0000])
    """

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        """Return what `func` returns."""
        kwargs = kwargs or {}
        if func is functional.batch_norm:
            return cast("Callable[..., Tensor]", _batch_norm)(*args, **kwargs)
        return func(*args, **kwargs)


def _batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    if training or running_mean is None or running_var is None:
        return functional.batch_norm(
            input, running_mean, running_var, weight, bias, training, momentum, eps
        )
    shape = (1, -1, *[1] * (input.ndim - 2))
    scale = (running_var + eps).rsqrt() * (1 if weight is None else weight)
    shift = (0 if bias is None else bias) - running_mean * scale
    return input * scale.view(shape) + shift.view(shape)
