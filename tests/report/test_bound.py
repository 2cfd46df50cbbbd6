from firecv.report.bound import bound_section
from firecv.report.fields import Fields
from firecv.report.tables import Ids
from tests.report.samples import diagnosis, fragment, too_small
from tests.report.structure import table

FAR = {"gamma": 3.0, "gamma_high": None, "gamma_below_one": False, "bound_gamma_squared": None}


def made(rows):
    return bound_section(Fields("diagnosis.json", diagnosis() | {"fragments": rows}), Ids())


def test_whether_the_assumption_holds_is_said_first():
    near, far = fragment("Ulm", 0.5), fragment("Kiel", 0.9, **FAR, bound_total=None)
    page = made([near, far])
    assert "γ is below 1 for 1 of 2 fragments tested. For Kiel it is not" in page
    assert "γ is below 1 for every fragment tested (1)" in made([near])


def test_a_bound_without_its_assumption_is_infinite_and_the_proven_one_is_not():
    page = made([fragment("Kiel", 0.9, **FAR, bound_total=None)])
    assert table(page, "The bound")[1] == [
        "Kiel",
        "no",
        "3.00 (0.65 to no limit)",
        "0.040",
        "infinite",
        "infinite",
        "0.50",
        "0.50",
        "infinite",
    ]
    assert table(page, "What is added")[1] == ["Kiel", "0.50", "0.50", "0.50", "0.50"]


def test_why_terms_are_not_known_is_said():
    page = made([fragment("Kiel", 0.9, blank_fisher="no labels were given", fisher_q=None)])
    assert "Some terms are not known: no labels were given." in page


def test_fragments_not_tested_are_left_out():
    assert "enough rows" in made([too_small("Bonn")])
