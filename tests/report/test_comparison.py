import json

import pytest

from firecv.report.comparison import comparison_section, conclusions, remarks
from firecv.report.fields import Fields
from firecv.report.tables import Ids
from tests.report.samples import METHODS, comparison
from tests.report.structure import parsed, table


def made(part=None, **changes):
    return comparison_section(Fields("comparison.json", (part or comparison()) | changes), Ids())


def drawn(page, at):
    return json.loads(parsed(page).all("script")[at].text)


def values(page, at):
    (rows,) = drawn(page, at)["datasets"].values()
    return rows


def test_winners_are_named_by_regime_and_remarks_follow_once():
    text = parsed(made()).text
    assert "labelled: Among methods that see its labels, Pooled is best." in text
    assert text.count("Pooled is best") == 1 and text.count("share rows") == 1


def test_conclusions_and_remarks_are_told_apart():
    part = Fields("", comparison())
    assert len(conclusions(part)) == 1 and remarks(part) == [
        "Halves of different seeds share rows."
    ]


def test_methods_are_drawn_by_regime_in_percent():
    rows = values(made(), 0)
    assert [row["method"] for row in rows] == ["ERM", "FIRE", "RIWERM", "Pooled"]
    assert rows[1]["mean"] == pytest.approx(78) and rows[1]["low"] == pytest.approx(76)


def test_differences_leave_out_the_baseline():
    rows = values(made(), 1)
    assert [row["method"] for row in rows] == ["FIRE", "RIWERM", "Pooled"]
    assert rows[0]["mean"] == pytest.approx(4)
    assert "2 of 3 intervals leave out 0" in made()


def test_a_baseline_with_zero_difference_is_left_out_as_well():
    part = comparison()
    zero = dict.fromkeys(("difference", "difference_low", "difference_high"), 0.0)
    part["summary"][0] |= zero
    assert [row["method"] for row in values(made(part), 1)] == ["FIRE", "RIWERM", "Pooled"]


def test_the_table_has_intervals_and_says_that_there_is_no_test():
    rows = table(made(), "Methods by regime, the best of each first (without a test")
    assert rows[2] == [
        "FIRE",
        "78.0 (76.0 to 80.0)",
        "+4.0 (+2.0 to +6.0)",
        "–",
        "–",
        "summary",
        "3",
    ]


def test_tests_are_shown_where_there_are_any():
    part = comparison(n_seeds=10)
    part["summary"][1] |= {"p_value": 0.012, "adjusted_p_value": 0.036}
    page = made(part)
    assert "without a test" not in page
    assert table(page, "Methods by regime")[2][3:5] == ["0.012", "0.036"]


def test_less_is_better_for_a_loss():
    page = made(metric="log_loss")
    assert "less is better" in page and "to the left of the dashed line is better" in page
    assert "percent" not in table(page, "Methods by regime")[0][1]


def test_all_scores_are_means_over_seeds():
    head, first, *_ = table(made(), "Means over seeds")
    assert head[1:-2] == [
        "Accuracy",
        "Balanced accuracy",
        "AUC",
        "Log loss",
        "Calibration error",
    ]
    assert [cell.replace("\u00a0", " ") for cell in first[1:]] == [
        "74.0 %",
        "73.0 %",
        "0.790",
        "0.500",
        "0.050",
        "none",
        "3",
    ]


def test_a_method_that_always_failed_is_in_the_table_and_not_in_the_charts():
    part = comparison()
    part["summary"][1] |= dict.fromkeys(
        ("mean", "low", "high", "difference", "difference_low", "difference_high")
    ) | {"n_seeds": 0}
    page = made(part)
    assert [row["method"] for row in values(page, 0)] == ["ERM", "RIWERM", "Pooled"]
    assert table(page, "Methods by regime")[2] == ["FIRE", *["–"] * 4, "summary", "0"]


def test_the_same_label_in_two_regimes_is_told_apart():
    twice = [*METHODS, ("fire-b", "FIRE", "labelled_summary", 0.77)]
    names = [row["method"] for row in values(made(comparison(twice)), 0)]
    assert names[1:3] == ["FIRE (summary)", "FIRE (labelled summary)"]


def test_a_regime_that_is_not_known_is_shown_as_it_stands():
    page = made(comparison([*METHODS, ("x", "X", "oracle", 0.9)]))
    scale = drawn(page, 0)["layer"][-1]["encoding"]["color"]["scale"]
    assert scale["domain"][-1] == "oracle" and scale["range"][-1] == "var(--muted)"


def test_without_any_method_that_is_said():
    assert "No method was compared" in made(summary=[])
