from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from firecv.errors import DataError
from firecv.experiments.kinds import natural_fits
from firecv.experiments.kinds.natural import METHODS, MODELS, Natural
from firecv.experiments.kinds.natural_fits import Problem, fitted

HEART = Natural("heart_hospitals")


def problem(n=60, n_val=30):
    rng = np.random.default_rng(0)
    x, x_val, x_test = (rng.normal(size=(k, 3)) for k in (2 * n, n_val, 400))
    y, y_val, y_test = ((part[:, 0] > 0).astype(int) for part in (x, x_val, x_test))
    y[:n] = 1 - y[:n]
    return Problem(x, y, np.repeat(["a", "b"], n), x_val, y_val, x_test, y_test)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", MODELS)
def test_every_method_trains_every_model(model, method):
    found = fitted(model, method, problem(), seed=0)
    accuracy = (found.predict(problem().x_test) == problem().y_test).mean()
    assert accuracy > (0.85 if method == "fire" else 0.3)


def test_a_share_is_v_part_of_the_loss_and_the_rows_share_is_pooling():
    given = problem()
    weight = given.shared(0.5)
    assert weight[-30:].sum() == pytest.approx(weight[:-30].sum())
    np.testing.assert_allclose(given.shared(30 / 150), 1.0)


def test_half_is_what_it_says():
    given = problem()
    by_hand = LogisticRegression(max_iter=500).fit(
        np.concatenate([given.x, given.x_val]),
        np.concatenate([given.y, given.y_val]),
        sample_weight=given.shared(0.5),
    )
    found = fitted("linear", "half", given, seed=0)
    np.testing.assert_allclose(found.coef_, by_hand.coef_)


def test_the_share_that_is_chosen_is_large_where_only_v_is_right():
    assert natural_fits._share(LogisticRegression(), problem(), seed=0) >= 0.7


def test_v_of_one_class_alone_predicts_it():
    given = problem()._replace(y_val=np.ones(30, int))
    assert (fitted("linear", "alone", given, 0).predict(given.x_test) == 1).all()


def test_the_loss_of_a_class_never_seen_is_finite():
    loss = natural_fits._loss(np.array([0, 1]), np.array([[0.5, 0.5]]), np.array([2]))
    assert 10 < loss < 20


@pytest.mark.skipif(HEART.missing() != "", reason=HEART.missing())
def test_hospitals():
    found = replace(HEART, method="pooled").measure([0, 1])
    assert found["seed"] == [0, 1] and found["targets"] == [4.0, 4.0]
    assert all(0.7 < value < 0.9 for value in found["accuracy"])


@pytest.mark.parametrize("changed", [{"model": "x"}, {"method": "x"}])
def test_what_makes_no_sense_is_refused(changed):
    with pytest.raises(DataError, match="expected one of"):
        replace(HEART, **changed).check()
