"""The tables of rotated images: what they declare, and one tiny cell of each column."""

import csv
from dataclasses import replace
from importlib.resources import files

import pytest

from firecv.experiments.paper.rotated import COLUMNS, ONLY_MLP, cnn_table, table
from firecv.experiments.spec import expand

TABLES = {"rotated": table, "rotated-cnn": cnn_table}


@pytest.mark.parametrize("protocol", ["clean", "paper"])
@pytest.mark.parametrize("name", TABLES)
def test_tables_expand(name, protocol):
    found = TABLES[name](protocol)
    assert (found.name, found.protocol) == (name, protocol)
    assert len(found.rows) == 12 and found.columns == tuple(COLUMNS)
    assert len(found.cells) == 132
    run = [cell for cell in found.cells if cell.setting is not None]
    assert len(run) == {"rotated": 132, "rotated-cnn": 24}[name]
    assert len(expand(found.cells)) == sum(cell.n_seeds for cell in run)
    assert all(cell.setting.protocol == protocol for cell in run)
    assert all(cell.regime == cell.setting.regime for cell in run)
    assert all(cell.why for cell in found.cells if cell.setting is None)
    assert found.rival in found.columns and set(found.tested) < set(found.columns)
    assert all(note.endswith(".") for note in found.notes)


def test_a_test_has_the_seeds_it_needs():
    seeds = {cell.row.split(" (")[0]: cell.n_seeds for cell in table("clean").cells}
    assert seeds == {"F-MNIST": 12, "K-MNIST": 12, "MNIST-C": 12, "MNIST, our corruptions": 5}


def test_networks_differ_between_the_tables():
    assert {cell.setting.network for cell in table("clean").cells} == {"mlp"}
    assert {c.setting.network for c in cnn_table("clean").cells if c.setting} == {"cnn"}


def test_nothing_is_chosen_by_cross_validation_with_the_dear_network():
    for cell in (cell for cell in cnn_table("clean").cells if cell.setting):
        assert cell.setting.strength is not None or cell.setting.method not in ("eiwerm", "l2")


def test_labels_are_those_of_the_published_numbers():
    text = (files("firecv.experiments") / "published" / "rotated.csv").read_text("utf-8")
    printed = {(row["row"], row["column"]) for row in csv.DictReader(text.splitlines())}
    ours = {(cell.row, cell.column) for cell in table("clean").cells}
    assert {place for place in printed if place[1] != "delta"} < ours


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("column", COLUMNS)
def test_a_tiny_cell_of_each_column_runs(name, column):
    (cell,) = (
        cell
        for cell in TABLES[name]("clean").cells
        if (cell.row, cell.column) == ("F-MNIST (2, 4)", column)
    )
    if cell.setting is None:
        assert column in ONLY_MLP and name == "rotated-cnn"
        return
    tiny = {"n_train": 60, "n_validation": 20, "n_test": 40, "n_epochs": 1}
    setting = replace(cell.setting, dataset="digits", network="mlp", **tiny)
    assert 0 <= setting.measure([0])[cell.metric][0] <= 1
