"""What every density ratio promises, whatever its method."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from firecv.ratios import RATIOS
from tests.ratios.problems import fitted, log_ratio, make, problem

TRANSDUCTIVE = {"kmm"}


@pytest.fixture(scope="module")
def usual():
    train, target = problem()
    return {name: fitted(name, train, target) for name in RATIOS}


def test_all_methods_are_listed():
    assert sorted(RATIOS) == ["classifier", "kliep", "kmm", "oracle", "rulsif", "ulsif"]


@pytest.mark.parametrize("name", RATIOS)
def test_fit_returns_the_estimator(name):
    ratio = make(name)
    assert ratio.fit(*problem()) is ratio
    assert ratio.n_features_in_ == 3


@pytest.mark.parametrize("name", RATIOS)
def test_weights_are_finite_numbers_from_zero_on(name, usual):
    w = usual[name]
    assert w.shape == (300,) and w.dtype == np.float64
    assert np.isfinite(w).all() and (w >= 0).all()


@pytest.mark.parametrize("name", RATIOS)
def test_weights_have_a_mean_near_one_and_move_the_mean_to_the_target(name):
    train, target = problem(1000, 800, 2)
    w = fitted(name, train, target)
    assert w.mean() == pytest.approx(1, abs=0.1)
    moved = np.average(train, axis=0, weights=w)
    assert np.abs(moved - target.mean(0)).max() < 0.8 * np.abs(train.mean(0) - target.mean(0)).max()
    assert np.corrcoef(w, np.exp(log_ratio(train)))[0, 1] > 0.4


@pytest.mark.parametrize("name", sorted(set(RATIOS) - TRANSDUCTIVE))
def test_weights_are_a_function_of_the_row(name):
    train, target = problem()
    ratio = make(name).fit(train, target)
    np.testing.assert_allclose(ratio.weights(target[:7]), ratio.weights(target)[:7])
    np.testing.assert_allclose(ratio.weights(train)[::-1], ratio.weights(train[::-1]))
    assert ratio.weights(train[:0]).shape == (0,)


@pytest.mark.parametrize("name", RATIOS)
def test_the_same_seed_gives_the_same_weights(name, usual):
    assert np.array_equal(fitted(name, *problem()), usual[name])


@pytest.mark.parametrize("name", RATIOS)
def test_a_second_fit_forgets_the_first(name, usual):
    ratio = make(name).fit(*problem(seed=1, n_features=2))
    train, target = problem()
    assert np.array_equal(ratio.fit(train, target).weights(train), usual[name])


@pytest.mark.parametrize("name", RATIOS)
def test_samples_are_left_as_they_were(name):
    train, target = problem()
    kept = train.copy(), target.copy()
    train.setflags(write=False)
    target.setflags(write=False)
    fitted(name, train, target)
    assert np.array_equal(train, kept[0]) and np.array_equal(target, kept[1])


@pytest.mark.parametrize("name", RATIOS)
def test_no_global_generator_is_touched(name):
    before = np.random.get_state()[1].tolist()
    fitted(name, *problem())
    assert np.random.get_state()[1].tolist() == before


@pytest.mark.parametrize("name", RATIOS)
def test_a_clone_does_the_same(name, usual):
    train, target = problem()
    original = make(name).fit(train, target)
    copy = clone(original)
    with pytest.raises(NotFittedError):
        copy.weights(train)
    assert np.array_equal(copy.fit(train, target).weights(train), usual[name])


@pytest.mark.parametrize("name", RATIOS)
def test_settings_are_stored_as_given(name):
    ratio = make(name).set_params(random_state=7)
    assert ratio.get_params()["random_state"] == 7
    assert set(vars(ratio)) == set(ratio.get_params())


@pytest.mark.parametrize("name", RATIOS)
def test_data_frames_are_taken(name, usual):
    train, target = (pd.DataFrame(x, columns=["a", "b", "c"]) for x in problem())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        w = fitted(name, train, target)
    np.testing.assert_allclose(w, usual[name], atol=1e-6 * usual[name].max())


@pytest.mark.parametrize("name", RATIOS)
def test_single_precision_is_taken(name, usual):
    train, target = (x.astype(np.float32) for x in problem())
    w = fitted(name, train, target)
    assert w.dtype == np.float64
    np.testing.assert_allclose(w, usual[name], atol=0.02 * usual[name].max())


@pytest.mark.parametrize("name", RATIOS)
def test_the_order_of_columns_does_not_matter(name, usual):
    train, target = problem()
    order = [2, 0, 1]
    w = fitted(name, train[:, order], target[:, order])
    np.testing.assert_allclose(w, usual[name], atol=1e-3 * usual[name].max())


@pytest.mark.parametrize("name", sorted(set(RATIOS) - {"oracle"}))
def test_units_of_columns_do_not_matter(name, usual):
    train, target = problem()
    scale, shift = np.array([1e-3, 1.0, 1e4]), np.array([5.0, 0.0, -1e3])
    w = fitted(name, train * scale + shift, target * scale + shift)
    np.testing.assert_allclose(w, usual[name], atol=1e-3 * usual[name].max())
