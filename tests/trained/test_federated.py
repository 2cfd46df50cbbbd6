"""What clients learned as a model that is kept."""

import numpy as np
import pandas as pd
import pytest

from firecv.errors import DataError
from firecv.federated.outputs import scores_at
from firecv.federated.simulation import Simulation, build, simulate
from firecv.trained import load_trained
from firecv.trained.federated import of_clients


@pytest.fixture
def asked(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(160, 2)), columns=["a", "b"])
    frame["town"] = rng.choice(["Ulm", "Bonn", "Kiel"], 160)
    frame["site"], frame["ill"] = np.repeat(["A", "B"], 80), np.where(frame["a"] > 0, "yes", "no")
    frame.to_csv(tmp_path / "own.csv", index=False)
    file = str(tmp_path / "own.csv")
    return Simulation(file, target="ill", fragment="site", algorithm="fire", n_rounds=2, n_epochs=1)


def test_it_predicts_what_the_servers_model_does_and_survives_a_folder(asked, tmp_path):
    found = simulate(asked, baseline=False)
    model = of_clients(found)
    frame = pd.read_csv(asked.data)
    model.save(tmp_path / "model")
    again = load_trained(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    built = build(asked)
    x, y = built.sets["test"]
    right = scores_at(built.plan.task, found.history.weights, x).argmax(1) == y
    proba = model.estimator.predict_proba(x.numpy())
    assert (proba.argmax(1) == y.numpy()).mean() == pytest.approx(float(right.double().mean()))
    assert again.facts == model.facts and again.facts.classes == ("no", "yes")
    assert sum(again.fragment_weights.values()) == pytest.approx(1)
    assert again.is_optimistic and "federated fire" in str(again)


def test_a_data_set_of_the_catalogue_has_no_table_to_predict_from():
    found = simulate(Simulation("digits", fragments="iid:n=2", n_rounds=1, n_epochs=1))
    with pytest.raises(DataError, match="named as target"):
        of_clients(found)
