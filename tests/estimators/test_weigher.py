import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from firecv.errors import DataError, ModelError
from firecv.estimators import FragmentWeigher
from firecv.fire.weigh import crossfit


def sites(n=120, n_val=60, seed=0):
    """Three sites, of which the north's labels are upside down."""
    rng = np.random.default_rng(seed)
    X, X_val = rng.normal(size=(3 * n, 3)), rng.normal(size=(n_val, 3))
    y, y_val = (X[:, 0] > 0).astype(int), (X_val[:, 0] > 0).astype(int)
    names = np.repeat(["north", "center", "south"], n)
    y[names == "north"] = 1 - y[names == "north"]
    return {"X": X, "y": y, "fragments": names, "X_val": X_val, "y_val": y_val}


def fitted(data, **settings):
    return FragmentWeigher(random_state=0, **settings).fit(**data)


def test_weights_of_rows_are_those_of_their_fragments():
    data = sites()
    weigher = fitted(data)
    assert list(weigher.weights_) == ["north", "center", "south"]
    assert sum(weigher.weights_.values()) + weigher.validation_weight_ == pytest.approx(1)
    total = 360 + 60
    for name, weight in weigher.weights_.items():
        rows = weigher.sample_weight_[data["fragments"] == name]
        np.testing.assert_allclose(rows, weight / 120 * total)
    np.testing.assert_allclose(
        weigher.validation_sample_weight_, weigher.validation_weight_ / 60 * total
    )
    everything = [*weigher.sample_weight_, *weigher.validation_sample_weight_]
    assert np.mean(everything) == pytest.approx(1)


def test_the_table_of_influences():
    weigher = fitted(sites())
    table = weigher.influence_.set_index("fragment")
    assert list(table) == ["n", "weight", "influence", "low", "high", "verdict"]
    assert table.n.tolist() == [120, 120, 120]
    assert table.loc["north", "verdict"] == "hurts"
    assert (table.low < table.influence).all() and (table.influence < table.high).all()
    assert table.weight.to_dict() == pytest.approx(weigher.weights_)


def test_the_decision_says_which_way_it_went():
    assert fitted(sites()).decision_.startswith("Weights are used")
    data = sites(n_val=10)
    data["y"], data["y_val"] = np.arange(360) % 2, np.arange(10) % 2  # nothing to learn
    weigher = fitted(data)
    assert weigher.is_pooled_
    assert weigher.decision_.startswith("Pooling is kept")
    np.testing.assert_allclose(weigher.sample_weight_, 1)
    np.testing.assert_allclose(weigher.validation_sample_weight_, 1)


def test_text_and_missing_values_are_columns_too():
    data = sites()
    for name in ("X", "X_val"):
        frame = pd.DataFrame(data[name], columns=["a", "b", "c"])
        frame["town"] = np.where(frame.a > 0, "Ulm", "Bonn")
        frame.loc[::5, "b"] = np.nan
        frame["id"] = [f"row {i}" for i in range(len(frame))]
        frame["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(frame)), "D")
        data[name] = frame
    assert fitted(data).weights_["north"] < 0.01


def test_text_that_names_rows_is_left_out():
    data = sites(n=500)
    for name in ("X", "X_val"):
        frame = pd.DataFrame(data[name]).rename(columns=str)
        frame["id"] = [f"{name} {i}" for i in range(len(frame))]
        data[name] = frame
    assert fitted(data).weights_["north"] < 0.01


def test_sparse_rows_images_and_lists_give_the_same_weights():
    data = sites()
    plain = fitted(data).weights_
    csr = data | {name: sparse.csr_array(data[name]) for name in ("X", "X_val")}
    assert fitted(csr).weights_ == pytest.approx(plain)
    images = data | {name: data[name].reshape(-1, 1, 3) for name in ("X", "X_val")}
    assert fitted(images).weights_ == pytest.approx(plain)
    lists = {name: values.tolist() for name, values in data.items()}
    assert fitted(lists).weights_ == pytest.approx(plain)


def test_a_weight_of_zero_leaves_a_row_out():
    data = sites()
    kept = np.random.default_rng(0).random(360) < 0.7
    weigher = fitted(data | {"sample_weight": kept.astype(float)})
    assert not weigher.sample_weight_[~kept].any()
    assert weigher.weights_["north"] < 0.01


def test_rows_drawn_from_many_give_nearly_the_same_weights(monkeypatch):
    data = sites(n=1_000)
    everything = fitted(data)
    monkeypatch.setattr(crossfit, "MOST_ROWS", 900)
    some = fitted(data)
    for name in everything.weights_:
        assert some.weights_[name] == pytest.approx(everything.weights_[name], abs=0.1)
    assert some.sample_weight_.shape == (3_000,)


def test_labels_of_any_kind_and_classes_that_only_v_has():
    data = sites()
    words = {name: np.where(data[name] == 1, "ill", "well") for name in ("y", "y_val")}
    assert fitted(data | words).weights_ == pytest.approx(fitted(data).weights_)
    words["y_val"][:5] = "new"
    assert fitted(data | words).classes_.tolist() == ["ill", "new", "well"]


def test_the_same_seed_gives_the_same_weights_and_inputs_stay():
    data = sites()
    before = {name: values.copy() for name, values in data.items()}
    weigher = FragmentWeigher(random_state=3)
    assert clone(weigher).fit(**data).weights_ == weigher.fit(**data).weights_
    for name, values in before.items():
        np.testing.assert_array_equal(values, data[name])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fragments": ["a"]}, r"fragments has shape \(1,\), the samples are 360"),
        ({"fragments": [None] * 360}, "fragments has missing values"),
        ({"y": np.zeros(3)}, "X has 360 rows and its labels are 3"),
        ({"y_val": np.zeros(3)}, "X_val has 60 rows and its labels are 3"),
        ({"X_val": np.zeros((60, 2))}, r"X_val has the columns .* \(2\), X has .* \(3\)"),
        ({"X": np.zeros(360)}, r"X has shape \(360,\)"),
        ({"sample_weight": -np.ones(360)}, "not negative"),
        ({"sample_weight": np.repeat([0, 1, 1], 120)}, "'north' have weight zero"),
        ({"X_val": np.zeros((1, 3)), "y_val": [1]}, "1 labeled rows; expected at least 2"),
    ],
)
def test_bad_input_is_named(changes, message):
    with pytest.raises(DataError, match=message):
        fitted(sites() | changes)


@pytest.mark.parametrize("settings", [{"strength": -1}, {"n_components": 0}, {"strength": "a"}])
def test_bad_settings_are_named(settings):
    with pytest.raises(ModelError, match=f"{next(iter(settings))} is"):
        fitted(sites(), **settings)
