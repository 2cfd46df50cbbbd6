import pytest

from firecv.experiments.kinds.federated_algorithms import algorithm
from firecv.experiments.kinds.federation import Federation
from firecv.experiments.study.federated_labeled import (
    COLUMNS,
    IMAGES,
    MAIN,
    OURS,
    WORLDS,
    natural_table,
    table,
)
from firecv.federated.algorithms import Fire
from firecv.federated.algorithms.weighed import Weighed


def test_the_column_of_fire_is_the_default_of_the_algorithm():
    ours, default = algorithm(COLUMNS[OURS], 12, 3, 64), Fire().plain
    assert isinstance(ours, Weighed) and isinstance(default, Weighed)
    assert (ours.base.label, ours.weighing.rule) == (default.base.label, "likelihood")
    for settings in (ours.weighing, default.weighing):
        assert settings.server_step and settings.every == 1
        assert settings.strength is None  # the rule's own
    assert not algorithm(COLUMNS["likelihood"], 12, 3, 64).weighing.server_step


def test_all_worlds_of_all_images_and_the_sizes_of_fashion_mnist():
    found = table("clean")
    assert len(found.rows) == len(WORLDS) * (len(IMAGES) + 3)
    assert found.columns == tuple(COLUMNS)
    assert {c.setting.model for c in found.cells} == {None, "cnn"}
    for cell in found.cells:
        is_main = cell.setting.n_validation == MAIN and cell.setting.model is None
        assert cell.n_seeds == (10 if is_main else 5)


def test_natural_federations_have_a_majority_and_enough_rows():
    found = natural_table("clean")
    assert found.columns == ("majority", *COLUMNS) and len(found.rows) == 18
    writers = [c for c in found.cells if isinstance(c.setting, Federation)]
    assert {c.setting.world for c in writers} == {"writers"} and len(writers) == 4 * len(COLUMNS)


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_say_what_they_see(name):
    expected = {"FedAvg": "none", "FedAWA": "none", "V pooled": "labelled"}
    assert COLUMNS[name].regime == expected.get(name, "labelled_summary")


def test_rows_as_trained_by_flamby_differ_in_training_alone():
    cells = {(c.row, c.column): c for c in natural_table("clean").cells}
    own = cells["heart, 50 labels", OURS].setting
    flamby = cells["heart as trained by FLamby, 50 labels", OURS].setting
    assert (flamby.n_rounds, flamby.batch_size, flamby.method.rate) == (15, 4, 0.001)
    assert flamby.method.momentum == 0.0 and flamby.method.server_step
    assert (own.dataset, own.n_validation) == (flamby.dataset, flamby.n_validation)
    majority = cells["heart as trained by FLamby, 50 labels", "majority"].setting
    assert majority == cells["heart, 50 labels", "majority"].setting
