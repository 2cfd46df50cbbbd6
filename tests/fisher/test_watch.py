import copy

import pytest
import torch
from torch import nn

from firecv.errors import ModelError
from firecv.fisher import Diagonal, estimate
from firecv.fisher.estimate import look_at_pass
from firecv.fisher.watch import Watch
from firecv.models import Task, batches

X, Y = torch.randn(6, 3, generator=torch.Generator().manual_seed(0)).double(), torch.arange(6) % 2


class Scaled(nn.Module):
    """A model with a parameter of its own beside its layers."""

    def __init__(self):
        super().__init__()
        self.layer, self.scale = nn.Linear(3, 2), nn.Parameter(torch.ones(2))

    def forward(self, x):
        return self.layer(x) * self.scale


@pytest.mark.filterwarnings("ignore::firecv.errors.FirecvNotice")
@pytest.mark.parametrize(
    "model",
    [nn.Linear(3, 2), nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), Scaled()],
    ids=["one layer", "several", "own parameter"],
)
def test_a_watched_pass_gives_what_an_estimate_gives(model):
    task = Task(model.double().eval())
    watch = Watch(task)
    loss = nn.functional.cross_entropy(model(X), Y)
    step = look_at_pass(Diagonal, watch.take(), loss, lambda at_scores: 1.0)
    watch.stop()
    fisher = estimate(Diagonal, task, batches(X, Y), law="empirical").diagonal()
    gradient = torch.autograd.grad(task.loss((X, Y)), list(task.parameters().values()))
    for name, wanted in zip(task.trainable, gradient, strict=True):
        assert torch.allclose(step.gradient[name], wanted, rtol=1e-10, atol=1e-13)
        assert torch.allclose(step.fisher.diagonal()[name], fisher[name], rtol=1e-10, atol=1e-13)


def test_nothing_is_noted_without_gradients_or_while_off():
    task = Task(nn.Linear(3, 2).double())
    watch = Watch(task)
    with torch.no_grad():
        task.model(X)
    watch.is_on = False
    task.model(X)
    watch.is_on = True
    task.model(X)
    watch.take()


def test_a_forward_pass_that_fails_leaves_the_model_usable():
    task = Task(nn.Sequential(nn.Linear(3, 2)).double())
    watch = Watch(task)
    with pytest.raises(RuntimeError):
        task.model(X[:, :2])
    task.model(X)
    assert watch.take().scores.shape == (6, 2)
    assert "forward" not in task.model[0].__dict__


def test_a_model_of_several_inputs_is_refused():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, x, z):
            return self.layer(x + z)

    task = Task(Two().double())
    Watch(task)
    with pytest.raises(ModelError, match="one tensor of samples"):
        task.model(X, X)


def test_copies_are_blind():
    task = Task(nn.Linear(3, 2).double())
    watch = Watch(task)
    twin = copy.deepcopy(task.model)
    twin(X)
    task.model(X)
    watch.take()
