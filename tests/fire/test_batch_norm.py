"""Plain arithmetic equals PyTorch's batch norm, and is differentiable where that is not."""

import pytest
import torch
from torch import nn

from firecv.fire.batch_norm import DifferentiableBatchNorm
from firecv.seeding import derive_torch

CASES = [
    (nn.BatchNorm1d(3), (5, 3)),
    (nn.BatchNorm1d(3), (5, 3, 7)),
    (nn.BatchNorm2d(3, affine=False), (5, 3, 2, 2)),
    (nn.BatchNorm3d(3, eps=0.1), (2, 3, 2, 2, 2)),
    (nn.BatchNorm2d(3, track_running_stats=False), (5, 3, 2, 2)),
]


@pytest.mark.parametrize(("layer", "shape"), CASES)
@pytest.mark.parametrize("training", [False, True])
def test_it_equals_the_kernel(layer: nn.Module, shape: tuple[int, ...], training: bool) -> None:
    rng = derive_torch(0, "batch norm")
    layer = layer.double().train(training)
    for value in layer.state_dict().values():
        if value.is_floating_point():
            value.copy_(torch.rand(value.shape, generator=rng) + 0.5)
    x = torch.randn(shape, generator=rng, dtype=torch.float64)
    wanted = layer(x)
    with DifferentiableBatchNorm():
        found = layer(x)
    torch.testing.assert_close(found, wanted)


def test_statistics_have_the_gradient_of_finite_differences() -> None:
    rng = derive_torch(1, "batch norm")
    x, mean, variance, weight, bias = (
        torch.rand(shape, generator=rng, dtype=torch.float64, requires_grad=True)
        for shape in ((4, 3, 2), 3, 3, 3, 3)
    )
    with DifferentiableBatchNorm():
        assert torch.autograd.gradcheck(
            nn.functional.batch_norm, (x, mean, variance + 0.5, weight, bias)
        )
