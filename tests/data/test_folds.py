"""Folds are stratified and keep equal inputs together."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold

from firecv.data.arrays import Arrays, duplicates
from firecv.data.folds import Folds, folds, folds_rule, repeated_folds
from firecv.data.fragments import taken
from firecv.errors import DataError
from firecv.seeding import derive
from tests.fragment_cases import check_contract, make, same


@pytest.mark.parametrize("n", [2, 5, 10])
@pytest.mark.parametrize("n_distinct", [110, 180, None])
def test_equal_inputs_never_straddle_folds(n, n_distinct):
    arrays = make(300, n_distinct=n_distinct)
    cut = folds(arrays, derive(1), Folds(n))
    first = duplicates(arrays.x)
    seen = [set(first[rows].tolist()) for rows in cut.values()]
    assert sum(map(len, seen)) == len(set.union(*seen))
    assert folds_rule(arrays, Folds(n)) == "grouped"


def test_plain_folds_do_separate_equal_inputs():
    arrays = make(300, n_distinct=180)
    cut = folds(arrays, derive(1), Folds(5, keep_duplicates_together=False))
    seen = [set(duplicates(arrays.x)[rows].tolist()) for rows in cut.values()]
    assert sum(map(len, seen)) > len(set.union(*seen))


@pytest.mark.parametrize("n", [2, 5, 10])
@pytest.mark.parametrize("together", [True, False])
def test_without_duplicates_stratification_is_as_good_as_scikit_learns(n, together):
    arrays = make(203, n_classes=3)
    cut = folds(arrays, derive(2), Folds(n, together))
    reference = StratifiedKFold(n, shuffle=True, random_state=0).split(arrays.x, arrays.y)

    def spread(rows_of_folds):
        counts = np.array([np.bincount(arrays.y[rows], minlength=3) for rows in rows_of_folds])
        return np.ptp(counts, axis=0).max()

    assert spread(cut.values()) <= spread(rows for _, rows in reference) <= 1


def test_with_duplicates_class_shares_stay_close():
    arrays = make(600, n_classes=3, n_distinct=400)
    cut = folds(arrays, derive(2), Folds(5))
    counts = np.array([list(part.counts().values()) for part in taken(arrays, cut).values()])
    assert np.ptp(counts, axis=0).max() <= 3  # 40 of each class in each fold


@pytest.mark.parametrize(("n_distinct", "rule"), [(29, "plain"), (30, "grouped")])
def test_few_distinct_inputs_keep_plain_folds(n_distinct, rule):
    x = np.arange(90.0)[:, None] % n_distinct
    arrays = Arrays(x, np.arange(90) // 3 % 2, ("a", "b"))
    assert folds_rule(arrays, Folds(3)) == rule
    assert folds_rule(arrays, Folds(3, keep_duplicates_together=False)) == "plain"
    first = duplicates(x)
    cut = folds(arrays, derive(0), Folds(3))
    n_seen = sum(len(set(first[rows].tolist())) for rows in cut.values())
    assert (n_seen == n_distinct) == (rule == "grouped")


def test_repeats_differ_and_depend_on_their_own_number():
    arrays = make(100, n_distinct=60)
    three = dict(repeated_folds(arrays, 5, Folds(3), n_repeats=3))
    five = dict(repeated_folds(arrays, 5, Folds(3), n_repeats=5))
    assert list(five) == [0, 1, 2, 3, 4]
    assert all(same(three[repeat], five[repeat]) for repeat in three)
    assert not same(five[0], five[1])
    assert same(five[4], folds(arrays, derive(5, "folds", 4), Folds(3)))


def test_a_class_smaller_than_the_number_of_folds_is_named():
    arrays = Arrays(np.arange(13.0)[:, None], np.array([0] * 10 + [1] * 3), ("big", "small"))
    with pytest.raises(DataError, match="class 'small' has 3 samples, fewer than the 4 folds"):
        folds(arrays, derive(0), Folds(4))
    check_contract(arrays, folds(arrays, derive(0), Folds(3)))


def test_one_class_cannot_be_stratified_but_an_absent_one_does_not_matter():
    with pytest.raises(DataError, match="all 9 samples are of class 'a'"):
        folds(make(9, n_classes=1), derive(0), Folds(3))
    full = make(30, n_classes=2)
    absent = Arrays(full.x, full.y, ("a", "b", "never"))
    check_contract(absent, folds(absent, derive(0), Folds(3)))


def test_a_fold_left_empty_by_large_groups_is_refused(monkeypatch):
    def one_gets_all(y, groups, n):
        return np.zeros(len(y), np.intp)

    monkeypatch.setattr("firecv.data.folds.grouped_folds", one_gets_all)
    with pytest.raises(DataError, match="fold 2, fold 3 of 3 would be empty"):
        folds(make(90, n_distinct=60), derive(0), Folds(3))


def test_tables_and_images_can_be_folded():
    table = pd.DataFrame({"a": np.arange(60.0) % 40, "b": pd.Categorical(["u", "v"] * 30)})
    y = np.arange(60) // 2 % 2
    images = np.repeat(np.arange(40, dtype=np.uint8)[np.arange(60) % 40], 4).reshape(60, 2, 2)
    cuts = [folds(Arrays(x, y, ("a", "b")), derive(0), Folds(2)) for x in (table, images)]
    assert same(*cuts)
