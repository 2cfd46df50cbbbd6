"""The three networks: their shapes, their weights, their generators."""

import pytest
import torch

from firecv.errors import ModelError
from firecv.models import cnn, federated_mlp, table_mlp
from firecv.seeding import derive_torch


@pytest.mark.parametrize(
    "shape", [(1, 28, 28), (3, 32, 32), (1, 8, 8), (2, 4, 4), (1, 9, 31), (4, 10, 10)]
)
def test_cnn_takes_any_image(shape: tuple[int, int, int]) -> None:
    model = cnn(shape, 7, derive_torch(0, "w"))
    assert model(torch.zeros(2, *shape)).shape == (2, 7)


def test_cnn_has_five_layers_of_the_stated_sizes() -> None:
    shapes = [tuple(p.shape) for p in cnn((1, 28, 28), 10, derive_torch(0, "w")).parameters()]
    assert shapes[::2] == [(32, 1, 3, 3), (64, 32, 3, 3), (128, 1600), (84, 128), (10, 84)]


def test_cnn_refuses_images_too_small_to_pool_twice() -> None:
    with pytest.raises(ModelError, match="at least 4 x 4.*got 3 x 8"):
        cnn((1, 3, 8), 2, derive_torch(0, "w"))


def test_mlps_have_the_stated_sizes() -> None:
    table = [tuple(p.shape) for p in table_mlp(30, 2, derive_torch(0, "w")).parameters()]
    assert table == [(4, 30), (4,), (2, 4), (2,)]
    clients = [
        tuple(p.shape) for p in federated_mlp((3, 32, 32), 100, derive_torch(0, "w")).parameters()
    ]
    assert clients[::2] == [(512, 3072), (256, 512), (100, 256)]


@pytest.mark.parametrize(
    "build",
    [
        lambda rng: table_mlp(5, 2, rng),
        lambda rng: federated_mlp((1, 4, 4), 3, rng),
        lambda rng: cnn((1, 8, 8), 3, rng),
    ],
)
def test_weights_come_from_the_generator_alone(build) -> None:
    before = torch.get_rng_state()
    first, again, other = (build(derive_torch(seed, "w")).state_dict() for seed in (0, 0, 1))
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first)


def test_weights_are_spread_as_pytorch_spreads_them() -> None:
    weight = federated_mlp((1, 28, 28), 10, derive_torch(0, "w"))[1].weight
    bound = 784**-0.5
    assert weight.abs().max() <= bound
    assert weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.01)
