import json

from firecv.report.federation import MOST_CLIENTS, MOST_ROUNDS, federation_section, outcome, spread
from firecv.report.fields import Fields
from firecv.report.tables import Ids
from tests.report.samples import federation
from tests.report.structure import parsed, table


def made(part=None, **changes):
    return federation_section(Fields("federation.json", (part or federation()) | changes), Ids())


def values(page, at):
    (rows,) = json.loads(parsed(page).all("script")[at].text)["datasets"].values()
    return rows


def test_the_outcome_names_accuracy_rounds_and_bytes():
    said = outcome(Fields("", federation())).replace("\u00a0", " ")
    assert said == (
        "FIRE with 3 clients reached 70.0 % on validation and 66.0 % on test after 4 rounds; "
        "clients sent 4.00 MB and were sent 8.00 MB."
    )


def test_rounds_hold_accuracy_bytes_and_the_shift_test():
    head, *rows = table(made(), "Rounds")
    assert [cell[:10] for cell in head[1:3]] == ["Validation", "Test accur"]
    assert [cell.replace("\u00a0", " ") for cell in rows[2]] == [
        "2",
        "60.0 %",
        "58.0 %",
        "1.00 MB",
        "2.00 MB",
        "0.02",
        "3",
        "1",
    ]


def test_accuracy_is_drawn_in_percent_for_every_set():
    rows = values(made(), 0)
    assert len(rows) == 10 and {row["set"] for row in rows} == {"validation", "test"}
    assert rows[0]["mean"] == 50


def test_weights_are_drawn_and_listed_by_client():
    page = made()
    assert values(page, 1)[0] == {"client": "Kiel", "round": 0, "weight": 0.5}
    head, first, *_ = table(page, "Weights")
    assert head == ["Round", "Kiel", "Ulm", "Bonn"] and first == ["0", "0.500", "0.300", "0.200"]


def test_runs_without_weights_or_scores_say_so():
    part = federation()
    for record in part["records"]:
        del record["weights"]
        record["scores"] = {}
    page = made(part)
    assert "They are not known." in page and "No round was evaluated." in page
    assert "<figure>" not in page


def test_why_a_run_stopped_is_said():
    assert "stopped before its last round: too few answers" in made(stopped="too few answers")


def test_rounds_in_which_clients_could_not_be_weighed_are_counted():
    part = federation()
    assert "could not be weighed" not in made(part)
    for record in part["records"][1:3]:
        record["unweighed"] = "LinAlgError"
    assert "In 2 rounds clients could not be weighed and count by n/N." in made(part)


def test_long_runs_are_spread_evenly_with_the_last_round():
    part = federation(n_rounds=2 * MOST_ROUNDS + 30)
    kept = [record.count("round") for record in spread(Fields("", part).rows("records"))]
    assert len(kept) <= MOST_ROUNDS and kept[-1] == 2 * MOST_ROUNDS + 30
    assert {b - a for a, b in zip(kept, kept[1:], strict=False)} == {3}
    assert len(table(made(part), "Rounds")) == len(kept) + 1


def test_many_clients_are_cut_and_that_is_said():
    part = federation(names=[f"c{at}" for at in range(MOST_CLIENTS + 3)])
    for record in part["records"]:
        record["weights"] = [1 / (MOST_CLIENTS + 3)] * (MOST_CLIENTS + 3)
    page = made(part)
    assert len(table(page, "Weights")[0]) == MOST_CLIENTS + 1
    assert f"The first {MOST_CLIENTS} of {MOST_CLIENTS + 3} clients" in page


def test_a_run_without_rounds_is_said():
    assert "no record" in made(records=[])
