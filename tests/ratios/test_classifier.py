import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from firecv.errors import ModelError
from firecv.ratios.classifier import ClassifierRatio
from firecv.seeding import derive


def samples(n, m, mean, seed=0):
    rng = derive(seed, "classifier")
    return rng.normal(size=(n, len(mean))), rng.normal(size=(m, len(mean))) + mean


@pytest.mark.parametrize(("n", "m"), [(4000, 4000), (8000, 1000), (1000, 8000)])
def test_logistic_regression_recovers_the_log_ratio_of_normal_laws(n, m):
    mean = np.array([1.0, -0.5])
    train, target = samples(n, m, mean)
    w = ClassifierRatio(cross_fit=0).fit(train, target).weights(train)
    truth = train @ mean - mean @ mean / 2
    assert np.sqrt(np.mean((np.log(w) - truth) ** 2)) < 0.15
    assert w.mean() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(("n", "m"), [(500, 500), (900, 100), (100, 900)])
def test_weighted_training_rows_move_to_the_target(n, m):
    train, target = samples(n, m, np.array([0.8]))
    w = ClassifierRatio().fit(train, target).weights(train)
    moved = np.average(train[:, 0], weights=w)
    assert moved == pytest.approx(target.mean(), abs=0.25)


def test_rows_out_of_a_fold_are_weighed_by_the_other_folds():
    train, target = samples(60, 40, np.array([1.0, 0.0]))
    found = ClassifierRatio(cross_fit=3, random_state=4).fit(train, target)
    seed = int(derive(4, "ratios", "folds").integers(2**32))
    rows, label = np.r_[train, target], np.r_[np.zeros(60), np.ones(40)]
    expected = np.empty(100)
    for kept, held in StratifiedKFold(3, shuffle=True, random_state=seed).split(rows, label):
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows[kept], label[kept])
        odds = np.exp(model.decision_function(rows[held]))
        expected[held] = odds * (label[kept] == 0).sum() / label[kept].sum()
    np.testing.assert_allclose(found.out_of_fold_weights_, expected[:60], rtol=1e-3)


def test_a_forest_is_fair_to_rows_out_of_its_folds_only():
    train, target = samples(400, 400, np.array([0.3, 0.0]))
    forest = RandomForestClassifier(30, min_samples_leaf=2, random_state=0)
    found = ClassifierRatio(forest).fit(train, target)
    by_heart = np.log(found.weights(train)).mean()
    fair = np.log(found.out_of_fold_weights_).mean()
    assert by_heart < fair < 0.5  # the truth is -0.045


def test_without_folds_there_are_no_weights_out_of_them():
    found = ClassifierRatio(cross_fit=0).fit(*samples(20, 20, np.array([1.0])))
    assert found.out_of_fold_weights_ is None


def test_folds_are_no_more_than_rows():
    found = ClassifierRatio(cross_fit=10).fit(*samples(20, 3, np.array([1.0])))
    assert np.isfinite(found.out_of_fold_weights_).all()


def test_probabilities_are_kept_from_zero_and_one():
    train, target = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[1e3], [1e3 + 1]])
    found = ClassifierRatio(LogisticRegression(C=1e6), clip=0.01, cross_fit=0).fit(train, target)
    assert found.weights([[0.0], [1e3]]) == pytest.approx([2 * 0.01 / 0.99, 2 * 0.99 / 0.01])


def test_a_given_classifier_is_left_as_it_was():
    model = LogisticRegression()
    ClassifierRatio(model).fit(*samples(30, 30, np.array([1.0])))
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"classifier": LinearSVC()}, "LinearSVC without predict_proba"),
        ({"classifier": LogisticRegression(class_weight="balanced")}, "class_weight='balanced'"),
        (
            {"classifier": make_pipeline(LogisticRegression(class_weight={0: 1, 1: 9}))},
            "logisticregression__class_weight",
        ),
        ({"clip": 0.0}, "clip is 0.0"),
        ({"clip": 0.5}, "clip is 0.5"),
        ({"cross_fit": -1}, "cross_fit is -1"),
        ({"cross_fit": 1}, "cross_fit is 1"),
    ],
    ids=["no probabilities", "balanced", "in a pipeline", "no clip", "half", "folds", "one fold"],
)
def test_settings_that_would_mislead_are_refused(settings, words):
    with pytest.raises(ModelError, match=words):
        ClassifierRatio(**settings).fit(*samples(20, 20, np.array([1.0])))
