import pytest

from firecv.errors import DataError
from firecv.experiments import catalogue
from firecv.experiments.figures import FIGURES, figure
from firecv.experiments.kinds import KINDS
from firecv.experiments.render import FORMATS
from firecv.experiments.spec import expand
from firecv.experiments.summary import published, summarise


@pytest.mark.parametrize("protocol", catalogue.PROTOCOLS)
@pytest.mark.parametrize("name", catalogue.TABLES)
def test_every_table_expands_and_renders_empty(name, protocol):
    table = catalogue.table(name, protocol)
    assert (table.name, table.protocol) == (name, protocol)
    assert expand(table.cells)
    places = [(cell.row, cell.column) for cell in table.cells]
    assert len(places) == len(set(places))
    assert {table.rival, *table.tested} - {""} <= set(table.columns)
    assert all(note.endswith(".") for note in table.notes)
    for write in FORMATS.values():
        assert table.rows[0].split(" (")[0] in write(summarise(table, {}))


@pytest.mark.parametrize("name", catalogue.TABLES)
def test_a_cell_that_is_tested_can_differ(name):
    # Wilcoxon's p over n seeds is at least 2^(1 - n), and Holm's first step multiplies it.
    table = catalogue.table(name)
    tested = [c.n_seeds for c in table.cells if c.column in table.tested and c.setting is not None]
    tested = [n for n in tested if n >= 10]  # fewer are not tested
    if table.pairing == "seeds" and tested:
        assert len(tested) * 2.0 ** (1 - min(tested)) < 0.05


@pytest.mark.parametrize("protocol", catalogue.PROTOCOLS)
@pytest.mark.parametrize("name", catalogue.TABLES)
def test_every_setting_names_what_there_is(name, protocol):
    settings = {cell.setting for cell in catalogue.table(name, protocol).cells} - {None}
    for setting in settings:
        assert KINDS[setting.kind] is type(setting)
        setting.check()


@pytest.mark.parametrize("name", catalogue.TABLES)
def test_published_numbers_stand_in_cells_that_there_are(name):
    table = catalogue.table(name)
    if not table.published:
        return
    printed = {place for place in published(table.published) if not place[1].startswith("delta")}
    cells = {(cell.row, cell.column) for cell in table.cells}
    assert printed <= cells


def test_an_unknown_name_says_what_there_is():
    with pytest.raises(DataError, match="no table 'tabel'; choose from rotated"):
        catalogue.table("tabel")
    with pytest.raises(DataError, match="no figure 'x'; choose from delta-folds"):
        figure("x")


@pytest.mark.parametrize("name", FIGURES)
def test_figures_say_what_they_lack(name):
    found = figure(name)
    empty = {each: summarise(catalogue.table(each), {}) for each in found.tables}
    with pytest.raises(DataError, match="is stored; run `firecv table"):
        found.draw(empty)
