from dataclasses import replace

import numpy as np
import pytest

from firecv.errors import DataError
from firecv.experiments.kinds import cut_fits
from firecv.experiments.kinds.cut import Cut
from firecv.experiments.kinds.natural_fits import fitted

HEART = Cut("heart", n_validation=20)
needs_data = pytest.mark.skipif(HEART.missing() != "", reason=HEART.missing())


@pytest.fixture
def small_table(monkeypatch):
    x = np.random.default_rng(0).normal(size=(600, 3))
    monkeypatch.setattr(cut_fits, "_table", lambda name: (x, (x[:, 0] > 0).astype(int)))


@pytest.mark.usefixtures("small_table")
def test_fragments_come_nearer_to_the_target_and_rows_are_used_once():
    given = cut_fits._problem(HEART, 0)
    assert np.unique(given.fragments).tolist() == [0, 1, 2, 3, 4]
    assert np.ptp(np.bincount(given.fragments)) <= 1
    assert len(given.y) + len(given.y_val) + len(given.y_test) == 600
    center = given.x_test.mean(axis=0)
    distances = [
        np.linalg.norm(given.x[given.fragments == k].mean(axis=0) - center) for k in (0, 2, 4)
    ]
    assert distances[0] > distances[1] > distances[2]


@pytest.mark.usefixtures("small_table")
def test_garbage_has_the_labels_of_others_and_copies_repeat_all():
    plain, garbage = (cut_fits._problem(replace(HEART, n_garbage=k), 0) for k in (0, 2))
    changed = [
        bool((plain.y[plain.fragments == k] != garbage.y[garbage.fragments == k]).any())
        for k in range(5)
    ]
    assert changed == [True, False, True, False, False]
    twice = cut_fits._problem(replace(HEART, n_copies=2), 0)
    n = len(plain.y)
    np.testing.assert_array_equal(twice.x[:n], twice.x[n:])
    assert len(np.unique(twice.fragments)) == 10


@pytest.mark.usefixtures("small_table")
def test_fires_defaults_are_those_of_the_estimator():
    given = cut_fits._problem(HEART, 0)
    one = cut_fits._weighted(HEART, given, 0)
    other = fitted("linear", "fire", given, 0)
    np.testing.assert_allclose(
        one.predict_proba(given.x_test), other.predict_proba(given.x_test), atol=1e-3
    )


@needs_data
def test_a_real_table():
    result = replace(HEART, method="pooled").measure([0, 1])
    assert result["seed"] == [0, 1] and min(result["accuracy"]) > 0.5


@pytest.mark.parametrize(
    "changed",
    [{"model": "network"}, {"method": "x"}, {"n_garbage": 4}, {"n_copies": 0}, {"n_folds": 3}],
)
def test_what_makes_no_sense_is_refused(changed):
    with pytest.raises(DataError, match="expected one of|got|only FIRE"):
        replace(HEART, **changed).check()
