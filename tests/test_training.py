"""The mini-batch loop against a plain one."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from firecv.errors import DataError, ModelError, NumericalError, StructureError
from firecv.models import Task
from firecv.training import Training, holding, train, train_from


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


def batch_norm_network():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)).double()


HOOKED = [
    Training(3, 7, 0.05, "sgd"),
    Training(3, 7, 0.05, "sgd", momentum=0.9, decay=0.1),
    Training(3, None, 0.05, "sgd", momentum=0.9),
    Training(2, 7, 0.01, decay=0.1),
]


def rng(seed=5):
    return torch.Generator().manual_seed(seed)


def test_an_objective_that_is_the_loss_changes_nothing():
    (x, y), one, other = data(), network(), network()
    train(Task(one), (x, y), Training(3, 7), rng())
    task, seen = Task(other), []

    def objective(batch, rows):
        seen.append(rows)
        assert torch.equal(batch[0], x[rows]) and torch.equal(batch[1], y[rows])
        return task.loss(batch)

    train(task, (x, y), Training(3, 7), rng(), objective=objective)
    assert same(one, other)
    assert [len(rows) for rows in seen] == [7, 7, 6] * 3
    assert sorted(torch.cat(seen[:3]).tolist()) == list(range(20))


def test_an_objective_adds_its_gradient():
    """A linear term moves plain SGD by its slope times rate and steps."""
    (x, y), one, other = data(), network(), network()
    settings = Training(1, None, 0.1, "sgd")
    train(Task(one), (x, y), settings, rng())
    task = Task(other)
    slope = {name: torch.ones_like(value) for name, value in task.parameters().items()}

    def objective(batch, rows):
        return task.loss(batch) + sum((slope[n] * p).sum() for n, p in task.parameters().items())

    train(task, (x, y), settings, rng(), objective=objective)
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.allclose(a - 0.1, b, atol=1e-12)


def test_a_gradient_that_is_returned_as_it_is_changes_nothing():
    (x, y), one, other = data(), network(), network()
    train(Task(one), (x, y), Training(3, 7), rng())
    train(Task(other), (x, y), Training(3, 7), rng(), transform_gradient=dict)
    assert same(one, other)


def test_the_step_is_along_the_gradient_returned():
    (x, y), model = data(), network()
    before = [p.detach().clone() for p in model.parameters()]
    given = []

    def ones(gradient):
        given.append({name: value.clone() for name, value in gradient.items()})
        return {name: torch.ones_like(value) for name, value in gradient.items()}

    train(Task(model), (x, y), Training(2, None, 0.1, "sgd"), rng(), transform_gradient=ones)
    assert [list(gradient) for gradient in given] == [list(dict(model.named_parameters()))] * 2
    for old, new in zip(before, model.parameters(), strict=True):
        assert torch.allclose(old - 0.2, new, atol=1e-12)


def test_parameters_without_a_gradient_have_one_of_zero():
    class Spare(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.spare = nn.Linear(3, 2).double(), nn.Linear(3, 2).double()

        def forward(self, x):
            return self.used(x)

    seen = []
    train(
        Task(Spare()), data(), Training(1, None, 0.1, "sgd"), rng(),
        transform_gradient=lambda g: seen.append(g) or g,
    )  # fmt: skip
    assert float(seen[0]["spare.weight"].abs().max()) == 0


@pytest.mark.parametrize("settings", HOOKED)
def test_after_every_step_there_is_a_call(settings):
    model, seen = network(), []
    task = Task(model)
    train(
        task, data(), settings, rng(), after_step=lambda: seen.append(model[0].weight.detach() + 0)
    )
    n_batches = 1 if settings.batch_size is None else 3
    assert len(seen) == settings.n_epochs * n_batches
    assert torch.equal(seen[-1], model[0].weight)
    assert not torch.equal(seen[0], seen[-1])


@pytest.mark.parametrize("settings", HOOKED)
@pytest.mark.parametrize("build", [network, batch_norm_network])
def test_training_from_weights_is_training_the_model_that_has_them(settings, build):
    plain, other = build(), build()
    task = Task(other)
    start = Task(plain).weights()
    losses = []
    train(Task(plain), data(), settings, rng(), after_epoch=lambda _, loss: losses.append(loss))
    own = task.weights()
    kept = {name: value.clone() for name, value in start.items()}
    found = train_from(task, start, data(), settings, rng())
    wanted = Task(plain).weights()
    assert found.weights.keys() == wanted.keys()
    assert all(torch.equal(found.weights[name], wanted[name]) for name in wanted)
    assert found.loss == losses[-1]
    assert found.n_steps == settings.n_epochs * (1 if settings.batch_size is None else 3)
    assert all(torch.equal(start[name], kept[name]) for name in kept)
    assert all(torch.equal(value, own[name]) for name, value in task.weights().items())
    assert all(parameter.grad is None for parameter in other.parameters())


@pytest.mark.parametrize("settings", HOOKED)
def test_hooks_act_alike_on_given_weights(settings):
    plain, task = network(), Task(network())
    own = Task(plain)

    def hooks(of):
        def objective(batch, rows):
            return of.loss(batch) + 0.1 * sum(p.square().sum() for p in of.parameters().values())

        def after_step():
            with torch.no_grad():
                of.parameters()["0.weight"].clamp_(-0.3, 0.3)

        def halved(gradient):
            return {name: value / 2 for name, value in gradient.items()}

        return {"objective": objective, "transform_gradient": halved, "after_step": after_step}

    start = own.weights()
    train(own, data(), settings, rng(), **hooks(own))
    found = train_from(task, start, data(), settings, rng(), **hooks(task))
    assert all(torch.equal(found.weights[name], value) for name, value in own.weights().items())
    assert float(found.weights["0.weight"].abs().max()) <= 0.3


def test_frozen_parameters_stay_and_come_along():
    model = network()
    task = Task(model, ["2.weight", "2.bias"])
    start = {name: value + 1 for name, value in task.weights().items()}
    found = train_from(task, start, data(), Training(2, 7, 0.1, "sgd"), rng()).weights
    assert torch.equal(found["0.weight"], start["0.weight"])
    assert not torch.equal(found["2.weight"], start["2.weight"])


@pytest.mark.parametrize("where", ["objective", "after_step", "transform_gradient"])
def test_an_exception_gives_the_model_its_weights_back(where):
    task = Task(batch_norm_network())
    own = task.weights()
    places = {name: value.data_ptr() for name, value in task.model.state_dict().items()}

    def fail(*given):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        zeros = {name: value * 0 for name, value in own.items()}
        train_from(task, zeros, data(), Training(1, 7), rng(), **{where: fail})
    assert all(torch.equal(value, own[name]) for name, value in task.weights().items())
    assert {name: value.data_ptr() for name, value in task.model.state_dict().items()} == places
    assert all(parameter.grad is None for parameter in task.model.parameters())
    assert not any(module.training for module in task.model.modules())


def test_modes_are_set_as_a_module_wishes():
    class Frozen(nn.BatchNorm1d):
        def train(self, mode=True):
            return super().train(False)

    model = nn.Sequential(nn.Linear(3, 4), Frozen(4), nn.Linear(4, 2)).double()
    seen = []
    train(
        Task(model), data(), Training(1, None), rng(),
        after_step=lambda: seen.append([module.training for module in model.modules()]),
    )  # fmt: skip
    assert seen == [[True, True, False, True]]
    assert not any(module.training for module in model.modules())


def test_held_weights_are_the_models_for_a_while():
    task = Task(batch_norm_network().eval())
    x, _ = data()
    own, other = task.weights(), {n: v + 0.5 for n, v in task.weights().items()}
    before = task.scores(x)
    with holding(task, other):
        assert torch.equal(task.scores(x), task.scores(x, other))
        with torch.no_grad():
            task.parameters()["0.weight"].fill_(7)
            task.model[1].running_mean.fill_(8)
    assert float(other["0.weight"].min()) == 7 and float(other["1.running_mean"].min()) == 8
    assert torch.equal(task.scores(x), before)
    assert all(torch.equal(value, own[name]) for name, value in task.weights().items())


def test_gradients_are_kept_apart_from_held_weights():
    task = Task(network())
    task.loss(data()).backward()
    gradients = [p.grad.clone() for p in task.model.parameters()]
    with holding(task, task.weights()):
        assert all(p.grad is None for p in task.model.parameters())
        (2 * task.loss(data())).backward()
    pairs = zip(gradients, task.model.parameters(), strict=True)
    assert all(torch.equal(gradient, p.grad) for gradient, p in pairs)


@pytest.mark.parametrize("change", ["missing", "extra", "shape"])
def test_weights_that_do_not_fit_are_refused(change):
    task = Task(network())
    weights = task.weights()
    if change == "missing":
        weights.pop("0.bias")
    elif change == "extra":
        weights["3.bias"] = torch.zeros(2)
    else:
        weights["0.bias"] = torch.zeros(9)
    with pytest.raises(StructureError):
        with holding(task, weights):
            pass
