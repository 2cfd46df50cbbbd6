"""Simulations described in words and numbers."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from firecv.errors import DataError, FirecvError
from firecv.federated.algorithms import ALGORITHMS, Fire
from firecv.federated.history import Record
from firecv.federated.simulation import Simulation, algorithm_of, build, simulate
from firecv.training import Training
from tests.federated.small import same


def test_settings_have_the_types_of_fields():
    found = algorithm_of(
        "fire",
        ["form=quadratic", "strength=2", "every=3", "local.rate=0.5", "accumulation.mix=0.25"],
        n_epochs=7,
    )
    assert isinstance(found, Fire)
    assert (found.form, found.strength, found.every) == ("quadratic", 2.0, 3)
    assert found.local == Training(7, 64, 0.5, "sgd", momentum=0.9, decay=1e-5)
    assert found.accumulation.mix == 0.25


def test_settings_of_settings_keep_the_algorithms_defaults():
    assert algorithm_of("scaffold", ["local.rate=0.5"]).local.momentum == 0
    assert algorithm_of("fedavg", ["local.rate=0.5"]).local.momentum == 0.9
    assert algorithm_of("fedavg", ["local.n_epochs=3"], n_epochs=1).local.n_epochs == 3


def test_algorithms_that_count_rounds_may_be_told_how_many():
    assert algorithm_of("fedfishr").n_rounds is None
    assert algorithm_of("fedfishr", ["n_rounds=12"]).n_rounds == 12


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_can_be_named(name):
    assert type(algorithm_of(name, n_epochs=1)) is ALGORITHMS[name]


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("fedavgg", [], "did you mean 'fedavg'"),
        ("fedprox", ["strength"], "write key=value"),
        ("fedprox", ["strength=much"], "is a number; got 'much'"),
        ("fedprox", ["locl.rate=1"], "did you mean 'local'"),
        ("fedprox", ["local.rat=1"], "did you mean 'rate'"),
        ("fedprox", ["strength.x=1"], "plain setting"),
        ("fire", ["form=nice"], "is one of"),
        ("scaffold", ["local.momentum=0.9"], "momentum=0"),
        ("fedavg", ["local.rate=-1"], "rate is -1.0; expected"),
    ],
)
def test_mistakes_in_settings_are_named(name, settings, words):
    with pytest.raises(FirecvError, match=words):
        algorithm_of(name, settings)


def test_v_is_seen_as_asked():
    for labels, regime in (("none", "unlabelled"), ("server", "labelled"), ("shared", "labelled")):
        for algorithm in ("fedavg", "fire"):
            asked = Simulation("digits", fragments="iid:n=3", labels=labels, algorithm=algorithm)
            built = build(asked)
            assert built.plan.holder.regime == regime
            seen = "labelled" if (labels, algorithm) == ("shared", "fire") else "none"
            assert all(client.validation.regime == seen for client in built.clients)


def test_fedavg_beside_it_has_the_same_local_training():
    settings = ["local.rate=0.05"]
    asked = Simulation("digits", None, fragments="iid:n=3", algorithm="fedprox", n_rounds=2)
    found = simulate(replace(asked, settings=settings))
    plain = simulate(replace(asked, algorithm="fedavg", settings=settings))
    assert found.baseline.scores == plain.scores and plain.baseline is None
    assert simulate(replace(asked, settings=settings), baseline=False).baseline is None
    assert found.gains["test"] == found.scores["test"].accuracy - plain.scores["test"].accuracy
    assert found.changed == (
        "Against FedAvg: weights as FedAvg's (n/N); clients train as FedProx says; no server step."
    )


def test_the_baseline_goes_on_from_its_own_checkpoint(tmp_path):
    asked = Simulation("digits", fragments="iid:n=3", algorithm="fire", n_rounds=3, n_epochs=1)
    simulate(replace(asked, n_rounds=1), checkpoint=tmp_path / "run")
    found = simulate(asked, checkpoint=tmp_path / "run")
    whole = simulate(asked)
    assert found.scores == whole.scores and found.baseline.scores == whole.baseline.scores
    assert (tmp_path / "run" / "fedavg" / "records.jsonl").is_file()


def test_v_is_given_to_clients_if_it_is_shared():
    settings = ["form=trace", "validation=shared"]
    built = build(Simulation("digits", fragments="iid:n=3", algorithm="fire", settings=settings))
    assert all(client.validation is built.plan.holder for client in built.clients)


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    frame["site"] = np.repeat(["north", "south", "west"], 100)
    frame["ill"] = np.where(x[:, 0] > 0, "yes", "no")
    frame.to_csv(tmp_path / "patients.csv", index=False)
    return str(tmp_path / "patients.csv")


def test_a_file_is_cut_by_its_column(file):
    found = simulate(Simulation(file, target="ill", fragment="site", n_rounds=4, n_epochs=3))
    assert found.names == ("north", "south", "west")
    assert found.scores["test"].accuracy > 0.8


def test_a_file_without_a_column_is_dealt_out(file):
    built = build(Simulation(file, target="ill", fragments="quantity:n=4"))
    # The column that names sites is an input like any other then.
    assert len(built.clients) == 4 and built.clients[0].data[0].shape[1] == 6


@pytest.fixture
def aim(tmp_path):
    """Return a file of the law aimed at: other inputs, no site, more of one class."""
    rng = np.random.default_rng(1)
    x = rng.normal(0.5, size=(90, 3))
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    frame["ill"] = np.where(x[:, 0] > 0, "yes", "no")
    frame.to_csv(tmp_path / "aim.csv", index=False)
    return str(tmp_path / "aim.csv")


def test_v_and_t_are_the_halves_of_a_validation_file(file, aim):
    built = build(Simulation(file, target="ill", fragment="site", validation=aim))
    assert sum(len(client) + len(client.test[1]) for client in built.clients) == 300
    (x_v, y_v), (x_t, y_t) = built.sets["validation"], built.sets["test"]
    assert len(y_v) == len(y_t) == 45 and abs(int(y_v.sum() - y_t.sum())) <= 1
    # Every row once, encoded by what clients hold.
    frame, train = pd.read_csv(aim), pd.read_csv(file)
    wanted = ((frame["a"] - train["a"].mean()) / train["a"].std(ddof=0)).sort_values()
    found = np.sort(np.concatenate([x_v[:, 0], x_t[:, 0]]))
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_halves_are_drawn_by_the_seed(file, aim):
    def v(seed):
        asked = Simulation(file, target="ill", fragment="site", validation=aim, seed=seed)
        return build(asked).sets["validation"][0].tolist()

    assert v(0) == v(0) != v(1)


def test_clients_may_be_windows_of_time(file):
    frame = pd.read_csv(file).drop(columns="site").assign(week=np.arange(300) / 100)
    frame.to_csv(file, index=False)
    built = build(Simulation(file, target="ill", time="week", window=1.0))
    assert built.names == ("0", "1", "2")
    assert built.clients[0].data[0].shape[1] == 3


def test_what_came_of_it_is_plain_json(file, aim):
    asked = Simulation(
        file,
        target="ill",
        fragment="site",
        validation=aim,
        algorithm="fire",
        n_rounds=2,
        n_epochs=1,
    )
    found = simulate(asked)
    plain = json.loads(json.dumps(found.plain(), allow_nan=False))
    assert (plain["kind"], plain["version"], plain["algorithm"]) == ("federation", 1, "FIRE")
    assert plain["data"]["fragments"] == {"north": 100, "south": 100, "west": 100}
    assert (plain["data"]["n_validation"], plain["data"]["n_test"]) == (45, 45)
    assert "halves of" in plain["data"]["aim"] and "45 and 45 rows" in plain["data"]["aim"]
    assert plain["settings"]["validation"] == aim
    for record, kept in zip(plain["records"], found.history.records, strict=True):
        assert len(record["weights"]) == 3 and sum(record["weights"]) == pytest.approx(1)
        assert tuple(record["weights"]) == kept.weights


def test_numbers_that_json_has_not_are_null(file):
    found = simulate(Simulation(file, target="ill", fragment="site", n_rounds=1, n_epochs=1))
    bad = Record(1, scores={"test_accuracy": float("nan")}, p_value=float("inf"))
    history = replace(found.history, records=[bad])
    (record,) = found._replace(history=history).plain()["records"]
    assert record["scores"] == {"test_accuracy": None} and record["p_value"] is None


@pytest.mark.parametrize("option", ["time", "window", "validation", "drop", "categorical"])
def test_what_is_for_files_is_refused_for_a_data_set(option):
    with pytest.raises(DataError, match=f"{option} is for a file with a target"):
        build(Simulation("digits", **{option: "x"}))


def test_a_validation_file_needs_labels(file, aim):
    pd.read_csv(aim).drop(columns="ill").to_csv(aim, index=False)
    with pytest.raises(DataError, match="no column 'ill' to be the target"):
        build(Simulation(file, target="ill", fragment="site", validation=aim))


def test_a_file_needs_a_target(file):
    with pytest.raises(DataError, match="name its column to predict"):
        build(Simulation(file))


def test_the_same_simulation_gives_the_same_result(tmp_path):
    simulation = Simulation("digits", fragments="iid:n=4", n_rounds=3, n_epochs=1)
    one, other = simulate(simulation), simulate(simulation, checkpoint=tmp_path)
    again = simulate(simulation, checkpoint=tmp_path)
    assert same(one.history.weights, other.history.weights)
    assert same(one.history.weights, again.history.weights) and one.scores == again.scores


def test_flower_is_given_the_same_plan_clients_and_sets(monkeypatch, tmp_path):
    from firecv.federated import flower
    from firecv.federated.flower.job import plan_of
    from firecv.federated.flower.problem import load_problem
    from firecv.federated.run import run

    def in_this_process(job, n_clients, *, n_processes):
        problem = load_problem(job.problem)
        some = [problem.load_client(k, n_clients, job.settings) for k in range(n_clients)]
        return run(plan_of(job, problem), some, job.n_rounds, progress=False)

    monkeypatch.setattr(flower, "simulate", in_this_process)
    simulation = Simulation("digits", fragments="iid:n=3", n_rounds=2, n_epochs=1)
    found, wanted = simulate(simulation, engine="flower"), simulate(simulation)
    assert same(found.history.weights, wanted.history.weights) and found.scores == wanted.scores
