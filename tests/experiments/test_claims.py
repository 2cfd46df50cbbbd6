"""Verdicts on made-up tables: each claim reproduced, not reproduced and without numbers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from firecv.errors import DataError
from firecv.experiments.claims import COLUMNS, Evidence, Gain, Row, claims, render_claims
from firecv.experiments.spec import Cell, Table
from firecv.experiments.summary import published
from firecv.seeding import derive
from firecv.statistics import effect, mean_interval

N_SEEDS = 12
RIVAL = 0.70
SWEEP = [f"FIRE (paper) {strength}" for strength in ("0.01", "0.05", "0.1", "0.5", "1")]


@dataclass(frozen=True)
class Nothing:
    """A setting that is never run."""

    kind: ClassVar[str] = "nothing"
    recipe: ClassVar[int] = 1
    row: str
    column: str
    reason: str = ""
    at_once: int = 1
    cost: float = 0.0

    def missing(self):
        return self.reason

    def measure(self, seeds):
        raise AssertionError("claims only read")


def declared(name, rows, columns, reason=""):
    cells = [
        Cell(row, column, Nothing(row, column, reason), "none", N_SEEDS)
        for row in rows
        for column in columns
    ]
    return Table(name, name, "clean", tuple(cells))


def paper_rows(name):
    return list(dict.fromkeys(row for row, _ in published(name)))


def made_up_tables(reason=""):
    tables = [
        declared(name, rows, [own, ours, *rivals.split()], reason)
        for name, (own, ours, rivals) in COLUMNS.items()
        for rows in [paper_rows("federated-appendix" if name == "federated" else name)]
    ]
    for method in ("stcv", "fire"):
        tables.append(declared(f"batches-{method}", paper_rows("batches-fire"), ["mean"], reason))
        means = ["k=2: mean", "k=5: mean", "k=10: mean"]
        tables.append(declared(f"folds-{method}", paper_rows("folds-fire"), means, reason))
    tables.append(declared("strengths", ["heart", "sonar"], SWEEP, reason))
    return {table.name: table for table in tables}


def evidence(shift=None, noise=0.002, n_seeds=N_SEEDS, memory=None, reason=""):
    """Return tables where every cell is RIVAL plus what `shift(table, row, column)` adds.

    Noise that all methods share at a seed is large, so that only paired gains are sure.
    """
    tables = made_up_tables(reason)
    shared = derive(0, "shared").normal(0, 0.05, N_SEEDS)
    measured = {name: {} for name in tables}
    for name, table in tables.items():
        for cell in table.cells:
            own = derive(0, name, cell.row, cell.column).normal(0, noise, N_SEEDS)
            add = shift(name, cell.row, cell.column) if shift else 0.0
            values = RIVAL + add + shared + own
            columns = {"seed": list(range(n_seeds)), "accuracy": values[:n_seeds].tolist()}
            measured[name][cell] = columns
    return Evidence("clean", tables, measured, memory or {})


def decide(name, given):
    (claim,) = [claim for claim in claims(given) if claim.name == name]
    return claim.test(given)


def on_fire(gain, only=None):
    """Return a shift of FIRE as printed, in all rows or in one."""

    def shift(table, row, column):
        is_fire = table.endswith("-fire") or column in ("FIRE", "FIRE (paper)")
        return gain if is_fire and only in (None, row) else 0.0

    return shift


UP_TO = ["importance weighting, images", "importance weighting, tables", "federated gain"]
WINS = ["wins on images", "wins on tables", "wins in federated learning"]


@pytest.mark.parametrize("name", [*UP_TO, *WINS, "gain in batches"])
def test_a_gain_of_seven_percent_everywhere_reproduces(name):
    assert decide(name, evidence(on_fire(0.07 * RIVAL))).outcome == "reproduced"


@pytest.mark.parametrize("name", [*UP_TO, *WINS, "gain in batches", "gain in folds"])
def test_no_gain_or_a_loss_does_not(name):
    assert decide(name, evidence()).outcome == "not reproduced"
    assert decide(name, evidence(on_fire(-0.05))).outcome == "not reproduced"


@pytest.mark.parametrize(
    ("points", "outcome"), [(0.20, "reproduced"), (0.10, "not reproduced")], ids=["large", "small"]
)
def test_folds_are_decided_in_points_and_one_row_is_enough(points, outcome):
    verdict = decide("gain in folds", evidence(on_fire(points, only="Monk-2")))
    assert verdict.outcome == outcome
    assert "points" in verdict.figure and "Monk-2" in verdict.figure


def test_a_sure_gain_below_half_the_published_one_is_not_enough():
    verdict = decide("importance weighting, tables", evidence(on_fire(0.02 * RIVAL)))
    assert verdict.outcome == "not reproduced"
    assert verdict.why == "The largest gain is below half the published figure."


def test_a_large_gain_that_is_not_sure_is_not_enough():
    given = evidence(on_fire(0.04), noise=0.1)
    verdict = decide("federated gain", given)
    assert verdict.outcome == "not reproduced"
    assert verdict.why.startswith("The largest gain may be zero.")


def test_one_strong_rival_undoes_a_gain():
    def shift(table, row, column):
        return 0.05 if column in ("FIRE (paper)", "EIWERM") else 0.0

    verdict = decide("importance weighting, images", evidence(shift))
    assert verdict.outcome == "not reproduced"
    assert "over EIWERM" in verdict.figure


def test_four_of_five_tables_are_enough_and_three_are_not():
    def losing(*rows):
        return lambda table, row, column: (
            (-0.05 if row in rows else 0.05) if column == "FIRE (paper)" else 0.0
        )

    four = decide("wins on tables", evidence(losing("breast cancer")))
    assert (four.outcome, four.figure) == ("reproduced", "4 won, 1 lost of 5")
    assert "lost: breast cancer." in four.why
    three = decide("wins on tables", evidence(losing("breast cancer", "sonar")))
    assert three.outcome == "not reproduced"


def test_batches_must_gain_at_every_number_of_batches():
    def shift(table, row, column):
        return 0.08 if table == "batches-fire" and not row.endswith(", 10 batches") else 0.0

    verdict = decide("gain in batches", evidence(shift))
    assert verdict.outcome == "not reproduced"
    assert verdict.why == "2 of 3 numbers of batches gain enough in most rows."


@pytest.mark.parametrize(
    ("times", "outcome"), [(1.2, "reproduced"), (1.24, "reproduced"), (11.0, "not reproduced")]
)
def test_communication_is_what_was_sent_over_what_fedavg_sent(times, outcome):
    given = evidence()
    bytes_of = {"FIRE": 1000 * times, "FedAvg": 1000.0, "FIRE weigh": 1001.0}
    for cell in given.measured["federated"]:
        if cell.row == "communication" and cell.column in bytes_of:
            sent = [bytes_of[cell.column]] * N_SEEDS
            given.measured["federated"][cell] = {"seed": range(N_SEEDS), "accuracy": sent}
    verdict = decide("communication", given)
    assert (verdict.outcome, verdict.figure) == (outcome, f"{times:.2f} times")
    assert verdict.beside == "FIRE weigh: 1.00 times"


@pytest.mark.parametrize(
    ("factor", "outcome"),
    [(0.2, "reproduced"), (1.0, "not reproduced"), (3.0, "not reproduced")],
)
def test_lower_variance_is_decided_by_the_spread_over_seeds(factor, outcome):
    given = evidence()
    for cell in given.measured["federated"]:
        scale = factor if cell.column == "FIRE" else 1.0
        draws = derive(1, cell.row, cell.column).normal(0, 0.02 * scale, N_SEEDS)
        values = (RIVAL + draws).tolist()
        given.measured["federated"][cell] = {"seed": range(N_SEEDS), "accuracy": values}
    assert decide("lower variance", given).outcome == outcome


@pytest.mark.parametrize(
    ("points", "outcome"), [(0.0, "reproduced"), (-0.03, "not reproduced")], ids=["flat", "falls"]
)
def test_lambda_is_stable_if_no_strength_is_far_from_the_default(points, outcome):
    given = evidence(lambda table, row, column: points if column == SWEEP[-1] else 0.0)
    verdict = decide("stable in lambda", given)
    assert verdict.outcome == outcome
    assert points == 0 or SWEEP[-1] in verdict.figure


@pytest.mark.parametrize(
    ("memory", "outcome"),
    [
        ({1000: 10.0, 10_000: 11.0}, "reproduced"),
        ({1000: 10.0, 10_000: 100.0}, "reproduced"),
        ({1000: 10.0, 10_000: 1000.0}, "not reproduced"),
        ({1000: 10.0, 2000: 20.0}, "not computed yet"),
        ({}, "not computed yet"),
    ],
    ids=["constant", "linear", "quadratic", "too narrow", "none"],
)
def test_memory_is_linear_up_to_a_tolerance(memory, outcome):
    assert decide("memory", evidence(memory=memory)).outcome == outcome


@pytest.mark.parametrize("name", [row for row, _ in published("claims")])
def test_few_seeds_are_not_computed_and_absent_data_is_not_testable(name):
    assert decide(name, evidence(n_seeds=4)).outcome == "not computed yet"
    if name != "memory":
        tables = made_up_tables("the data are not at hand")
        verdict = decide(name, Evidence("clean", tables, {}))
        assert verdict.outcome == "not testable here"
        assert verdict.why == "Reason: the data are not at hand."
        assert decide(name, Evidence("clean", {}, {})).outcome == "not testable here"


def test_what_is_stored_counts_though_the_data_are_elsewhere():
    here, elsewhere = (evidence(on_fire(0.07), reason=why) for why in ("", "not at hand"))
    for name in ("wins on tables", "federated gain", "gain in batches"):
        assert decide(name, elsewhere) == decide(name, here)


def test_one_row_that_still_has_to_be_run_holds_the_verdict_back():
    given = evidence(on_fire(0.07))
    last = [cell for cell in given.measured["selection"] if cell.row == "sonar"][0]
    del given.measured["selection"][last]
    verdict = decide("wins on tables", given)
    assert (verdict.outcome, verdict.why) == ("not computed yet", "4 of 5 rows are measured.")


def test_rows_without_data_are_counted_and_do_not_hold_it_back():
    given = evidence(on_fire(0.07))
    table = given.tables["selection"]
    cells = [
        Cell(c.row, c.column, None, "none", N_SEEDS, "not at hand") if c.row == "sonar" else c
        for c in table.cells
    ]
    fewer = Table("selection", "", "clean", tuple(cells))
    given = Evidence("clean", {**given.tables, "selection": fewer}, given.measured)
    verdict = decide("wins on tables", given)
    assert verdict.outcome == "reproduced"
    assert verdict.why.endswith("4 of 5 rows are at hand.")


def test_diverged_runs_are_counted():
    given = evidence(on_fire(0.07))
    cell = next(c for c in given.measured["selection"] if c.column == "FIRE (paper)")
    columns = given.measured["selection"][cell]
    values = [float("nan"), *columns["accuracy"][1:]]
    given.measured["selection"][cell] = {**columns, "accuracy": values}
    assert decide("wins on tables", given).why.endswith("1 runs of FIRE diverged and are left out.")


def test_our_form_stands_beside_with_its_own_gain():
    given = evidence(lambda table, row, column: 0.07 if column == "FIRE trace" else 0.0)
    verdict = decide("importance weighting, images", given)
    assert verdict.outcome == "not reproduced"
    assert verdict.beside.startswith("FIRE trace: +")


def test_intervals_that_hold_together_are_those_of_bonferroni():
    rng = derive(0, "intervals")
    a, b = rng.normal(80, 3, 9), rng.normal(75, 3, 9)
    place = ("table", "row", "column")
    gain = Gain(Row("row", place, (place,)), "rival", effect(a, b), 9, None, 0)
    expected = mean_interval((a - b).tolist(), level=1 - 0.05 / 7)
    assert gain.interval("points", 7) == pytest.approx(expected)
    assert gain.interval("%")[1:] == pytest.approx(effect(a, b)[4:])


def test_folds_are_paired_fold_by_fold_with_their_overlap():
    """Gains that swing between folds are less sure than their means over repeats suggest."""
    given = evidence(on_fire(0.2, only="Pima"), noise=0.0)
    swing = np.array([0.5, -0.5])
    for name in ("folds-stcv", "folds-fire"):
        for cell in given.measured[name]:
            if cell.column == "k=2: mean":
                columns = given.measured[name][cell]
                sign = swing if name == "folds-fire" else -swing
                folds = np.add.outer(sign, np.array(columns["accuracy"]))
                given.measured[name][cell] = {**columns, "fold 1": folds[0], "fold 2": folds[1]}
    verdict = decide("gain in folds", given)
    assert verdict.outcome == "reproduced"  # by the other two numbers of folds
    assert "over folds-stcv" in verdict.figure
    assert "Pima k=2" not in verdict.figure


def test_tables_of_another_protocol_are_refused():
    table = Table("selection", "", "paper", ())
    with pytest.raises(DataError, match="selection are not of protocol 'clean'"):
        Evidence("clean", {"selection": table}, {})


def test_the_page_holds_claims_rules_contradictions_and_data():
    page = render_claims([evidence(on_fire(0.07), memory={1000: 10.0, 60_000: 12.0})])
    for (name, _), claim in published("claims").items():
        assert f"| {name} |" in page and claim.note in page
    for (_, says), number in published("contradictions").items():
        assert f"{says}; but {number.note}" in page
    assert page.count("*Rule:* Reproduced if ") == len(published("claims"))
    assert "Lymphography: The fold accuracies printed in the FIRE paper" in page
    assert page.endswith("\n")


def test_every_sentence_on_the_page_ends_with_a_full_stop():
    page = render_claims([evidence(), evidence(n_seeds=4)])
    paragraphs = [part for part in page.strip().split("\n\n") if part[0] not in "#|"]
    assert all(part.endswith(".") for part in paragraphs)
    assert all(line.endswith(".") for line in page.splitlines() if line.startswith("- "))
    given = evidence(on_fire(0.07))
    assert all(claim.test(given).why.endswith(".") for claim in claims(given))


def test_a_largest_gain_below_zero_is_called_a_loss():
    verdict = decide("federated gain", evidence(on_fire(-0.07)))
    assert verdict.outcome == "not reproduced" and "The largest gain is a loss." in verdict.why
