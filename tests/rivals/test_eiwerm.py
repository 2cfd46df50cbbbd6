"""Flattened importance weights and the choice of the exponent."""

import copy

import numpy as np
import pytest
import torch

from firecv.errors import ModelError
from firecv.models import Task
from firecv.ratios import OracleRatio
from firecv.ratios.weights import effective_sample_size
from firecv.rivals import EIWERM, IWERM, Target
from firecv.rivals import weighing as weighing_module
from firecv.rivals.iwcv import training_folds
from firecv.rivals.weighing import as_rows
from firecv.seeding import derive_torch
from firecv.training import Training, train
from tests.rivals.problems import (
    Given,
    accuracy,
    bumps,
    same_weights,
    table,
    table_task,
    threshold_task,
    true_log_ratio,
)

SETTINGS = Training(n_epochs=3, batch_size=16, rate=0.02)
LONG = Training(n_epochs=150, batch_size=None, rate=0.1)


def test_exponent_one_is_iwerm_to_the_bit():
    one, other = table_task(), table_task()
    found = EIWERM(gamma=1.0).fit(one, *table(), SETTINGS, 5)
    wanted = IWERM().fit(other, *table(), SETTINGS, 5)
    np.testing.assert_array_equal(found.weights, wanted.weights)
    assert same_weights(one, other) and found.chosen == {"gamma": 1.0}


def test_larger_exponents_leave_fewer_effective_samples():
    (x, _), target = table()
    found = EIWERM().candidates(as_rows(x), as_rows(target.x), 0)
    sizes = [effective_sample_size(weights) for weights in found.weights]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] == len(x) > sizes[-1] + 1


def test_the_chosen_exponent_has_the_least_weighted_error_of_held_out_folds():
    (x, y), target = table()
    method, task = EIWERM(gammas=(0.0, 0.5, 1.0), n_folds=3), table_task()
    outcome = method.fit(task, (x, y), target, SETTINGS, 1)
    found = method.candidates(as_rows(x), as_rows(target.x), 1)
    risks = []
    for weights in found.weights:
        total = 0.0
        for kept, held in training_folds(y.numpy(), 3, 1):
            twin = Task(copy.deepcopy(table_task().model))
            rows = torch.from_numpy(kept)
            rng = derive_torch(1, "shuffle", "fold", int(held[0]))
            weight = torch.from_numpy(weights).float()[rows]
            train(twin, (x[rows], y[rows]), SETTINGS, rng, sample_weight=weight)
            with torch.no_grad():
                wrong = (twin.model(x[held]).argmax(1) != y[held]).numpy()
            total += float((found.importance[held] * wrong).mean()) / 3
        risks.append(total)
    assert len({round(risk, 9) for risk in risks}) > 1, "the case does not tell exponents apart"
    assert outcome.chosen == {"gamma": (0.0, 0.5, 1.0)[int(np.argmin(risks))]}
    np.testing.assert_array_equal(outcome.weights, found.weights[int(np.argmin(risks))])


def test_the_exponent_grows_where_plain_training_is_wrong():
    data, target = bumps()
    task = threshold_task()
    method = EIWERM(gammas=(0.0, 0.75), ratio=OracleRatio(true_log_ratio))
    outcome = method.fit(task, data, Target(target.x), LONG, 0)
    assert outcome.chosen == {"gamma": 0.75}
    assert accuracy(task, target) > 0.8


def test_among_equal_risks_the_flattest_weights_are_taken():
    outcome = EIWERM(gammas=(1.0, 0.5, 0.25), n_folds=2, ratio=Given()).fit(
        table_task(), *table(), SETTINGS, 0
    )
    assert outcome.chosen == {"gamma": 0.25}


@pytest.mark.parametrize(
    "method, n_trainings",
    [(EIWERM(gamma=0.5), 1), (EIWERM(gammas=(0.5,)), 1), (EIWERM(gammas=(0, 1), n_folds=3), 7)],
    ids=["fixed", "one", "two"],
)
def test_trainings_are_as_many_as_said(method, n_trainings, monkeypatch):
    calls = []
    monkeypatch.setattr(
        weighing_module, "train", lambda *args, **given: calls.append(train(*args, **given))
    )
    method.fit(table_task(), *table(), SETTINGS, 0)
    assert len(calls) == n_trainings


def test_user_weights_take_part_in_the_choice():
    (x, y), target = table()
    flipped = y.clone()
    flipped[:45] = 1 - flipped[:45]  # half of the labels are wrong, and weigh nothing
    given = torch.cat([torch.zeros(45), 2 * torch.ones(45)])
    task = table_task()
    EIWERM(gammas=(0.0, 0.5), n_folds=2).fit(
        task, (x, flipped), target, Training(80, 16, 0.02), 0, sample_weight=given
    )
    assert accuracy(task, target) > 0.7


@pytest.mark.parametrize(
    "settings",
    [{"gammas": ()}, {"gammas": (0.5, 1.5)}, {"gamma": -0.1}, {"n_folds": 1}],
    ids=str,
)
def test_wrong_settings_are_refused(settings):
    with pytest.raises(ModelError, match="expected"):
        EIWERM(**settings)


def test_a_candidate_that_leaves_nothing_to_learn_from_is_not_chosen():
    only = np.zeros(90)
    only[0] = 1.0  # the fold that holds it out has no other
    outcome = EIWERM(gammas=(1.0, 0.0), n_folds=2, ratio=Given(only)).fit(
        table_task(), *table(), SETTINGS, 0
    )
    assert outcome.chosen == {"gamma": 0.0}
