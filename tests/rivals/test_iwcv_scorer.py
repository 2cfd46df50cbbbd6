import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.neighbors import KNeighborsClassifier

from firecv.errors import DataError, ModelError
from firecv.ratios import KMM, OracleRatio
from firecv.rivals.iwcv import iwcv_risk, training_folds
from firecv.rivals.iwcv_scorer import ImportanceWeightedScorer, losses_of
from firecv.seeding import derive


def log_ratio(rows):
    return rows[:, 0] - 0.5


@pytest.fixture(scope="module")
def world():
    rng = derive(0, "world")
    X, X_target = rng.normal(size=(120, 2)), rng.normal(size=(80, 2)) + [1, 0]
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(0, 0.5, 120) > 1).astype(int)
    return X, y, OracleRatio(log_ratio).fit(X, X_target)


@pytest.mark.parametrize("loss", ["zero_one", "log_loss", "squared"])
@pytest.mark.parametrize("self_normalised", [False, True])
def test_cross_val_score_gives_the_risk(world, loss, self_normalised):
    X, y, ratio = world
    folds, model = training_folds(y, 4), LogisticRegression()
    scorer = ImportanceWeightedScorer(ratio, loss=loss, self_normalised=self_normalised)
    scores = cross_val_score(model, X, y, scoring=scorer, cv=folds)

    def losses(kept, held):
        return losses_of(clone(model).fit(X[kept], y[kept]), X[held], y[held], loss)

    expected = iwcv_risk(losses, ratio.weights(X), folds, self_normalised=self_normalised)
    assert -scores.mean() == pytest.approx(expected)


def test_weights_are_routed_to_the_rows_they_belong_to(world):
    X, y, ratio = world
    folds, model = training_folds(y, 4), LogisticRegression()
    by_ratio = cross_val_score(
        model, X, y, scoring=ImportanceWeightedScorer(ratio, loss="log_loss"), cv=folds
    )
    params = {"sample_weight": ratio.weights(X)}
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = ImportanceWeightedScorer(loss="log_loss").set_score_request(sample_weight=True)
        model = model.set_fit_request(sample_weight=False)
        routed = cross_val_score(model, X, y, scoring=scorer, cv=folds, params=params)
        several = cross_validate(model, X, y, scoring={"risk": scorer}, cv=folds, params=params)
        search = GridSearchCV(model, {"C": [1.0]}, scoring=scorer, cv=folds)
        search.fit(X, y, sample_weight=params["sample_weight"])
    np.testing.assert_allclose(routed, by_ratio)
    np.testing.assert_allclose(several["test_risk"], by_ratio)
    assert search.best_score_ == pytest.approx(by_ratio.mean())


def test_weights_may_be_fitted_with_and_scored_with(world):
    X, y, ratio = world
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = ImportanceWeightedScorer().set_score_request(sample_weight=True)
        model = LogisticRegression().set_fit_request(sample_weight=True)
        params = {"sample_weight": ratio.weights(X)}
        found = cross_val_score(model, X, y, scoring=scorer, cv=training_folds(y, 4), params=params)
    assert np.isfinite(found).all()


def test_a_search_chooses_what_is_best_for_the_target():
    """Most training samples are of class 0, and where the target lies most are of class 1."""
    X = derive(0, "search").normal(0, 1, (400, 1))
    y = (X[:, 0] > 1).astype(int)
    ratio = OracleRatio(lambda rows: 2 * rows[:, 0] - 2).fit(X, X)  # N(0, 1) to N(2, 1)
    grid, folds = {"constant": [0, 1]}, training_folds(y, 5)
    model = DummyClassifier(strategy="constant")
    weighted = GridSearchCV(model, grid, scoring=ImportanceWeightedScorer(ratio), cv=folds)
    ordinary = GridSearchCV(model, grid, scoring="accuracy", cv=folds)
    assert weighted.fit(X, y).best_params_ == {"constant": 1}
    assert ordinary.fit(X, y).best_params_ == {"constant": 0}


def test_a_clone_keeps_the_fitted_ratio(world):
    X, y, ratio = world
    scorer = ImportanceWeightedScorer(ratio)
    inner = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5]}, scoring=scorer, cv=3)
    assert clone(scorer) is scorer
    assert np.isfinite(cross_val_score(inner, X, y, scoring=scorer, cv=3)).all()


def test_log_loss_is_that_of_scikit_learn(world):
    X, y, _ = world
    model = LogisticRegression().fit(X, y)
    expected = log_loss(y, model.predict_proba(X))
    assert losses_of(model, X, y, "log_loss").mean() == pytest.approx(expected)


def test_a_class_that_was_not_trained_on_has_the_largest_finite_loss():
    model = DummyClassifier().fit([[0], [0]], ["a", "b"])
    found = losses_of(model, [[0], [0]], ["a", "c"], "log_loss")
    assert found == pytest.approx([np.log(2), -np.log(np.finfo(float).eps)])


def test_squared_errors_are_those_of_a_regression():
    model = LinearRegression().fit([[0.0], [1.0]], [0.0, 2.0])
    assert losses_of(model, [[2.0]], [1.0], "squared") == pytest.approx([9.0])


def test_a_ratio_of_training_rows_only_says_so(world):
    X, y, _ = world
    scorer = ImportanceWeightedScorer(KMM().fit(X, X + 0.1))
    with pytest.raises(DataError, match="KMM weighs the 120 rows"):
        scorer(LogisticRegression().fit(X, y), X[:10], y[:10])


def test_one_source_of_weights_is_needed(world):
    X, y, ratio = world
    model = LogisticRegression().fit(X, y)
    with pytest.raises(DataError, match="either a fitted ratio or sample_weight"):
        ImportanceWeightedScorer()(model, X, y)
    with pytest.raises(DataError, match="either a fitted ratio or sample_weight"):
        ImportanceWeightedScorer(ratio)(model, X, y, sample_weight=np.ones(len(X)))
    with pytest.raises(ModelError, match="loss is 'hinge'"):
        ImportanceWeightedScorer(ratio, loss="hinge")(model, X, y)
