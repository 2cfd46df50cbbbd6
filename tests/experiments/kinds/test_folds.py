"""Repeated cross-validation of tables: limits, pairing, and a network against one trained alone."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from firecv.data.encode import encode_parts
from firecv.errors import DataError, RegimeError
from firecv.experiments.kinds import fold_trials as module
from firecv.experiments.kinds.folds import Folds
from firecv.experiments.kinds.stacks import build_stack, encoded, probabilities, score_trials
from firecv.experiments.kinds.treatment import STACKED, Treatment
from firecv.experiments.spec import Run
from firecv.models import Task, table_mlp
from firecv.models.scores import SCORES
from firecv.seeding import derive_torch
from firecv.training import Training, train

TABLE = "wine"  # carried by scikit-learn: always at hand, 178 rows, three classes
ERM = Folds(TABLE, 2, "erm", "none", n_epochs=5)
REGIMES = {"erm": "none", "l2": "none", "pooled": "labelled", "pooledhalf": "labelled"}


def setting(method, **changes):
    """Return a tiny setting of a method, with the most it takes of V."""
    is_fire = method.startswith("fire")
    regime = "labelled" if is_fire else REGIMES.get(method, "unlabelled")
    return replace(ERM, method=method, regime=regime, strength=0.1 if is_fire else None, **changes)


def fold_trials(setting, seed):
    """Return the networks that a setting trains for a seed."""
    return module.fold_trials(setting.dataset, setting.n_folds, setting.protocol, seed)


@pytest.mark.parametrize("method", STACKED)
def test_every_method_gives_scores_of_every_seed(method):
    found = setting(method).measure([4, 7])
    assert list(found) == ["seed", *SCORES, "fold 1", "fold 2"]
    assert found["seed"] == [4, 7]
    assert all(len(values) == 2 and np.isfinite(values).all() for values in found.values())
    means = np.mean([found["fold 1"], found["fold 2"]], axis=0)
    np.testing.assert_allclose(found["accuracy"], means, atol=1.1e-5)


@pytest.mark.parametrize(
    "method", ["fire-paper", "fire-precondition", "fire-trace", "fire-align", "l2"]
)
def test_strength_0_is_plain_training(method):
    none = replace(setting(method), strength=0.0).measure([0, 1])
    assert none == ERM.measure([0, 1])


@pytest.mark.parametrize("method", ["fire-trace", "fire-align", "pooled", "pooledhalf", "riwerm"])
def test_every_method_changes_something(method):
    strong = setting(method, n_epochs=30)
    if method.startswith("fire"):
        strong = replace(strong, strength=1.0)
    assert strong.measure([0])["log_loss"] != replace(ERM, n_epochs=30).measure([0])["log_loss"]


@pytest.mark.parametrize("method", ["erm", "fire-trace", "iwerm", "riwerm", "l2"])
@pytest.mark.parametrize("protocol", ["clean", "paper"])
def test_a_seed_does_not_depend_on_the_others(method, protocol):
    one = setting(method, protocol=protocol)
    alone, among = one.measure([3]), one.measure([0, 1, 2, 3])
    for name, values in alone.items():
        np.testing.assert_allclose(values[0], among[name][3], atol=1.1e-5)


def test_one_fold_is_told_as_such():
    assert list(replace(ERM, n_folds=1).measure([0, 5]))[-1] == "fold 1"


def test_folds_and_initial_weights_are_the_same_for_all_methods():
    plain, fire = fold_trials(ERM, 2), fold_trials(setting("fire-align", n_epochs=7), 2)
    for one, other in zip(plain, fire, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_one_fold_equals_a_network_trained_alone():
    trial = fold_trials(ERM, seed=3)[1]
    arrays = encoded(TABLE).arrays
    (kept, held), _ = encode_parts(arrays.take(trial.train), arrays.take(trial.test))
    task = Task(table_mlp(13, 3, derive_torch(3, "weights", 1)).double())
    data = (torch.from_numpy(kept.x).double(), torch.from_numpy(kept.y))
    train(task, data, Training(n_epochs=200, batch_size=None), torch.Generator())
    alone = task.scores(torch.from_numpy(held.x).double()).softmax(1).detach().numpy()
    treatment = Treatment("erm", "none", None, 200)
    found = probabilities(encoded(TABLE), fold_trials(ERM, seed=3), treatment)[1]
    rows = encoded(TABLE).distinct.places[trial.test]
    np.testing.assert_allclose(found[rows], alone, atol=2e-5)
    scored = score_trials(encoded(TABLE), [trial], treatment)[0]
    assert scored["accuracy"] == np.mean(alone.argmax(1) == arrays.y[trial.test])


def test_networks_see_no_statistics_of_held_out_rows():
    trials = fold_trials(ERM, seed=0)
    stack, table = build_stack(encoded(TABLE), trials), encoded(TABLE)
    rows = table.distinct.x[table.distinct.places[trials[0].train]]
    np.testing.assert_allclose(stack.mean[0], rows.mean(0), atol=1e-9)
    np.testing.assert_allclose(stack.scale[0], rows.std(0), atol=1e-9)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dataset": "digits"}, "images"),
        ({"dataset": "wines"}, "did you mean 'wine'"),
        ({"n_folds": 0}, "n_folds is 0"),
        ({"protocol": "dirty"}, "'clean' or 'paper'"),
        ({"n_epochs": 0}, "n_epochs is 0"),
        ({"method": "fires"}, "method is 'fires'"),
        ({"regime": "all"}, "regime is 'all'"),
        ({"regime": "labelled"}, r"one of \['none'\]"),
        ({"strength": 0.1}, "it has none"),
        ({"method": "l2", "strength": -0.1}, "from 0 on"),
        ({"method": "fire-trace"}, "paper's 0.1"),
        ({"method": "fire-trace", "regime": "labelled_summary", "strength": 0.1}, "here it is"),
    ],
)
def test_bad_settings_are_refused(changes, words):
    with pytest.raises(DataError, match=words):
        replace(ERM, **changes).check()


def test_too_little_of_v_is_refused():
    with pytest.raises(RegimeError, match="IWERM needs"):
        replace(ERM, method="iwerm").measure([0])


def test_methods_without_a_stack_are_refused():
    with pytest.raises(DataError, match="cannot train a stack"):
        setting("fire-quadratic")


def test_settings_that_are_none_do_not_name_a_run():
    assert "strength" not in Run(ERM, 0, 2).text
    assert '"strength":0.1' in Run(setting("fire-paper"), 0, 2).text


def test_large_tables_and_choosing_methods_take_fewer_seeds_at_once():
    assert ERM.at_once == 100
    assert [replace(ERM, dataset="mushroom", n_folds=k).at_once for k in (1, 2, 10)] == [
        100,
        50,
        25,
    ]
    assert setting("l2").at_once == 25
    assert setting("l2").cost > setting("fire-paper").cost > ERM.cost > 0


def test_a_table_that_is_not_here_says_so(monkeypatch, tmp_path):
    assert ERM.missing() == ""
    monkeypatch.setenv("FIRECV_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "heart is not at hand" in replace(ERM, dataset="heart").missing()
