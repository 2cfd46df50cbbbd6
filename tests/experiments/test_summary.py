from dataclasses import replace

import numpy as np
import pytest

from firecv.errors import DataError, FileFormatError
from firecv.experiments import summary as module
from firecv.experiments.spec import Table
from firecv.experiments.summary import Published, published, summarise
from firecv.statistics import mean_interval, paired_wilcoxon
from tests.experiments.made_tables import drawn, invented, small_table

PRINTED = {("heart", "FIRE"): Published(78.1, 5.9, "Table 2", "")}


def summarised(**changes):
    return summarise(*small_table(**changes), PRINTED)


def test_a_full_cell_has_mean_spread_and_interval_in_percent():
    cell = summarised().places["heart", "ERM"]
    _, measured = small_table()
    values = 100 * np.array(next(iter(measured.values()))["accuracy"])
    assert (cell.n_held, cell.n_wanted, cell.n_diverged, cell.why) == (10, 10, 0, "")
    assert (cell.mean, cell.low, cell.high) == pytest.approx(mean_interval(values))
    assert cell.mean == pytest.approx(65) and cell.sd == pytest.approx(values.std(ddof=1))


def test_shares_stay_shares_in_a_table_that_is_not_in_percent():
    assert summarised(percent=False).places["heart", "ERM"].mean == pytest.approx(0.65)


def test_the_published_number_stands_beside_with_the_difference():
    found = summarised().places
    fire = found["heart", "FIRE"]
    assert fire.published.mean == 78.1 and fire.difference == pytest.approx(fire.mean - 78.1)
    assert found["heart", "ERM"].published is None and found["heart", "ERM"].difference is None


def test_cells_are_compared_with_the_rival_and_only_tested_ones_have_a_p_value():
    found = summarised().places
    fire, erm = found["heart", "FIRE"], found["heart", "ERM"]
    table, measured = small_table()
    ours, theirs = (measured[cell]["accuracy"] for cell in (table.cells[2], table.cells[1]))
    assert fire.p_value == paired_wilcoxon(ours, theirs).p_value == fire.p_holm and fire.differs
    assert fire.against.effect.points == pytest.approx(fire.mean - found["heart", "One-step"].mean)
    assert erm.against.effect.points == pytest.approx(-9) and erm.p_value is None
    assert not erm.differs and found["heart", "One-step"].against is None


def test_p_values_are_corrected_for_the_tested_cells_of_the_table():
    found = summarised(tested=("FIRE", "Pooled", "ERM")).places
    p = [found["heart", column].p_value for column in ("ERM", "FIRE", "Pooled")]
    assert all(each is not None for each in p)
    assert max(found["heart", c].p_holm for c in ("FIRE", "Pooled")) == pytest.approx(3 * min(p))


def test_diverged_seeds_are_counted_and_the_mean_is_over_the_others():
    cell = summarised().places["sonar_1", "ERM"]
    assert (cell.n_held, cell.n_wanted, cell.n_diverged) == (3, 10, 1)
    assert cell.mean == pytest.approx(65)


@pytest.mark.parametrize(
    ("column", "why"),
    [
        ("One-step", "sonar_1 is not at hand"),
        ("FIRE", "not run yet"),
        ("Pooled", "has no labels & no 100 % share"),
    ],
)
def test_blank_cells_say_why(column, why):
    cell = summarised().places["sonar_1", column]
    assert cell.why == why and cell.n_held == 0 and np.isnan(cell.mean)


def test_a_cell_whose_metric_was_not_measured_says_so():
    cell = invented("heart", "ERM")
    table = Table("t", "T", "clean", (cell,))
    (found,) = summarise(table, {cell: {"seed": [0], "auc": [0.5]}}).cells
    assert found.why == "its runs hold no 'accuracy', only auc"


def test_winners_of_their_own_regime_are_known_by_their_place():
    found = summarised()
    assert set(found.best) == {("heart", "FIRE"), ("heart", "Pooled")}
    assert found.best["heart", "FIRE"].runner_up == "One-step"
    assert found.best["heart", "FIRE"].beyond_noise is True


def test_a_thousand_cells_are_summarised_in_seconds():
    cells = [invented(f"row {i}", column) for i in range(250) for column in "abcd"]
    table = Table("t", "T", "clean", tuple(cells), rival="a", tested=("b", "c", "d"))
    measured = {cell: drawn(0.7, 0.1, 20, seed=i) for i, cell in enumerate(cells)}
    assert len(summarise(table, measured).winners) == 250


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "published").mkdir()
    monkeypatch.setattr(module, "files", lambda package: tmp_path)
    return tmp_path / "published"


def test_published_numbers_are_read_with_their_gaps(folder):
    (folder / "t.csv").write_text(
        "row,column,mean,sd,source,note\nheart,FIRE,78.1,5.90,Table 2,\n"
        '"a, b",ERM,.700,,T,"70,0?"\n'
    )
    found = published("t")
    assert found["heart", "FIRE"] == Published(78.1, 5.9, "Table 2", "")
    odd = found["a, b", "ERM"]
    assert odd.mean == 0.7 and np.isnan(odd.sd) and odd.note == "70,0?"


def test_a_table_reads_the_numbers_it_names(folder):
    (folder / "t.csv").write_text("row,column,mean,sd,source,note\nheart,ERM,65.3,9.91,,\n")
    found = summarise(*small_table(published="t"))
    assert found.places["heart", "ERM"].difference == pytest.approx(-0.3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("row,column,mean\n", "must start with"),
        ("row,column,mean,sd,source,note\na,b,many,,,\n", "line 2 of t.csv"),
        ("row,column,mean,sd,source,note\na,b,1\n", "line 2 of t.csv"),
        ("row,column,mean,sd,source,note\na,b,1,,,\na,b,2,,,\n", "twice"),
    ],
    ids=["header", "number", "short", "twice"],
)
def test_a_malformed_file_says_where(folder, text, words):
    (folder / "t.csv").write_text(text)
    with pytest.raises(FileFormatError, match=words):
        published("t")


def test_an_unknown_name_lists_those_there_are(folder):
    (folder / "known.csv").write_text("")
    with pytest.raises(DataError, match="there are known"):
        published("unknown")


def test_what_a_run_took_is_compared_but_not_tested():
    table, measured = small_table()
    sent = {cell: replace(cell, row="communication", metric="bytes") for cell in measured}
    both = replace(table, cells=(*table.cells, *sent.values()))
    held = {
        **{cell: {**columns, "bytes": columns["accuracy"]} for cell, columns in measured.items()},
        **{sent[c]: {**columns, "bytes": columns["accuracy"]} for c, columns in measured.items()},
    }
    found = summarise(both, held, PRINTED).places
    assert found["communication", "FIRE"].against is not None
    assert found["communication", "FIRE"].p_value is None
    assert found["heart", "FIRE"].p_holm == found["heart", "FIRE"].p_value
