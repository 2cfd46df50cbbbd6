"""Classifiers and weights of many models at once are those of each alone, in float64."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from firecv.errors import DataError, ModelError, NumericalError, RegimeError
from firecv.models import Task
from firecv.rivals import OneStep, Target
from firecv.rivals.onestep_stacked import fit_onestep_stack
from firecv.seeding import derive, derive_torch
from firecv.stacked import Stack, initial_weights, predict_stack, standardise
from firecv.training import Training

N_ROWS, N_EPOCHS, RATE = 70, 50, 0.02
SEEDS = (3, 1, 4, 1)


def make_stack(n_classes=3):
    """Return models of other rows, some of which count twice or more, and other inputs in V."""
    rng = derive(0, "rows")
    z = rng.normal(size=(N_ROWS, 3))
    y = np.digitize(z[:, 0] + 0.5 * z[:, 1] ** 2, [0, 1][: n_classes - 1])
    train = rng.integers(0, 3, (len(SEEDS), N_ROWS)).astype(float)
    validation = rng.integers(1, 4, train.shape) * ((train == 0) | (z[:, 1] > 0.5))
    x = z * [1, 20, 0.1] + [0, 300, 0]
    x[:, 2] = np.where(train[0] > 0, 7, x[:, 2])  # constant where the first model trains
    rngs = [derive_torch(0, "weights", model) for model in range(len(SEEDS))]
    initial = {name: v.double() for name, v in initial_weights(3, n_classes, rngs).items()}
    mean, scale = standardise(x, train)
    return Stack(x, y, train, initial, validation, mean=mean, scale=scale)


def alone(stack, model, bound=1.0):
    """Return the weights of one model that is trained by itself, rows repeated."""
    classes, hidden = stack.initial["2.weight"].shape[1:]
    network = nn.Sequential(nn.Linear(3, hidden), nn.ReLU(), nn.Linear(hidden, classes)).double()
    network.load_state_dict({name: value[model] for name, value in stack.initial.items()})
    x = torch.from_numpy((stack.x - stack.mean[model]) / stack.scale[model])
    rows, of_v = (
        np.repeat(np.arange(N_ROWS), counts[model].astype(int))
        for counts in (stack.train, stack.validation)
    )
    task, y = Task(network), torch.from_numpy(stack.y)
    settings = Training(N_EPOCHS, None, RATE)
    OneStep(bound).fit(task, (x[rows], y[rows]), Target(x[of_v]), settings, SEEDS[model])
    return task.weights()


def taken(stack, models):
    """Return some models of a stack, in any order and number."""
    return replace(
        stack,
        train=stack.train[models],
        validation=stack.validation[models],
        initial={name: value[models] for name, value in stack.initial.items()},
        mean=stack.mean[models],
        scale=stack.scale[models],
    )


def fit(stack, bound=1.0):
    """Return the weights of all models."""
    return fit_onestep_stack(stack, SEEDS, n_epochs=N_EPOCHS, rate=RATE, bound=bound)


def test_the_problem_has_repeated_rows_and_a_constant_column():
    stack = make_stack()
    assert (stack.train == 2).any(1).all() and (stack.validation >= 2).any(1).all()
    assert np.isinf(stack.scale).any(1).tolist() == [True, False, False, False]


@pytest.mark.parametrize(("n_classes", "bound"), [(2, 1.0), (3, 1.0), (3, 0.3), (3, 4.0)])
def test_each_model_is_what_it_would_be_alone(n_classes, bound):
    stack = make_stack(n_classes)
    together = fit(stack, bound)
    for model in range(len(SEEDS)):
        for name, value in alone(stack, model, bound).items():
            torch.testing.assert_close(together[name][model], value, rtol=1e-8, atol=1e-8)


def test_the_seed_draws_the_network_of_weights():
    twice = taken(make_stack(), [1, 1])
    one, other = fit_onestep_stack(twice, [1, 2], n_epochs=N_EPOCHS)["0.weight"]
    assert not torch.allclose(one, other)


def test_a_large_stack_is_trained_in_parts():
    stack, of = make_stack(), np.arange(300) % len(SEEDS)
    seeds = [SEEDS[model] for model in of]
    found = fit_onestep_stack(taken(stack, of), seeds, n_epochs=N_EPOCHS, rate=RATE)
    for name, value in fit(stack).items():
        torch.testing.assert_close(found[name], value[of], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("n_epochs", [1, N_EPOCHS])
def test_a_model_that_diverges_predicts_nan_and_leaves_the_others_as_they_are(n_epochs):
    stack = make_stack()
    scale = stack.scale.copy()
    scale[2] = 1e-200  # inputs so large that products of weights and losses overflow
    lost = replace(stack, scale=scale)
    with pytest.raises(NumericalError, match="in epoch 1;"):
        alone(lost, 2)
    found = fit_onestep_stack(lost, SEEDS, n_epochs=n_epochs)
    assert np.isnan(predict_stack(found, lost.x, lost.mean, lost.scale)[2]).all()
    wanted = fit_onestep_stack(stack, SEEDS, n_epochs=n_epochs)
    for name, value in found.items():
        assert torch.equal(value[[0, 1, 3]], wanted[name][[0, 1, 3]])


def test_infinite_losses_are_not_outlived():
    """Scores overflow while they are told apart; the gradient by scores itself is finite."""
    stack = make_stack(n_classes=2)
    initial = {name: value.clone() for name, value in stack.initial.items()}
    initial["0.bias"][2], initial["2.weight"][2] = 1e308, 0
    initial["2.weight"][2, :, 0] = torch.tensor([1.0, -1.0])
    lost = replace(stack, initial=initial)
    with pytest.raises(NumericalError, match="in epoch 1;"):
        alone(lost, 2)
    found = fit_onestep_stack(lost, SEEDS, n_epochs=1)
    assert np.isnan(predict_stack(found, lost.x, lost.mean, lost.scale)[2]).all()


def test_labels_of_v_are_not_seen():
    stack = make_stack()
    only_v = ~stack.train.any(0)
    assert only_v.any()
    other = replace(stack, y=np.where(only_v, (stack.y + 1) % 3, stack.y))
    one, two = fit(stack), fit(other)
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_the_stack_stays_as_it_is_and_the_type_is_that_of_the_initial_weights():
    stack = make_stack()
    before = {name: value.clone() for name, value in stack.initial.items()}
    wanted = fit(stack)
    assert all(torch.equal(before[name], value) for name, value in stack.initial.items())
    single = replace(stack, initial={name: value.float() for name, value in before.items()})
    for name, value in fit(single).items():
        assert value.dtype == torch.float32
        torch.testing.assert_close(value.double(), wanted[name], rtol=1e-2, atol=1e-3)


def test_bad_input_is_refused():
    stack = make_stack()
    with pytest.raises(RegimeError, match="One-step"):
        fit(replace(stack, validation=None))
    with pytest.raises(DataError, match="got 2 seeds for 4 models"):
        fit_onestep_stack(stack, [0, 1], n_epochs=1)
    with pytest.raises(ModelError, match="bound is 0"):
        fit(stack, bound=0)
    with pytest.raises(ModelError, match="n_epochs is 0"):
        fit_onestep_stack(stack, SEEDS, n_epochs=0)
