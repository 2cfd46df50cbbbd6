"""Tables under selection bias: limits, pairing, and what is scored."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from firecv.data.arrays import duplicates
from firecv.errors import DataError
from firecv.experiments.kinds import selection_trials as module
from firecv.experiments.kinds.selection import SelectionBias
from firecv.experiments.kinds.stacks import encoded, probabilities
from firecv.experiments.kinds.treatment import Treatment
from firecv.models import Task, table_mlp
from firecv.models.scores import SCORES
from firecv.rivals import OneStep, Target
from firecv.seeding import derive_torch
from firecv.training import Training

TABLE = "breast_cancer"  # carried by scikit-learn: always at hand, 569 rows
ERM = SelectionBias(TABLE, "erm", "none", n_epochs=4)
METHODS = {
    "erm": ("none", None),
    "l2": ("none", None),
    "iwerm": ("unlabelled", None),
    "eiwerm": ("unlabelled", 0.5),
    "riwerm": ("unlabelled", 0.5),
    "onestep": ("unlabelled", None),
    "pooled": ("labelled", None),
    "fire-paper": ("labelled", 0.1),
    "fire-trace": ("unlabelled", 0.1),
    "fire-align": ("labelled", 0.1),
}


def setting(method, **changes):
    """Return a tiny setting of a method."""
    regime, strength = METHODS[method]
    return replace(ERM, method=method, regime=regime, strength=strength, **changes)


def selection_trial(setting, seed):
    """Return the network that a setting trains for a seed."""
    return module.selection_trial(setting.dataset, setting.target, setting.protocol, seed)


@pytest.mark.parametrize("method", METHODS)
def test_a_seed_does_not_depend_on_the_others(method):
    one = setting(method)
    alone, among = one.measure([2]), one.measure([0, 1, 2])
    assert list(alone) == ["seed", *SCORES, "train_rows", "validation_rows", "test_rows"]
    for name, values in alone.items():
        assert np.isfinite(values).all()
        np.testing.assert_allclose(values[0], among[name][2], atol=1.1e-5)


@pytest.mark.parametrize("method", ["l2", "fire-paper", "fire-trace", "fire-align"])
def test_strength_0_is_plain_training(method):
    assert replace(setting(method), strength=0.0).measure([0, 1]) == ERM.measure([0, 1])


@pytest.mark.parametrize("target", ["complement", "unbiased"])
def test_paper_scores_v_itself_and_clean_another_part(target):
    paper = selection_trial(replace(ERM, target=target, protocol="paper"), 1)
    clean = selection_trial(replace(ERM, target=target), 1)
    assert np.array_equal(paper.validation, paper.test)
    assert np.array_equal(paper.train, clean.train)
    assert sorted([*clean.validation, *clean.test]) == list(paper.test)
    assert len(clean.validation) == pytest.approx(len(paper.test) / 4, abs=1)
    assert not set(paper.train) & set(paper.test)
    if target == "complement":
        assert len(paper.train) + len(paper.test) == 569


def test_training_rows_are_shifted_along_a_direction():
    trial = selection_trial(ERM, 0)
    x = encoded(TABLE).distinct.x[encoded(TABLE).distinct.places]
    direction = x[trial.train].mean(0) - x[trial.test].mean(0)
    places = x @ direction
    assert places[trial.train].mean() - places[trial.validation].mean() > places.std()


def test_all_methods_see_the_same_rows():
    one, other = selection_trial(ERM, 5), selection_trial(setting("fire-align"), 5)
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_parts_of_real_duplicates_stay_together(monkeypatch):
    table = encoded(TABLE)
    places = np.repeat(table.distinct.places, 2)
    twice = table._replace(
        arrays=table.arrays.take(np.repeat(np.arange(569), 2)),
        distinct=table.distinct._replace(places=places),
    )
    monkeypatch.setattr(module, "encoded", lambda dataset: twice)
    trial, first = selection_trial(ERM, 0), duplicates(table.distinct.x[places])
    assert not set(first[trial.validation]) & set(first[trial.test])


def test_onestep_starts_from_the_same_weights_as_the_stack(monkeypatch):
    monkeypatch.setattr(module, "fit_onestep_stack", lambda stack, *given, **others: stack.initial)
    trials, table = [selection_trial(ERM, seed) for seed in (0, 1)], encoded(TABLE)
    monkeypatch.setattr("firecv.experiments.kinds.stacks.train_stack", lambda s, _: _Untrained(s))
    stacked = probabilities(table, trials, Treatment("erm", "none", None, 1))
    np.testing.assert_array_equal(module.onestep_probabilities(table, trials, 1), stacked)


class _Untrained:
    def __init__(self, stack):
        self.weights = stack.initial


def test_onestep_trains_each_network_with_its_own_seed():
    trials, table = [selection_trial(ERM, seed) for seed in (3, 8)], encoded(TABLE)
    x, y = table.distinct.x[table.distinct.places], torch.from_numpy(table.arrays.y.astype(int))
    stacked = module.onestep_probabilities(table, trials, 20)
    for trial, found in zip(trials, stacked, strict=True):
        mean, scale = x[trial.train].mean(0), x[trial.train].std(0)  # all columns are numeric
        z = torch.from_numpy((x - mean) / scale).float()
        task = Task(table_mlp(z.shape[1], 2, derive_torch(trial.seed, "weights", 0)))
        data, target = (z[trial.train], y[trial.train]), Target(z[trial.validation])
        OneStep().fit(task, data, target, Training(20, None), trial.seed)
        wanted = task.scores(z).softmax(1).detach().numpy()
        np.testing.assert_allclose(found[table.distinct.places], wanted, atol=1e-4)


def test_onestep_that_diverges_has_no_scores(monkeypatch):
    def diverge(stack, *given, **others):
        return {name: value * np.nan for name, value in stack.initial.items()}

    monkeypatch.setattr(module, "fit_onestep_stack", diverge)
    assert np.isnan(setting("onestep").measure([0])["accuracy"]).all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"target": "all"}, "'complement' or 'unbiased'"),
        ({"protocol": "both"}, "'clean' or 'paper'"),
        ({"dataset": "digits"}, "images"),
        ({"method": "dann", "regime": "unlabelled"}, "cannot train a stack"),
        ({"regime": "unlabelled"}, "here it is one of"),
    ],
)
def test_bad_settings_are_refused(changes, words):
    with pytest.raises(DataError, match=words):
        replace(ERM, **changes).check()


def test_methods_of_many_networks_take_fewer_seeds_at_once():
    assert [setting(m).at_once for m in ("erm", "l2", "onestep", "riwerm")] == [100, 25, 100, 100]
    assert setting("onestep").cost > 0 and setting("l2").cost > ERM.cost
    assert ERM.missing() == ""
