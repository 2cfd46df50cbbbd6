import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from firecv.errors import DataError, ModelError
from firecv.estimators import FIREWeighted, FragmentWeigher, weighted
from tests.estimators.test_weigher import sites


@parametrize_with_checks([FIREWeighted(LogisticRegression())])
def test_estimator_keeps_the_rules(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        HistGradientBoostingClassifier(max_iter=10),
        RandomForestClassifier(n_estimators=10, random_state=0),
        make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), LogisticRegression())),
        RidgeClassifier(),
    ],
    ids=["linear", "boosting", "forest", "pipelines", "ridge"],
)
def test_it_is_the_classifier_trained_on_fragments_and_v_with_the_weights(estimator):
    data = sites()
    model = FIREWeighted(estimator, n_folds=0, random_state=0).fit(**data)
    weigher = FragmentWeigher(random_state=0).fit(**data)
    weights = np.append(weigher.sample_weight_, weigher.validation_sample_weight_)
    keyword = (
        "pipeline__logisticregression__sample_weight"
        if hasattr(estimator, "steps")
        else "sample_weight"
    )
    by_hand = clone(estimator).fit(
        np.concatenate([data["X"], data["X_val"]]),
        np.concatenate([data["y"], data["y_val"]]),
        **{keyword: weights},
    )
    np.testing.assert_array_equal(model.predict(data["X"]), by_hand.predict(data["X"]))
    assert hasattr(model, "predict_proba") == hasattr(estimator, "predict_proba")
    assert hasattr(model, "decision_function") == hasattr(estimator, "decision_function")
    assert model.weigher_.weights_ == weigher.weights_


def test_without_a_validation_set_it_is_the_classifier():
    data = sites()
    model = FIREWeighted(LogisticRegression()).fit(data["X"], data["y"])
    plain = LogisticRegression().fit(data["X"], data["y"])
    np.testing.assert_array_equal(model.predict_proba(data["X"]), plain.predict_proba(data["X"]))
    assert model.weigher_ is None


def test_without_fragments_only_v_is_weighed():
    data = sites()
    del data["fragments"]
    model = FIREWeighted(LogisticRegression(), random_state=0).fit(**data)
    assert list(model.weigher_.weights_) == [0]


def test_tables_with_text_and_missing_values_through_a_pipeline():
    data = sites()
    for name in ("X", "X_val"):
        frame = pd.DataFrame(data[name], columns=["a", "b", "c"])
        frame["town"] = np.where(frame.a > 0, "Ulm", "Bonn")
        frame.loc[::5, "b"] = np.nan
        data[name] = frame
    columns = make_column_transformer(
        (SimpleImputer(), make_column_selector(dtype_include=float)),
        (OneHotEncoder(), make_column_selector(dtype_exclude=float)),
    )
    inner = make_pipeline(columns, LogisticRegression())
    model = FIREWeighted(inner, random_state=0).fit(**data)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "town"]
    assert model.score(data["X_val"], data["y_val"]) > 0.95


def test_inside_a_pipeline_and_a_grid_search():
    data = sites()
    outer = make_pipeline(FIREWeighted(LogisticRegression(), random_state=0))
    outer.fit(
        data["X"],
        data["y"],
        **{f"fireweighted__{k}": data[k] for k in ("fragments", "X_val", "y_val")},
    )
    assert outer.score(data["X_val"], data["y_val"]) > 0.95
    grid = GridSearchCV(
        FIREWeighted(LogisticRegression(), random_state=0), {"estimator__C": [0.1, 1.0]}, cv=2
    )
    grid.fit(**data)
    assert grid.best_estimator_.weigher_.weights_["north"] < 0.05


def test_metadata_is_routed():
    data = sites()
    with sklearn.config_context(enable_metadata_routing=True):
        model = FIREWeighted(LogisticRegression(), random_state=0).set_fit_request(
            fragments=True, X_val=True, y_val=True
        )
        extra = {name: data[name] for name in ("fragments", "X_val", "y_val")}
        scores = cross_val_score(model, data["X"], data["y"], params=extra, cv=3)
        assert len(scores) == 3
        outer = make_pipeline(StandardScaler(), model)
        outer.fit(data["X"], data["y"], **extra)
        assert outer[-1].weigher_ is not None


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LinearRegression(), "LinearRegression; expected a scikit-learn classifier"),
        (KNeighborsClassifier(), "KNeighborsClassifier does not take sample_weight"),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), "does not take sample_weight"),
    ],
)
def test_estimators_that_cannot_be_weighted_are_refused(estimator, message):
    with pytest.raises(ModelError, match=message):
        FIREWeighted(estimator).fit(**sites())


@pytest.mark.parametrize("missing", ["X_val", "y_val"])
def test_half_a_validation_set_is_refused(missing):
    data = sites()
    del data[missing]
    with pytest.raises(DataError, match=f"without {missing}"):
        FIREWeighted(LogisticRegression()).fit(**data)


class Distrustful(LogisticRegression):
    """Learns nothing if rows differ in weight."""

    def fit(self, X, y, sample_weight=None):
        if sample_weight is not None and np.ptp(sample_weight) > 0:
            y, sample_weight = np.random.default_rng(0).permutation(y), None
        return super().fit(X, y, sample_weight)


def test_weights_that_do_not_serve_the_classifier_are_not_used():
    data = sites()
    model = FIREWeighted(Distrustful(), random_state=0).fit(**data)
    assert not model.weigher_.is_pooled_ and model.is_pooled_
    assert model.decision_.endswith("pooling is kept.")
    rows, labels = (np.concatenate([data[k], data[f"{k}_val"]]) for k in ("X", "y"))
    plain = LogisticRegression().fit(rows, labels)
    np.testing.assert_allclose(model.predict_proba(rows), plain.predict_proba(rows))
    trusting = FIREWeighted(Distrustful(), n_folds=0, random_state=0).fit(**data)
    assert not trusting.is_pooled_


def test_weights_that_serve_the_classifier_are_used():
    model = FIREWeighted(LogisticRegression(), random_state=0).fit(**sites())
    assert not model.is_pooled_ and model.decision_.endswith("they are kept.")


def test_losses_of_classes_never_seen_are_finite():
    model = LogisticRegression().fit([[0.0], [1.0]], ["b", "c"])
    losses = weighted._losses(model, [[0.0], [0.0], [0.0]], np.array(["a", "b", "d"]))
    np.testing.assert_allclose(losses[[0, 2]], -np.log(weighted.LEAST_CHANCE))
    assert losses[1] == pytest.approx(-np.log(model.predict_proba([[0.0]])[0, 0]))


@pytest.mark.parametrize("n_folds", [1, -1, 2.5, "x"])
def test_folds_that_make_no_sense_are_refused(n_folds):
    with pytest.raises(ModelError, match="n_folds is"):
        FIREWeighted(LogisticRegression(), n_folds=n_folds).fit(**sites())
