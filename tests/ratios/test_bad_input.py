"""What every density ratio does with samples from which there is little or nothing to learn."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from firecv.errors import DataError, NumericalError
from firecv.ratios import RATIOS
from firecv.seeding import derive
from tests.ratios.problems import fitted, make, problem

WITHOUT_KERNEL = {"classifier", "oracle"}
WITH_FOLDS = {"kliep", "rulsif"}


def spoilt(value):
    train, _ = problem()
    train[3, 1] = value
    return train


@pytest.mark.parametrize("name", RATIOS)
@pytest.mark.parametrize("side", ["train", "target"])
@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (spoilt(np.nan), "NaN"),
        (spoilt(np.inf), "infinite"),
        (np.zeros((0, 3)), "0 rows"),
        (np.zeros((1, 3)), "1 rows"),
        (np.zeros(3), "shape"),
        (np.zeros((5, 3, 2)), "shape"),
        (np.array([["a", "b", "c"]] * 3), "numbers"),
        (np.zeros((5, 2)), "columns"),
        (np.zeros((5, 0)), "shape"),
    ],
    ids=["nan", "infinite", "none", "one", "flat", "images", "text", "columns", "no columns"],
)
def test_samples_that_are_none_are_refused(name, side, rows, words):
    train, target = problem()
    pair = (rows, target) if side == "train" else (train, rows)
    with pytest.raises(DataError, match=words):
        make(name).fit(*pair)


@pytest.mark.parametrize("name", RATIOS)
@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (np.zeros((5, 2)), "columns"),
        (spoilt(np.nan), "NaN"),
        (np.zeros(3), "shape"),
    ],
    ids=["columns", "nan", "flat"],
)
def test_rows_that_cannot_be_weighed_are_refused(name, rows, words):
    ratio = make(name).fit(*problem())
    with pytest.raises(DataError, match=words):
        ratio.weights(rows)


@pytest.mark.parametrize("name", RATIOS)
def test_weights_before_a_fit_are_refused(name):
    with pytest.raises(NotFittedError):
        make(name).weights(problem()[0])


@pytest.mark.parametrize("name", sorted(set(RATIOS) - {"oracle"}))
def test_a_constant_feature_counts_for_nothing(name):
    train, target = problem()
    alone = fitted(name, train, target)
    beside = fitted(name, *(np.c_[x, np.full(len(x), 7.0)] for x in (train, target)))
    np.testing.assert_allclose(beside, alone, atol=1e-3 * alone.max())


@pytest.mark.parametrize("name", RATIOS)
def test_duplicates_are_weighed_alike(name):
    train, target = problem(n=100)
    w = fitted(name, np.r_[train, train], np.r_[target, target])
    assert np.isfinite(w).all() and w.mean() == pytest.approx(1, abs=0.5)
    np.testing.assert_allclose(w[:100], w[100:], atol=1e-3 * w.max())


@pytest.mark.parametrize("name", RATIOS)
def test_few_distinct_rows_are_enough(name):
    rng = derive(0, "few")
    train, target = rng.integers(0, 2, (200, 1)), np.r_[np.ones(150), np.zeros(50)][:, None]
    w = fitted(name, train, target)
    assert np.isfinite(w).all()
    assert w[train[:, 0] == 1].min() > w[train[:, 0] == 0].max()


@pytest.mark.parametrize("name", sorted(set(RATIOS) - {"oracle"}))
def test_identical_samples_have_weights_near_one(name):
    train, _ = problem(n=400)
    w = fitted(name, train, train.copy())
    assert w.mean() == pytest.approx(1, abs=0.1)
    assert np.quantile(np.abs(w - 1), 0.9) < 0.35


@pytest.mark.parametrize("name", sorted(set(RATIOS) - WITHOUT_KERNEL))
def test_rows_that_are_all_equal_are_refused(name):
    with pytest.raises(DataError, match="are equal"):
        make(name).fit(np.ones((9, 2)), np.ones((8, 2)))


@pytest.mark.parametrize("name", sorted(set(RATIOS) - {"oracle"}))
@pytest.mark.parametrize("distance", [30.0, 1e6])
def test_a_target_elsewhere_is_refused_or_draws_on_the_nearest_rows(name, distance):
    train, target = problem()
    target = target + np.array([distance, 0.0, 0.0])
    try:
        w = fitted(name, train, target)
    except NumericalError as error:
        assert "support" in str(error)
    else:
        assert np.isfinite(w).all() and w.any()
        assert np.average(train[:, 0], weights=w) > train[:, 0].mean()


@pytest.mark.parametrize("name", RATIOS)
def test_two_rows_on_either_side_are_enough_unless_there_are_folds(name):
    train, target = np.array([[0.0], [1.0]]), np.array([[1.0], [2.0]])
    try:
        w = fitted(name, train, target)
    except DataError as error:
        assert name in WITH_FOLDS and "fewer folds" in str(error)
    else:
        assert w.shape == (2,) and np.isfinite(w).all() and w[1] >= w[0]
