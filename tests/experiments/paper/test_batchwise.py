"""The two tables of batches: what they declare, and a tiny cell of each."""

import csv
from dataclasses import replace
from importlib.resources import files

import pytest

from firecv.experiments.paper.batchwise import METRICS, fire_table, stcv_table
from firecv.experiments.spec import expand

TABLES = {"batches-stcv": stcv_table, "batches-fire": fire_table}


@pytest.mark.parametrize("protocol", ["clean", "paper"])
@pytest.mark.parametrize("name", TABLES)
def test_tables_expand(name, protocol):
    found = TABLES[name](protocol)
    assert (found.name, found.protocol, found.published) == (name, protocol, name)
    assert len(found.rows) == 27
    assert found.columns == tuple(c for c in METRICS if c != "B3" or name == "batches-fire")
    # Columns of a row share their run, and rows of a data set that of the whole training set.
    runs = expand(found.cells)
    assert len(runs) == 8 * 4 * found.cells[0].n_seeds
    for cell in found.cells:
        assert (cell.setting is None) == bool(cell.why)
        assert cell.setting is None or cell.setting.protocol == protocol
    assert all(note.endswith(".") for note in found.notes)


def test_both_tables_are_expected_to_take_about_an_hour_together():
    settings = {
        run.setting
        for declared in TABLES.values()
        for run in expand(declared("clean").cells)
        if run.setting.dataset in ("mnist", "cifar10_20k", "cifar10_20k_corrupted", "fashion_mnist")
    }
    assert 1200 < 5 * sum(setting.cost for setting in settings) < 2 * 3600


@pytest.mark.parametrize("name", TABLES)
def test_labels_are_those_of_the_published_numbers(name):
    text = (files("firecv.experiments") / "published" / f"{name}.csv").read_text("utf-8")
    printed = {(row["row"], row["column"]) for row in csv.DictReader(text.splitlines())}
    ours = {(cell.row, cell.column) for cell in TABLES[name]("clean").cells}
    assert {place for place in printed if place[1] != "delta"} < ours


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("row", ["MNIST, 20 batches", "P-MNIST, 10 batches", "F-MNIST, 2 batches"])
def test_every_cell_of_a_row_finds_its_number(name, row):
    measured = {}
    for cell in TABLES[name]("clean").cells:
        if cell.row != row or cell.setting is None:
            continue
        n = {"n_train": 400 if cell.setting.n_batches > 2 else 100, "n_epochs": 1}
        setting = replace(cell.setting, dataset="digits", network="mlp", **n)
        if setting not in measured:
            measured[setting] = setting.measure([0])
        assert 0 <= measured[setting][cell.metric][0] <= 1
    assert len(measured) == 2
