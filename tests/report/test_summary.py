import pytest

from firecv.report.fields import Fields
from firecv.report.summary import headline, summary_section, title
from tests.report.samples import all_parts, diagnosis
from tests.report.structure import parsed


def fields(parts):
    return {kind: Fields(f"{kind}.json", part) for kind, part in parts.items()}


@pytest.mark.parametrize(
    ("verdict", "shifted", "tone", "start"),
    [
        ("shift", ["Kiel", "Ulm"], "bad", "Shift found: 2 of 3 fragments differ from"),
        ("shift", [], "bad", "Shift found: the validation set differs from all"),
        ("no shift found", [], "good", "No shift found in 3 fragments"),
        ("too few rows to tell", [], "warn", "Too few rows"),
        ("a new verdict", [], "plain", "a new verdict"),
    ],
)
def test_the_verdict_is_said_in_a_few_words(verdict, shifted, tone, start):
    part = Fields("", diagnosis() | {"verdict": verdict, "shifted": shifted})
    found, said = headline(part)
    assert found == tone and said.startswith(start)


def test_verdict_advice_winners_and_outcome_stand_at_the_top():
    text = parsed(summary_section(fields(all_parts()))).text
    places = [
        text.index(words) for words in ("Shift found", "Try pooled", "Pooled is best", "FIRE with")
    ]
    assert places == sorted(places)


def test_numbers_at_a_glance_count_the_findings():
    tiles = parsed(summary_section(fields(all_parts()))).all("dl")[0]
    found = {node.all("dt")[0].text: node.all("dd")[0].text for node in tiles.all("div")}
    assert found == {
        "fragments": "3",
        "with shift": "1",
        "without": "1",
        "cannot tell": "1",
        "rows in fragments": "408",
        "rows of validation": "100",
    }


def test_parts_of_different_data_are_pointed_out():
    parts = all_parts()
    assert "not about the same data" not in summary_section(fields(parts))
    parts["comparison"]["data"] |= {"source": "elsewhere/sites.csv", "n_validation": 50}
    assert "not about the same data" not in summary_section(fields(parts))  # halves of V, say
    parts["comparison"]["data"] |= {"source": "other.csv"}
    assert "diagnosis.json and comparison.json are not about the same" in summary_section(
        fields(parts)
    )


def test_the_title_names_the_file_alone():
    assert title(fields(all_parts())) == "Shift report: sites.csv"
    assert title(fields({"federation": all_parts()["federation"]})) == "Shift report"
    other = diagnosis() | {"data": {"source": "C:\\data\\sites.csv"}}
    assert title(fields({"diagnosis": other})) == "Shift report: sites.csv"
