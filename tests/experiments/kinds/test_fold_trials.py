"""How a table is cut in one repeat, and what is averaged over its folds."""

import math

import numpy as np
import pytest

from firecv.data import load
from firecv.data.arrays import duplicates
from firecv.experiments.kinds import fold_trials as module
from firecv.experiments.kinds.fold_trials import fold_trials, mean_over_folds
from firecv.experiments.kinds.stacks import encoded
from firecv.models.scores import SCORES

TABLE = "wine"  # carried by scikit-learn: always at hand, 178 rows, three classes


@pytest.mark.parametrize("protocol", ["clean", "paper"])
@pytest.mark.parametrize("n_folds", [2, 5])
def test_folds_are_disjoint_and_cover_the_table(n_folds, protocol):
    trials = fold_trials(TABLE, n_folds, protocol, seed=1)
    held = [np.union1d(trial.validation, trial.test) for trial in trials]
    assert sorted(np.concatenate(held)) == list(range(178))
    for trial, rows in zip(trials, held, strict=True):
        assert sorted([*trial.train, *rows]) == list(range(178))


def test_in_paper_the_validation_set_is_scored_and_in_clean_none_of_it():
    for trial in fold_trials(TABLE, 2, "paper", seed=0):
        assert np.array_equal(trial.validation, trial.test)
    for trial in fold_trials(TABLE, 2, "clean", seed=0):
        assert not set(trial.validation) & set(trial.test)
        assert abs(len(trial.validation) - len(trial.test)) <= 3


def test_halves_are_stratified():
    y = load(TABLE).train.y
    for trial in fold_trials(TABLE, 2, "clean", seed=0):
        difference = np.bincount(y[trial.validation]) - np.bincount(y[trial.test])
        assert np.abs(difference).max() <= 1


def test_equal_inputs_stay_together_in_clean_only(monkeypatch):
    table = encoded(TABLE)
    twice = table.arrays.take(np.repeat(np.arange(178), 2))
    monkeypatch.setattr(module, "encoded", lambda dataset: table._replace(arrays=twice))
    module._places.cache_clear()
    first = duplicates(twice.x)
    for protocol, is_kept in (("clean", True), ("paper", False)):
        (one, _) = fold_trials(TABLE, 2, protocol, seed=0)
        parts = [one.train, one.validation] + ([one.test] if is_kept else [])
        shared = [
            set(first[a]) & set(first[b]) for i, a in enumerate(parts) for b in parts[i + 1 :]
        ]
        assert any(shared) is not is_kept
    module._places.cache_clear()


def test_one_fold_is_a_fixed_fifth():
    (one,), (other,) = (fold_trials(TABLE, 1, "clean", seed) for seed in (0, 5))
    assert np.array_equal(one.train, other.train) and np.array_equal(one.test, other.test)
    assert len(one.train) == 142 and len(one.test) + len(one.validation) == 36


def test_the_mean_auc_leaves_out_folds_of_one_class_but_not_diverged_ones():
    good = dict.fromkeys(SCORES, 0.5)
    one_class = {**good, "auc": math.nan}
    diverged = dict.fromkeys(SCORES, math.nan)
    assert mean_over_folds([good, one_class], "auc") == 0.5
    assert math.isnan(mean_over_folds([good, diverged], "auc"))
    assert math.isnan(mean_over_folds([one_class], "auc"))
    assert math.isnan(mean_over_folds([good, diverged], "accuracy"))
