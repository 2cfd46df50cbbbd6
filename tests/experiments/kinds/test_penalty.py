"""The penalty of every model of a stack against choosing it one network at a time."""

from dataclasses import replace

import numpy as np
import pytest

from firecv.experiments.kinds import penalty as module
from firecv.experiments.kinds.penalty import with_chosen_penalty
from firecv.rivals import L2
from firecv.rivals.iwcv import training_folds
from firecv.rivals.stacked import model_seed
from firecv.seeding import derive, derive_torch
from firecv.stacked import (
    Stack,
    StackSettings,
    initial_weights,
    predict_stack,
    standardise,
    train_stack,
)

RIVAL = L2(decays=(1.0, 0.0, 0.1), n_folds=3)
SETTINGS = StackSettings(lr=0.02, n_epochs=60)


@pytest.fixture(scope="module")
def stack():
    rng = derive(0, "penalties")
    x = rng.normal(size=(40, 6))
    y = (x[:, 0] + rng.normal(size=40) > 0).astype(int)
    train = rng.integers(0, 3, size=(4, 40)).astype(float)
    mean, scale = standardise(x, train)
    initial = initial_weights(6, 2, [derive_torch(0, "weights", m) for m in range(4)])
    return Stack(x, y, train, initial, mean=mean, scale=scale)


def chosen_alone(stack, model, seed):
    """Return the penalty of one model, every network of its choice in a stack of its own."""
    samples = np.repeat(np.arange(40), stack.train[model].astype(int))
    risks = []
    for decay in sorted(RIVAL.decays):
        errors = []
        for kept, held in training_folds(stack.y[samples], 3, seed):
            one = replace(
                stack,
                train=np.bincount(samples[kept], minlength=40)[None] * 1.0,
                initial={name: value[[model]] for name, value in stack.initial.items()},
                mean=stack.mean[[model]],
                scale=stack.scale[[model]],
                penalty=decay,
            )
            weights = train_stack(one, SETTINGS).weights
            found = predict_stack(weights, stack.x, one.mean, one.scale)[0].argmax(1)
            errors.append(np.mean(found[samples[held]] != stack.y[samples[held]]))
        risks.append(np.mean(errors))
    return sorted(RIVAL.decays)[int(np.argmin(risks))]


@pytest.mark.parametrize("most", [1, 1024])
def test_every_model_has_the_penalty_it_would_have_alone(stack, monkeypatch, most):
    monkeypatch.setattr(module, "MOST_AT_ONCE", most)
    seeds = [(0, 0), (0, 1), (5, 0), (5, 1)]
    found = with_chosen_penalty(stack, SETTINGS, seeds, RIVAL).penalty
    alone = [chosen_alone(stack, m, model_seed(*seeds[m])) for m in range(4)]
    assert found.tolist() == alone
    assert len(set(alone)) > 1


def test_among_equal_errors_the_smallest_penalty_is_taken(stack):
    untrained = StackSettings(n_epochs=0)
    found = with_chosen_penalty(stack, untrained, [(0, m) for m in range(4)], RIVAL)
    assert found.penalty.tolist() == [0.0] * 4


def test_training_that_diverges_is_not_chosen(stack, monkeypatch):
    def trained(networks, settings):
        result = train_stack(networks, settings)
        return replace(result, finite=networks.penalty != 0.0)

    monkeypatch.setattr(module, "train_stack", trained)
    found = with_chosen_penalty(stack, SETTINGS, [(0, m) for m in range(4)], RIVAL)
    assert (found.penalty > 0).all()
