"""Weights for many models at once are those of each alone."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from firecv.errors import DataError, RegimeError
from firecv.models import Task, table_mlp
from firecv.rivals import EIWERM, ERM, IWERM, RIWERM, Target
from firecv.rivals import stacked as stacked_module
from firecv.rivals.stacked import fit_stack, model_seed, weigh_stack
from firecv.seeding import derive, derive_torch
from firecv.stacked import Stack, StackSettings, initial_weights, standardise, train_stack
from firecv.training import Training
from tests.rivals.problems import Given

N_ROWS, N_MODELS, N_EPOCHS = 120, 3, 60
SETTINGS = StackSettings(lr=0.02, n_epochs=N_EPOCHS, precision="float64")
METHODS = [
    IWERM(),
    IWERM(clip=0.9, normalise=True),
    EIWERM(n_folds=3),
    EIWERM(gamma=0.5),
    RIWERM(n_folds=2),
]


def make_stack():
    """Return models that train on other rows each and are to be used on larger inputs."""
    rng = derive(0, "rows")
    x = rng.normal(size=(N_ROWS, 2)) * [1, 20] + [0, 300]
    z = (x - [0, 300]) / [1, 20]
    y = (z[:, 0] + z[:, 1] ** 2 + 0.3 * rng.normal(size=N_ROWS) > 0.8).astype(np.int64)
    part = rng.random((N_MODELS, N_ROWS)) < 0.6
    larger = rng.random((N_MODELS, N_ROWS)) < 1 / (1 + np.exp(-2 * z[:, 0]))
    initial = initial_weights(2, 2, [derive_torch(0, "weights", m) for m in range(N_MODELS)])
    scales = standardise(x, part)
    return Stack(x, y, part, initial, ~part & larger, mean=scales.mean, scale=scales.scale)


def alone(method, stack, model, n_repeats=1):
    """Return the outcome of a method for one model by itself, and the trained network."""
    x = torch.from_numpy((stack.x - stack.mean[model]) / stack.scale[model])
    rows = np.repeat(np.flatnonzero(stack.train[model]), n_repeats)
    task = Task(table_mlp(2, 2, derive_torch(0, "weights", model)).double())
    outcome = method.fit(
        task,
        (x[rows], torch.from_numpy(stack.y)[rows]),
        Target(x[stack.validation[model].astype(bool)]),
        Training(N_EPOCHS, None, SETTINGS.lr),
        model_seed(4, model),
    )
    return outcome, task


@pytest.mark.filterwarnings("ignore::firecv.errors.FirecvNotice")
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_each_model_gets_the_weights_and_settings_it_would_get_alone(method):
    stack = make_stack()
    fit = fit_stack(method, stack, SETTINGS, seed=4)
    for model in range(N_MODELS):
        outcome, task = alone(method, stack, model)
        rows = stack.train[model].astype(bool)
        assert dict(fit.weighed.chosen[model]) == dict(outcome.chosen)
        np.testing.assert_allclose(
            fit.weighed.stack.train[model, rows], outcome.weights, rtol=1e-9, atol=1e-12
        )
        assert not fit.weighed.stack.train[model, ~rows].any()
        for name, value in task.weights().items():  # the stack divides by the sum of weights
            torch.testing.assert_close(fit.result.weights[name][model], value, rtol=1e-3, atol=1e-4)


def test_the_choice_is_not_always_the_same():
    chosen = weigh_stack(EIWERM(n_folds=3), make_stack(), SETTINGS, seed=4).chosen
    assert len({choice["gamma"] for choice in chosen}) > 1


def test_erm_leaves_the_stack_as_it_is():
    stack = replace(make_stack(), validation=None)
    fit = fit_stack(ERM(), stack, SETTINGS)
    assert fit.weighed.stack is stack and fit.weighed.chosen == ({}, {}, {})
    wanted = train_stack(stack, SETTINGS)
    np.testing.assert_array_equal(fit.result.losses, wanted.losses)


def test_exponent_zero_is_erm_and_one_is_iwerm():
    stack = make_stack()
    flat, full, iwerm = (
        weigh_stack(method, stack).stack.train
        for method in (EIWERM(gamma=0.0), EIWERM(gamma=1.0), IWERM())
    )
    np.testing.assert_array_equal(flat, stack.train)
    np.testing.assert_array_equal(full, iwerm)


def test_a_row_that_counts_twice_is_two_samples():
    stack = make_stack()
    twice = replace(stack, train=2 * stack.train.astype(int))
    found = weigh_stack(EIWERM(gamma=0.5), twice, SETTINGS, seed=4).stack.train
    for model in range(N_MODELS):
        outcome, _ = alone(EIWERM(gamma=0.5), stack, model, n_repeats=2)
        rows = stack.train[model].astype(bool)
        pairs = outcome.weights.reshape(-1, 2)
        np.testing.assert_allclose(found[model, rows], pairs.sum(1), rtol=1e-9)


def test_models_in_several_blocks_are_those_in_one(monkeypatch):
    stack, method = make_stack(), EIWERM(gammas=(0.0, 0.5, 1.0), n_folds=2)
    whole = weigh_stack(method, stack, SETTINGS, seed=4)
    monkeypatch.setattr(stacked_module, "MOST_AT_ONCE", 6)
    parts = weigh_stack(method, stack, SETTINGS, seed=4)
    assert parts.chosen == whole.chosen
    np.testing.assert_array_equal(parts.stack.train, whole.stack.train)


def test_a_candidate_that_leaves_nothing_to_learn_from_is_not_chosen():
    stack = make_stack()
    stack = Stack(
        stack.x,
        stack.y,
        stack.train[:1],
        {name: value[:1] for name, value in stack.initial.items()},
        stack.validation[:1],
        mean=stack.mean[:1],
        scale=stack.scale[:1],
    )
    only = np.zeros(int(stack.train.sum()))
    only[0] = 1.0  # the fold that holds it out has no other
    found = weigh_stack(EIWERM(gammas=(1.0, 0.0), ratio=Given(only)), stack, SETTINGS)
    assert found.chosen == ({"gamma": 0.0},)


def test_what_cannot_be_weighed_is_refused():
    stack = make_stack()
    with pytest.raises(RegimeError, match="IWERM needs the inputs"):
        weigh_stack(IWERM(), replace(stack, validation=None))
    with pytest.raises(DataError, match="train holds row weights that are not whole"):
        weigh_stack(IWERM(), replace(stack, train=stack.train * 0.5))
    with pytest.raises(DataError, match="form='trace'"):
        weigh_stack(IWERM(), stack, StackSettings("trace", "unlabelled"))
