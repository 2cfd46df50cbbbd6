"""Real images: kernels agree with vmap on a trained network, not only on random numbers."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from firecv.fisher import Diagonal, Scalar, estimate, gradient_and_fisher
from firecv.models import Task, batches, cnn
from firecv.seeding import derive_torch

ROOT = os.environ.get("FIRECV_DATA")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(ROOT is None, reason="FIRECV_DATA is not set: no real images at hand"),
]


@pytest.fixture(scope="module")
def trained() -> tuple[Task, torch.Tensor, torch.Tensor]:
    with np.load(Path(ROOT) / "images" / "mnist.npz", allow_pickle=False) as file:
        x = torch.from_numpy(file["x_train"][:4000]).float().div(255).unsqueeze(1)
        y = torch.from_numpy(file["y_train"][:4000]).long()
    task = Task(cnn((1, 28, 28), 10, derive_torch(0, "weights")))
    optimiser = torch.optim.Adam(task.parameters().values(), lr=1e-3)
    for start in [*range(0, 3000, 100)] * 3:
        part = slice(start, start + 100)
        gradient, _, _ = gradient_and_fisher(Diagonal, task, (x[part], y[part]))
        for name, parameter in task.parameters().items():
            parameter.grad = gradient[name]
        optimiser.step()
    return Task(task.model.double().eval()), x[3000:].double(), y[3000:]


def test_it_learns_with_our_gradients(trained) -> None:
    task, x, y = trained
    with torch.no_grad():
        assert (task.scores(x).argmax(1) == y).double().mean() > 0.8


def test_diagonal_of_real_images_equals_vmap(trained) -> None:
    task, x, y = trained
    x, y = x[:200], y[:200]

    def loss(params, sample, label):
        scores = torch.func.functional_call(task.model, params, (sample[None],))
        return torch.nn.functional.cross_entropy(scores, label[None])

    params = {name: p.detach() for name, p in task.parameters().items()}
    rows = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0), chunk_size=50)(params, x, y)
    found = estimate(Diagonal, task, batches(x, y), law="empirical").entries
    for name, g in rows.items():
        wanted = g.square().mean(0)
        assert (found[name] - wanted).abs().max() <= 1e-12 * wanted.abs().max()


def test_laws_agree_where_the_model_is_right(trained) -> None:
    """On data the model fits, the labels are as if drawn from it: the traces are of one size."""
    task, x, y = trained
    empirical, exact = (
        estimate(Scalar, task, batches(x, y), law=law).trace().item()
        for law in ("empirical", "exact")
    )
    assert 0.2 < empirical / exact < 5
