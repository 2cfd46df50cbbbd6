import json

from firecv.report.fields import Fields
from firecv.report.pairs import pairs_section
from firecv.report.tables import Ids
from tests.report.samples import diagnosis
from tests.report.structure import parsed, table


def made(pairs):
    return pairs_section(Fields("diagnosis.json", diagnosis() | {"pairs": pairs}), Ids())


PAIRS = [
    {"first": "Kiel", "second": "Ulm", "auc": 0.6},
    {"first": "Kiel", "second": "Bonn", "auc": 0.9},
    {"first": "Ulm", "second": "Bonn", "auc": None},
]


def test_pairs_that_are_furthest_apart_come_first():
    assert table(made(PAIRS), "AUC")[1:] == [["Kiel and Bonn", "0.90"], ["Kiel and Ulm", "0.60"]]


def test_the_matrix_is_symmetric_and_in_the_order_of_fragments():
    spec = json.loads(parsed(made(PAIRS)).all("script")[0].text)
    (rows,) = spec["datasets"].values()
    values = {(row["fragment"], row["other fragment"]): row["AUC"] for row in rows}
    assert list(dict.fromkeys(first for first, _ in values)) == ["Kiel", "Ulm", "Bonn"]
    assert all(values[a, b] == values[b, a] for a, b in values)
    assert values["Kiel", "Bonn"] == 0.9 and values["Ulm", "Bonn"] is None
    assert values["Kiel", "Kiel"] is None


def test_without_any_pair_that_is_said():
    assert "were not compared" in made([]) and "were not compared" in made(PAIRS[2:])
