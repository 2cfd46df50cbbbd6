import json

import pytest

from firecv.report.fields import Fields
from firecv.report.fragments import MOST_DRAWN, by_auc, finding, fragments_section, together
from firecv.report.tables import Ids
from tests.report.samples import diagnosis, fragment, too_small
from tests.report.structure import parsed, table


def made(**changes):
    return fragments_section(Fields("diagnosis.json", diagnosis() | changes), Ids())


def test_fragments_with_the_largest_auc_come_first_and_those_not_tested_last():
    names = [row.text("fragment") for row in by_auc(Fields("", diagnosis()))]
    assert names == ["Kiel", "Ulm", "Bonn"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (fragment("a", 0.9), "shift"),
        (fragment("a", 0.5), "no shift found"),
        (fragment("a", 0.5, detectable_auc=0.7), "too few rows to tell"),
        (fragment("a", 0.5, detectable_auc=None), "too few rows to tell"),
        (too_small("a"), "not tested"),
    ],
    ids=["alarm", "quiet", "few", "unknown", "blank"],
)
def test_findings_are_those_of_the_diagnosis(row, said):
    assert finding(Fields("", row)) == said


def test_the_table_has_every_fragment_with_its_interval():
    head, first, second, last = table(made(), "Every fragment")
    assert [cell.split()[0] for cell in head[:3]] == ["Fragment", "Finding", "AUC95"]
    assert first[:4] == ["Kiel", "shift", "0.83 (0.78 to 0.88)", "200"]
    assert second[1] == "no shift found"
    assert last[:4] == ["Bonn", "not tested: 8 rows; 10 or more are needed", "–", "8"]


def test_rows_in_common_get_a_column_only_where_there_are_any():
    assert "Shared" not in made()
    shared = [fragment("Kiel", 0.8, shared_rate=0.6)]
    head, row = table(made(fragments=shared), "Every fragment")
    assert head[-1].startswith("Shared") and row[-1].split() == ["60.0", "%"]


def test_the_chart_leaves_out_what_was_not_tested():
    (figure,) = parsed(made()).all("figure")
    (values,) = json.loads(figure.all("script")[0].text)["datasets"].values()
    assert [row["fragment"] for row in values] == ["Kiel", "Ulm"]


def test_many_fragments_are_drawn_in_part_and_listed_in_full():
    rows = [fragment(f"site {at}", 0.5 + at / 1000) for at in range(MOST_DRAWN + 5)]
    page = made(fragments=rows)
    (values,) = json.loads(parsed(page).all("script")[0].text)["datasets"].values()
    assert len(values) == MOST_DRAWN and len(table(page, "Every")) == MOST_DRAWN + 6
    assert f"the {MOST_DRAWN} fragments with the largest AUC" in page


def test_nothing_tested_means_no_chart():
    assert "<figure>" not in made(fragments=[too_small("Kiel")])


def test_all_fragments_together_are_spoken_of():
    assert "no difference found" in made() and "p = 0.3" in made()
    assert "a difference" in together(Fields("", {"p_value": 0.01, "alarm": True}))
    assert "not tested (no labels)" in together(Fields("", {"blank": "no labels"}))


def test_notes_are_shown():
    assert "<li>Column a was dropped.</li>" in made(notes=["Column a was dropped."])
