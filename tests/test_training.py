"""The mini-batch loop against a plain one."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from firecv.errors import DataError, ModelError, NumericalError
from firecv.models import Task
from firecv.training import Training, train


def data(n=20):
    rng = torch.Generator().manual_seed(0)
    return torch.randn(n, 3, generator=rng).double(), torch.randint(2, (n,), generator=rng)


def network():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).double()
    rng = torch.Generator().manual_seed(1)
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -0.5, 0.5, generator=rng)
    return model


def same(one, other):
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize(
    "kind, build",
    [
        ("adam", lambda p: torch.optim.Adam(p, 0.01, weight_decay=0.1)),
        ("sgd", lambda p: torch.optim.SGD(p, 0.01, 0.9, weight_decay=0.1)),
    ],
)
@pytest.mark.parametrize("size", [7, None, 50])
def test_training_is_the_plain_loop(kind, build, size):
    x, y = data()
    model, plain, losses = network(), network(), []
    settings = Training(3, size, 0.01, kind, momentum=0.9, decay=0.1)
    rng = torch.Generator().manual_seed(5)
    train(Task(model), (x, y), settings, rng, after_epoch=lambda _, loss: losses.append(loss))
    optimiser, rng, wanted = build(plain.parameters()), torch.Generator().manual_seed(5), []
    for _ in range(3):
        whole = size is None or size >= len(x)
        order = torch.arange(len(x)) if whole else torch.randperm(len(x), generator=rng)
        total = 0.0
        for rows in order.split(size or len(x)):
            optimiser.zero_grad()
            loss = functional.cross_entropy(plain(x[rows]), y[rows])
            loss.backward()
            optimiser.step()
            total += float(loss.detach()) * len(rows)
        wanted.append(total / len(x))
    assert same(model, plain) and losses == wanted
    assert not model.training


def test_weights_stay_with_their_samples():
    x, y = data()
    weight = torch.linspace(0, 2, 20).double()
    seen = []

    def backward(loss, labels):
        seen.append((float(loss.detach()), labels))
        loss.backward()

    model = network()
    with torch.no_grad():
        each = functional.cross_entropy(model(x), y, reduction="none") * weight
    settings = Training(1, 8, 1e-12, "sgd")
    rng = torch.Generator().manual_seed(5)
    train(Task(model), (x, y), settings, rng, backward=backward, sample_weight=weight)
    order = torch.randperm(20, generator=torch.Generator().manual_seed(5))
    for rows, (loss, labels) in zip(order.split(8), seen, strict=True):
        assert loss == pytest.approx(float(each[rows].mean()), rel=1e-9)
        assert torch.equal(labels, y[rows])


def test_weights_are_asked_for_every_epoch():
    x, y = data()
    given = iter([None, torch.zeros(20), None])
    losses = []
    train(
        Task(network()),
        (x, y),
        Training(3),
        torch.Generator(),
        sample_weight=lambda: next(given),
        after_epoch=lambda _, loss: losses.append(loss),
    )
    assert losses[1] == 0 and losses[0] > 0 and losses[2] > 0


def test_training_goes_on_with_an_optimiser():
    x, y = data()
    at_once, in_parts = network(), network()
    train(Task(at_once), (x, y), Training(4, None), torch.Generator())
    task = Task(in_parts)
    optimiser = train(task, (x, y), Training(2, None), torch.Generator())
    train(task, (x, y), Training(2, None), torch.Generator(), optimiser=optimiser)
    assert same(at_once, in_parts)


def test_no_global_generator_is_touched():
    (x, y), task = data(), Task(network())
    before = torch.get_rng_state()
    train(task, (x, y), Training(2, 3), torch.Generator())
    assert torch.equal(before, torch.get_rng_state())


def test_a_loss_that_is_not_finite_is_named():
    x, y = data()
    task = Task(network())
    with pytest.raises(NumericalError, match="became .* in epoch"):
        train(task, (x, y), Training(50, None, 1e200, "sgd"), torch.Generator())
    assert not task.model.training


@pytest.mark.parametrize("n", [0, 5])
def test_samples_and_labels_are_as_many(n):
    with pytest.raises(DataError, match=f"got {n} samples and 20 labels"):
        train(Task(network()), (data()[0][:n], data()[1]), Training(), torch.Generator())


@pytest.mark.parametrize(
    "settings",
    [
        {"n_epochs": 0},
        {"n_epochs": 1.5},
        {"n_epochs": True},
        {"batch_size": 0},
        {"rate": 0.0},
        {"rate": float("nan")},
        {"optimiser": "lion"},
        {"momentum": 1.0},
        {"decay": -1.0},
    ],
)
def test_settings_without_sense_are_named(settings):
    (name,) = settings
    with pytest.raises(ModelError, match=f"{name} is .*; expected"):
        Training(**settings)
