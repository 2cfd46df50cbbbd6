"""What holds for every method in RIVALS."""

import copy
import dataclasses

import numpy as np
import pytest
import torch

from firecv.errors import DataError, FirecvError, RegimeError
from firecv.rivals import RIVALS, Outcome, Target
from firecv.training import Training
from tests.rivals.problems import image_task, images, same_weights, table, table_task

pytestmark = pytest.mark.filterwarnings("ignore::firecv.errors.FirecvNotice")

SETTINGS = Training(n_epochs=2, batch_size=30, rate=0.01)
KEYS = sorted(RIVALS)
SEES_NOTHING = [key for key in KEYS if RIVALS[key].regime == "none"]
SEES_INPUTS = [key for key in KEYS if RIVALS[key].regime == "unlabelled"]
SEES_LABELS = [key for key in KEYS if RIVALS[key].regime == "labelled"]
COMPARES_LAWS = [*SEES_INPUTS, *SEES_LABELS]


def fit(key, data, target, task=None, seed=0, **given):
    task = table_task() if task is None else task
    return task, RIVALS[key]().fit(task, data, target, SETTINGS, seed, **given)


def test_all_methods_are_there():
    expected = {"erm", "l2", "iwerm", "eiwerm", "riwerm", "onestep", "diw", "giw"}
    assert expected | {"dann", "deepcoral", "ddc", "dan", "pooled", "pooledhalf"} == set(RIVALS)
    assert {*SEES_NOTHING, *SEES_INPUTS, *SEES_LABELS} == set(RIVALS)
    assert len({rival.label for rival in RIVALS.values()}) == len(RIVALS)


@pytest.mark.parametrize("key", KEYS)
def test_a_method_is_a_frozen_dataclass_of_its_settings(key):
    method = RIVALS[key]()
    assert dataclasses.is_dataclass(method) and method == RIVALS[key]()
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
        method.label = "another"


@pytest.mark.parametrize("key", KEYS)
def test_the_model_is_trained_and_the_outcome_says_how(key):
    data, target = table()
    before, losses = table_task(), []
    task, outcome = fit(key, data, target, after_epoch=lambda *given: losses.append(given))
    assert not same_weights(task, before) and not task.model.training
    assert all(value.isfinite().all() for value in task.weights().values())
    assert [epoch for epoch, _ in losses] == [1, 2] and np.isfinite(losses).all()
    assert isinstance(outcome, Outcome)
    if outcome.weights is not None:
        assert outcome.weights.shape == (90,) and outcome.weights.dtype == np.float64
        assert (outcome.weights >= 0).all() and np.isfinite(outcome.weights).all()
    assert all(isinstance(value, float) for value in outcome.chosen.values())


@pytest.mark.parametrize("key", KEYS)
def test_the_same_seed_gives_the_same_and_another_seed_does_not(key):
    (one, first), (other, second) = fit(key, *table()), fit(key, *table())
    assert same_weights(one, other) and first.chosen == second.chosen
    np.testing.assert_array_equal(first.weights, second.weights)
    another, _ = fit(key, *table(), seed=1)
    assert not same_weights(one, another)


@pytest.mark.parametrize("key", KEYS)
def test_inputs_stay_as_they_are_and_no_global_generator_is_used(key):
    data, target = table()
    weight = torch.linspace(0.5, 1.5, 90)
    kept = copy.deepcopy((data, target, weight))
    state, numbers = torch.get_rng_state(), np.random.get_state()
    fit(key, data, target, sample_weight=weight)
    assert torch.equal(state, torch.get_rng_state())
    now = np.random.get_state()
    assert numbers[2] == now[2] and (numbers[1] == now[1]).all()
    for one, other in ((data[0], kept[0][0]), (data[1], kept[0][1]), (weight, kept[2])):
        assert torch.equal(one, other)
    assert torch.equal(target.x, kept[1].x) and torch.equal(target.y, kept[1].y)


@pytest.mark.parametrize("key", KEYS)
def test_sample_weights_are_heeded(key):
    """Samples of weight zero may have any label."""
    (x, y), target = table()
    weight = torch.ones(90)
    weight[:45] = 0
    wrong = y.clone()
    wrong[:45] = 1 - wrong[:45]
    if key in ("diw", "giw"):  # which match the losses of all samples, whatever they weigh
        (one, _), (other, _) = (
            fit(key, (x, y), target, sample_weight=weight),
            fit(key, (x, y), target),
        )
        assert not same_weights(one, other)
        return
    (one, first), (other, second) = (
        fit(key, (x, labels), target, sample_weight=weight) for labels in (y, wrong)
    )
    if first.chosen == second.chosen:  # folds are stratified, so those of wrong labels differ
        assert same_weights(one, other)
    plain, _ = fit(key, (x, y), target)
    assert not same_weights(one, plain)


@pytest.mark.parametrize("key", SEES_NOTHING)
def test_what_sees_nothing_of_v_needs_nothing(key):
    data, target = table()
    (one, _), (other, _) = fit(key, data, None), fit(key, data, target)
    assert same_weights(one, other)


@pytest.mark.parametrize("key", SEES_INPUTS)
def test_what_sees_inputs_needs_them_and_does_not_look_at_labels(key):
    data, target = table()
    with pytest.raises(RegimeError, match="needs the inputs"):
        fit(key, data, None)
    tasks = [
        fit(key, data, Target(target.x, labels))[0] for labels in (None, target.y, 1 - target.y)
    ]
    assert same_weights(tasks[0], tasks[1]) and same_weights(tasks[0], tasks[2])


@pytest.mark.parametrize("key", SEES_LABELS)
def test_what_sees_labels_needs_them(key):
    data, target = table()
    for given in (None, Target(target.x)):
        with pytest.raises(RegimeError, match="needs inputs and labels"):
            fit(key, data, given)
    with pytest.raises(DataError, match="validation labels are"):
        fit(key, data, Target(target.x, target.y * 0))
    with pytest.raises(DataError, match="one label per sample"):
        fit(key, data, Target(target.x, target.y[:-1]))


@pytest.mark.parametrize("key", KEYS)
def test_training_samples_of_one_class_are_refused(key):
    (x, y), target = table()
    with pytest.raises(DataError, match="all 90 training labels are 0"):
        fit(key, (x, y * 0), target)


@pytest.mark.parametrize("key", COMPARES_LAWS)
def test_a_single_sample_of_v_is_refused(key):
    data, target = table()
    with pytest.raises(DataError, match="1 validation samples; expected at least two"):
        fit(key, data, Target(target.x[:1], target.y[:1]))


@pytest.mark.parametrize("key", COMPARES_LAWS)
def test_a_v_that_does_not_fit_is_refused(key):
    data, target = table()
    with pytest.raises(FirecvError, match="NaN|nan"):
        fit(key, data, Target(target.x * float("nan"), target.y))
    with pytest.raises(DataError, match="sample"):
        fit(key, data, Target(target.x[:, :1], target.y))


@pytest.mark.parametrize("key", KEYS)
def test_images_are_learnt_by_a_convolutional_network(key):
    data, target = images()
    task, _ = fit(key, data, target, task=image_task())
    assert not same_weights(task, image_task())
