from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from firecv.errors import DataError
from firecv.experiments.kinds import natural_fits
from firecv.experiments.kinds.natural import METHODS, MODELS, NETWORK_METHODS, Natural
from firecv.experiments.kinds.natural_fits import Problem, best_share, fitted
from firecv.fire.weigh import crossfit
from firecv.seeding import derive

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
    assert best_share(problem(), seed=0) >= 0.7


@pytest.mark.parametrize("method", NETWORK_METHODS)
def test_what_only_a_network_can_train(method):
    network = fitted("network", method, problem(), seed=0)
    assert network.predict_proba(problem().x_test).shape == (400, 2)


def test_a_share_is_that_of_scikit_learns_cross_validation():
    given = problem()
    shares, n_val = sorted((30 / 150, *natural_fits.SHARES)), len(given.y_val)
    folds = crossfit.fold_of_each(given.y_val, 5, derive(0, "folds"))
    losses = []
    for share in shares:
        total = 0.0
        for fold in range(5):
            kept = given._replace(
                x_val=given.x_val[folds != fold], y_val=given.y_val[folds != fold]
            )
            model = LogisticRegression(C=150 / 144, tol=1e-8, max_iter=1000)
            model.fit(*kept.pooled, sample_weight=kept.shared(share))
            held = folds == fold
            chances = model.predict_proba(given.x_val[held])[
                np.arange(held.sum()), given.y_val[held]
            ]
            total -= np.log(chances).sum()
        losses.append(total / n_val)
    assert best_share(given, seed=0) == shares[int(np.argmin(losses))]


def test_v_of_one_class_alone_predicts_it():
    given = problem()._replace(y_val=np.ones(30, int))
    assert (fitted("linear", "alone", given, 0).predict(given.x_test) == 1).all()


def test_the_loss_of_a_class_never_seen_is_finite():
    loss = natural_fits.loss_of(np.array([0, 1]), np.array([[0.5, 0.5]]), np.array([2]))
    assert 10 < loss < 20


@pytest.mark.skipif(HEART.missing() != "", reason=HEART.missing())
def test_hospitals():
    found = replace(HEART, method="pooled").measure([0, 1])
    assert found["seed"] == [0, 1]
    each = np.array([found[f"target {k}"] for k in range(1, 5)])
    np.testing.assert_allclose(each.mean(axis=0), found["accuracy"], atol=1e-5)
    assert all(0.7 < value < 0.9 for value in found["accuracy"])


@pytest.mark.parametrize("changed", [{"model": "x"}, {"method": "x"}])
def test_what_makes_no_sense_is_refused(changed):
    with pytest.raises(DataError, match="expected one of"):
        replace(HEART, **changed).check()
