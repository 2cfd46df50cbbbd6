import numpy as np
import pytest

from firecv.experiments.render.layout import lay_out
from firecv.experiments.spec import Table
from firecv.experiments.summary import Published, summarise
from tests.experiments.made_tables import drawn, invented, small_table

PRINTED = {
    ("heart", "FIRE"): Published(78.1, 5.91, "Table 2", ""),
    ("sonar_1", "FIRE"): Published(70.4, float("nan"), "Table 2", "bold"),
}


def laid_out(**changes):
    return lay_out(summarise(*small_table(**changes), PRINTED))


def shown(layout, row, column):
    return dict(layout.rows)[row][layout.columns.index(column)]


def one_cell(columns, printed=None, n_seeds=3, **changes):
    cell = invented("row", "column", n_seeds=n_seeds)
    table = Table("t", "T", "clean", (cell,), **changes)
    found = {} if printed is None else {("row", "column"): Published(printed, float("nan"), "", "")}
    return shown(lay_out(summarise(table, {cell: columns}, found)), "row", "column")


def test_a_cell_shows_mean_spread_seeds_the_paper_and_the_effect():
    fire = shown(laid_out(), "heart", "FIRE")
    assert fire.ours == "78.5 ± 3.3 (10)" and fire.paper == "paper 78.1 ± 5.9 (+0.4)"
    assert fire.effect == "Δ +4.5 (+6.0 %)" and fire.marks == "*†" and fire.is_best
    assert fire.detail.startswith("95 % interval 76.1 to 80.8; p = 0.002")


def test_only_tested_columns_show_an_effect():
    assert shown(laid_out(), "heart", "ERM").effect == ""


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([0.6, 0.7, 0.8], "70.0 ± 10.0 (3)"),
        ([0.6, 0.61], "60.5 ± 0.71 (2/3)"),
        ([0.6], "60.0 (1/3)"),
        ([0.6, np.nan, 0.62], "61.0 ± 1.4 (3, 1 diverged)"),
        ([np.nan, np.nan], "diverged (2/3)"),
    ],
    ids=["full", "two", "one", "one diverged", "all diverged"],
)
def test_seeds_that_lack_and_seeds_that_diverged_are_said(values, words):
    assert one_cell({"seed": list(range(len(values))), "accuracy": values}).ours == words


def test_a_negative_difference_has_a_true_minus():
    cell = one_cell({"seed": [0], "accuracy": [0.6]}, printed=61.5)
    assert cell.paper == "paper 61.5 (−1.5)"


def test_numbers_that_are_no_shares_keep_four_digits():
    values = {"seed": [0, 1, 2], "accuracy": [1234.5, 1234.9, 1234.7]}
    assert one_cell(values, percent=False).ours == "1235 ± 0.2 (3)"


def test_blank_cells_point_to_a_reason_and_still_show_the_paper():
    layout = laid_out()
    fire = shown(layout, "sonar_1", "FIRE")
    assert fire.ours == "" and fire.paper == "paper 70.4"
    reasons = [layout.footnotes[number - 1] for number in fire.notes]
    assert reasons == ["not run yet", "in the paper: bold"]


def test_a_reason_that_many_cells_share_stands_once():
    cells = [invented(f"row {i}", "ERM") for i in range(5)]
    layout = lay_out(summarise(Table("t", "T", "clean", tuple(cells)), {}))
    assert layout.footnotes == ("not run yet",)
    assert {cells[0].notes for _, cells in layout.rows} == {(1,)}


def test_a_place_without_a_cell_is_blank():
    cells = (invented("a", "x"), invented("b", "y"))
    layout = lay_out(summarise(Table("t", "T", "clean", cells), {cells[0]: drawn(0.5, 0.1)}))
    assert shown(layout, "a", "y").ours == "" and shown(layout, "a", "y").notes == ()


def test_columns_name_their_regimes():
    assert laid_out().regimes == ("none", "unlabelled", "unlabelled", "labelled")
    mixed = (invented("a", "x", "labelled_summary"), invented("b", "x"))
    table = Table("t", "T", "clean", mixed)
    assert lay_out(summarise(table, {})).regimes == ("labelled summary / none",)


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        ("paper", "The score is optimistic: the scored set is the validation set."),
        ("clean", "The score comes from a test set that no method has seen."),
    ],
)
def test_sentences_name_protocol_notes_tests_and_divergence(protocol, words):
    sentences = laid_out(protocol=protocol).sentences
    assert words in sentences and "Invented <numbers>." in sentences
    assert "1 run has diverged; means are over the others." in sentences
    assert any("Wilcoxon" in each and "Holm" in each for each in sentences)
    assert any("corrected resampled t" in each for each in laid_out(pairing="folds").sentences)


def test_a_table_without_rival_says_nothing_of_tests_and_winners():
    layout = laid_out(rival="", tested=())
    assert not any("Δ" in each or "Bold" in each for each in layout.sentences)
    assert not any(cell.is_best or cell.marks for _, cells in layout.rows for cell in cells)
