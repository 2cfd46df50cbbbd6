import pytest
import torch
from torch import nn

from firecv.errors import ModelError
from firecv.federated.counterfactuals import correlation, counterfactuals, importance, split
from firecv.models import cnn, mlp
from firecv.seeding import derive_torch


def draw(*shape):
    return torch.randn(*shape, generator=derive_torch(0, *shape), dtype=torch.float64)


@pytest.mark.parametrize("shape", [(4, 6), (4, 6, 2, 3)], ids=["units", "channels"])
@pytest.mark.parametrize("n_swapped", [1, 2, 6])
def test_the_least_and_the_most_important_factors_are_replaced(shape, n_swapped):
    h, others, worth = draw(*shape), draw(*shape) + 10, draw(shape[0], shape[1], 1)[..., 0]
    same, other = counterfactuals(h, others, worth, n_swapped)
    for i in range(shape[0]):
        order = sorted(range(6), key=lambda j, i=i: float(worth[i, j]))
        for j in range(6):
            is_low, is_high = j in order[:n_swapped], j in order[6 - n_swapped :]
            assert torch.equal(same[i, j], others[i, j] if is_low else h[i, j])
            assert torch.equal(other[i, j], others[i, j] if is_high else h[i, j])


@pytest.mark.parametrize("shape", [(3, 4), (3, 4, 2, 2)], ids=["units", "channels"])
def test_importance_is_the_mean_gradient_of_the_labels_score(shape):
    h, y = draw(*shape), torch.tensor([2, 0, 1])
    with torch.random.fork_rng():
        judge = nn.Sequential(nn.Flatten(), nn.Linear(h[0].numel(), 3), nn.Tanh()).double()
    found = importance(judge, h, y)
    for i in range(3):
        row = h[i : i + 1].clone().requires_grad_()
        (gradient,) = torch.autograd.grad(judge(row)[0, y[i]], row)
        expected = gradient[0].reshape(4, -1).mean(1)
        assert torch.allclose(found[i], expected, rtol=0, atol=1e-15)
    assert not h.requires_grad


@pytest.mark.parametrize("shape", [(7, 4), (7, 4, 2, 3)], ids=["units", "channels"])
def test_the_correlation_is_that_of_numpy_over_pairs(shape):
    h = draw(*shape)
    matrix = torch.corrcoef(h.reshape(7, 4, -1).mean(2).mT)
    expected = (matrix.square().sum() - 4) / 12
    assert correlation(h).item() == pytest.approx(expected.item(), rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_dead_factors_and_single_samples_have_a_finite_gradient(n):
    h = draw(n, 3)
    h[:, 1] = 0.0
    h.requires_grad_()
    correlation(h).backward()
    assert h.grad.isfinite().all()


def test_a_single_factor_correlates_with_none():
    assert correlation(draw(5, 1)).item() == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize(
    ("model", "n_encoder"),
    [
        (mlp((4,), (6, 5), 3, derive_torch(0)), 2),
        (mlp((1, 2, 2), (6,), 3, derive_torch(0)), 3),
        (cnn((1, 8, 8), 3, derive_torch(0)), 3),
        (nn.Sequential(nn.Conv2d(1, 2, 2), nn.BatchNorm2d(2), nn.Conv2d(2, 2, 2)), 2),
    ],
    ids=["mlp", "images", "cnn", "batch_norm"],
)
def test_the_encoder_ends_before_the_second_layer_with_a_matrix(model, n_encoder):
    encoder, decoder = split(model)
    assert len(encoder) == n_encoder
    assert [*encoder, *decoder] == [*model]


class Skipping(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


@pytest.mark.parametrize(
    "model",
    [nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.ReLU()),
     Skipping(nn.Linear(2, 2), nn.Linear(2, 2))],
    ids=["layer", "one_layer", "own_forward"],
)  # fmt: skip
def test_what_cannot_be_split_is_refused_by_its_type(model):
    with pytest.raises(ModelError, match=f"got a {type(model).__name__}"):
        split(model)
