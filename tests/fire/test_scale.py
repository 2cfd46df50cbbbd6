import pytest
import torch
from torch.nn import functional

from firecv.fire.scale import scale_of


@pytest.fixture(params=[torch.float64, torch.float32], ids=str)
def batch(request):
    rng = torch.Generator().manual_seed(0)
    scores = torch.randn(20, 4, generator=rng, dtype=request.param).requires_grad_()
    return scores, torch.randint(4, (20,), generator=rng)


def scale(loss, scores, y):
    return scale_of(*torch.autograd.grad(loss, scores), scores, y)


@pytest.mark.parametrize("factor", [1.0, 1 / 4, 65536.0, 1e-6])
def test_any_multiple_of_the_mean_is_seen(batch, factor):
    found = scale(factor * functional.cross_entropy(*batch), *batch)
    assert found.is_plain and found.factor == pytest.approx(factor, rel=1e-4)


def test_a_sum_is_the_mean_times_the_batch_size(batch):
    found = scale(functional.cross_entropy(*batch, reduction="sum"), *batch)
    assert found.is_plain and found.factor == pytest.approx(20, rel=1e-4)


def test_class_weights_are_seen_and_add_up(batch):
    weight = torch.tensor([1.0, 5.0, 0.5, 2.0], dtype=batch[0].dtype)
    found = scale(3 * functional.cross_entropy(*batch, weight=weight), *batch)
    assert not found.is_plain and found.factor == pytest.approx(3, rel=1e-3)


@pytest.mark.parametrize(
    "loss",
    [
        lambda scores, y: functional.cross_entropy(scores, y, label_smoothing=0.2),
        lambda scores, y: functional.multi_margin_loss(scores, y),
        lambda scores, y: functional.cross_entropy(scores, (y + 1) % 4),
        lambda scores, y: -functional.cross_entropy(scores, y),
        lambda scores, y: functional.cross_entropy(scores, y) + scores.square().mean(),
    ],
    ids=["smoothing", "margin", "other labels", "negative", "extra term"],
)
def test_other_losses_have_no_scale(batch, loss):
    found = scale(loss(*batch), *batch)
    assert not found.is_plain
    assert found.factor is None or found.factor < 0


def test_a_perfect_fit_counts_as_plain():
    scores = torch.tensor([[1000.0, 0.0]], requires_grad=True)
    y = torch.tensor([0])
    assert scale(functional.cross_entropy(scores, y), scores, y) == (1.0, True)
