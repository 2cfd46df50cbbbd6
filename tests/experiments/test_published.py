"""The paper's numbers follow from each other as far as it says how; where not, a note says so.

Printed accuracies are taken to be within 0.05 of what they stand for, and what is derived from
them to be rounded or cut in its last printed digit. A typing error of ours breaks a sum.
"""

import csv
from importlib import resources
from itertools import product

import pytest

FOLDER = resources.files("firecv.experiments") / "published"
HEADER = ["row", "column", "mean", "sd", "source", "note"]
HALF = 0.05
SLACK = 1e-9
N_CELLS = {
    "rotated": 9 * 5,
    "selection": 5 * 6,
    "federated": 3 * 9,
    "federated-appendix": 5 * 9 + 8,
    "batches-stcv": 16 * 9 + 8 * 6,
    "batches-fire": 16 * 10 + 8 * 6,
    "folds-stcv": 27 * 16,
    "folds-fire": 27 * 19,
    "hyperparameters": 28,
}
IMAGES = [f"{name} (2, {b})" for name in ("F-MNIST", "K-MNIST", "MNIST-C") for b in (4, 5, 6)]
SELECTED = ["heart", "sonar", "diabetes", "australian", "breast cancer"]
FEDERATED = ["FEMNIST", "CIFAR-10", "CIFAR-100"]
BATCHED = "MNIST EMNIST CIFAR-10 CIFAR-100 P-MNIST QMNIST CIFAR10-C CIFAR100-C".split()
BATCHES = [f"{name}, {n} batches" for n in (20, 10, 2) for name in BATCHED]
FOLDED = (
    "Appendicitis Lymphography Banana Bands LiverDisorders Bupa Chess CrX GermanCredit Haberman "
    "Statlog(Heart) Hepatitis Housevote Ionosphere Mammographic Monk-2 Mushroom Phoneme Pima "
    "Saheart Thyroid Spambase SPECTHeart Tic-Tac-Toe Titanic Wdbc Wisconsin"
).split()
WEIGHTING = ["ERM", "EIWERM", "One-step"]
TABLE_WEIGHTING = ["ERM", "uLSIF", "RuLSIF", "One-step"]
ALGORITHMS = "FedAvg SCAFFOLD MOON Fishr LfD FedAS FedCFA".split()
PARTS = {2: (1, 2), 5: (1, 2, 3, 4, 5), 10: (1, 2, 5, 9, 10)}
FOLDS = ["baseline"] + [f"k={k}: {i}" for k, parts in PARTS.items() for i in (*parts, "mean")]
DELTAS = [f"delta k={k}" for k in PARTS]
LABELS = {
    "rotated": (IMAGES, [*WEIGHTING, "FIRE (paper)", "delta"]),
    "selection": (SELECTED, [*TABLE_WEIGHTING, "FIRE (paper)", "delta"]),
    "federated": (FEDERATED, [*ALGORITHMS, "FIRE", "delta"]),
    "federated-appendix": (
        [*FEDERATED, "SVHN", "EMNIST-D", "communication"],
        [*ALGORITHMS, "FIRE", "delta"],
    ),
    "batches-stcv": (BATCHES, "integral B1 B2 Bn/2 Bn-1 Bn mean variance delta".split()),
    "batches-fire": (BATCHES, "integral B1 B2 B3 Bn/2 Bn-1 Bn mean variance delta".split()),
    "folds-stcv": (FOLDED, FOLDS),
    "folds-fire": (FOLDED, [*FOLDS, *DELTAS]),
}


def lines(name):
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


TABLES = {name: {(c["row"], c["column"]): c for c in lines(name)} for name in N_CELLS}


def value(table, row, column):
    return float(TABLES[table][row, column]["mean"])


def agrees(table, row, column, low, high):
    """Return whether a printed number lies in a range, but for its last digit."""
    printed = TABLES[table][row, column]["mean"]
    unit = 10.0 ** -len(printed.partition(".")[2])
    return low - unit - SLACK <= float(printed) <= high + unit + SLACK


def relative(a, b):
    """Return the range of a over b, less one, in percent."""
    ratios = [100 * (x / y - 1) for x, y in product((a - HALF, a + HALF), (b - HALF, b + HALF))]
    return min(ratios), max(ratios)


def noted(table, row, column):
    return TABLES[table][row, column]["note"] != ""


def printed_batches(table, row):
    places = [(r, column) for r, column in TABLES[table] if r == row and column.startswith("B")]
    return [value(table, *place) for place in places]


@pytest.mark.parametrize("name", N_CELLS)
def test_every_printed_cell_is_there_once(name):
    assert list(lines(name)[0]) == HEADER
    assert len(lines(name)) == len(TABLES[name]) == N_CELLS[name]


@pytest.mark.parametrize("name", LABELS)
def test_labels_are_those_of_our_tables_in_the_papers_order(name):
    rows, columns = LABELS[name]
    assert list(dict.fromkeys(row for row, _ in TABLES[name])) == rows
    assert sorted({column for _, column in TABLES[name]}, key=columns.index) == columns


@pytest.mark.parametrize("name", N_CELLS)
def test_cells_are_numbers_with_a_source(name):
    for cell in lines(name):
        assert float(cell["mean"]) is not None
        assert cell["sd"] == "" or float(cell["sd"]) > 0
        assert "(tab:" in cell["source"]
        assert not cell["note"].endswith(".")


@pytest.mark.parametrize("name", ["rotated", "selection", "federated", "federated-appendix"])
def test_standard_deviations_are_there_where_they_are_printed(name):
    with_sd = {(cell["row"], cell["column"]) for cell in lines(name) if cell["sd"]}
    expected = {(r, c) for r, c in TABLES[name] if c != "delta" and r != "communication"}
    assert with_sd == expected


@pytest.mark.parametrize(
    ("name", "row"), [(name, row) for name in list(LABELS)[:4] for row in LABELS[name][0]]
)
def test_gains_over_the_best_rival_follow_or_are_noted(name, row):
    if row == "communication":
        return
    fire, *rivals = ("FIRE (paper)", *WEIGHTING) if name == "rotated" else ("FIRE", *ALGORITHMS)
    if name == "selection":
        fire, rivals = "FIRE (paper)", TABLE_WEIGHTING
    best = max(value(name, row, rival) for rival in rivals)
    expected = relative(value(name, row, fire), best)
    assert agrees(name, row, "delta", *expected) or noted(name, row, "delta")


@pytest.mark.parametrize("row", FEDERATED)
def test_where_the_two_federated_tables_differ_both_say_so(row):
    for column in (*ALGORITHMS, "FIRE", "delta"):
        cells = [TABLES[name][row, column] for name in ("federated", "federated-appendix")]
        differ = len({(cell["mean"], cell["sd"]) for cell in cells}) == 2
        assert not differ or all("prints" in cell["note"] for cell in cells)


@pytest.mark.parametrize("table", ["batches-stcv", "batches-fire"])
@pytest.mark.parametrize("row", BATCHES)
def test_gains_of_batches_follow_or_are_noted(table, row):
    whole = (table, row, "integral") if table == "batches-stcv" else ("batches-stcv", row, "mean")
    expected = relative(value(table, row, "mean"), value(*whole))
    assert agrees(table, row, "delta", *expected) or noted(table, row, "delta")


@pytest.mark.parametrize("table", ["batches-stcv", "batches-fire"])
@pytest.mark.parametrize("row", BATCHES[-8:])
def test_mean_and_variance_of_two_batches_follow_or_are_noted(table, row):
    first, second = printed_batches(table, row)
    mean = (first + second) / 2
    assert agrees(table, row, "mean", mean - HALF, mean + HALF) or noted(table, row, "mean")
    gap = abs(first - second)
    expected = [(gap + error) ** 2 / 2 for error in (-min(gap, 2 * HALF), 2 * HALF)]
    assert agrees(table, row, "variance", *expected) or noted(table, row, "variance")


@pytest.mark.parametrize("table", ["batches-stcv", "batches-fire"])
@pytest.mark.parametrize("row", BATCHES[:16])
def test_some_batches_have_the_mean_and_variance_or_it_is_noted(table, row):
    """Batches that are not printed can have any mean; all equal, they add least variance."""
    n, parts, mean = int(row.split()[-2]), printed_batches(table, row), value(table, row, "mean")
    n_hidden = n - len(parts)
    hidden = (n * mean - sum(parts)) / n_hidden
    error = HALF * (n + len(parts)) / n_hidden
    assert -error <= hidden <= 100 + error or noted(table, row, "mean")
    squares = sum(max(abs(part - mean) - 2 * HALF, 0) ** 2 for part in parts)
    squares += n_hidden * max(abs(hidden - mean) - error - HALF, 0) ** 2
    assert agrees(table, row, "variance", squares / n, float("inf")) or noted(
        table, row, "variance"
    )


@pytest.mark.parametrize("table", ["folds-stcv", "folds-fire"])
@pytest.mark.parametrize("row", FOLDED)
def test_means_of_folds_follow_or_are_noted(table, row):
    for k, parts in PARTS.items():
        column, printed = f"k={k}: mean", [value(table, row, f"k={k}: {i}") for i in parts]
        if k == len(parts):
            mean = sum(printed) / k
            low, high = mean - HALF, mean + HALF
        else:  # five of ten are printed, the others are from 0 to 100
            low, high = sum(printed) / k, (sum(printed) + 100 * (k - len(parts))) / k
        # means are cut or rounded, never further than HALF + 0.05 off
        inside = low - HALF - SLACK <= value(table, row, column) <= high + HALF + SLACK
        assert inside or noted(table, row, column)


@pytest.mark.parametrize("row", FOLDED)
def test_gains_of_folds_are_points_or_are_noted(row):
    for k in PARTS:
        means = [value(table, row, f"k={k}: mean") for table in ("folds-stcv", "folds-fire")]
        gain = means[1] - means[0]
        found = value("folds-fire", row, f"delta k={k}")
        assert abs(found - gain) <= 2 * HALF + SLACK or noted("folds-fire", row, f"delta k={k}")


def test_contradictions_that_can_be_counted_are_counted_right():
    said = " ".join(line["note"] for line in lines("contradictions"))
    gains = [value("batches-fire", row, "delta") for row in BATCHES]
    assert f"{sum(gain > 10 for gain in gains)} of 24 rows exceed 10" in said
    means = [[value("folds-stcv", row, f"k={k}: mean") for k in (2, 10)] for row in FOLDED]
    assert f"in {sum(ten < two for two, ten in means)} of 27 rows" in said
    deviation = {place: float(cell["sd"] or "nan") for place, cell in TABLES["rotated"].items()}
    beaten = [
        min(deviation[row, rival] for rival in WEIGHTING) < deviation[row, "FIRE (paper)"]
        for row in IMAGES
    ]
    assert f"in {sum(beaten)} of 9 rows" in said
    falls = {
        n: sorted(-value("batches-stcv", row, "delta") for row in BATCHES if f", {n} " in row)
        for n in (20, 10, 2)
    }
    medians = [(fall[3] + fall[4]) / 2 for fall in falls.values()]
    assert medians == pytest.approx([23.05, 17.95, 6.15])  # printed as 23.1, 18.0 and 6.2
    fire = TABLES["selection"]["diabetes", "FIRE (paper)"]["sd"]
    assert all(
        float(TABLES["selection"]["diabetes", c]["sd"]) < float(fire) for c in WEIGHTING[::2]
    )


@pytest.mark.parametrize("row", [r for r in BATCHES[:16] if r.startswith("CIFAR")])
def test_variances_of_fire_on_cifar_are_those_of_the_printed_batches(row):
    parts = printed_batches("batches-fire", row)
    mean = sum(parts) / 6
    variance = sum((part - mean) ** 2 for part in parts) / 6
    assert agrees("batches-fire", row, "variance", variance - HALF, variance + HALF)


def test_contradictions_and_claims_are_sentences():
    for line in lines("contradictions"):
        assert list(line) == HEADER
        assert line["note"].endswith(".") and not line["column"].endswith(".")
    for line in lines("claims"):
        assert list(line) == HEADER
        assert line["note"].endswith(".") and line["source"] and line["column"]


def test_figures_of_claims_are_those_of_the_tables():
    figures = {line["row"]: line["mean"] for line in lines("claims")}
    assert float(figures["importance weighting, images"]) == max(
        value("rotated", row, "delta") for row in IMAGES
    )
    assert float(figures["importance weighting, tables"]) == max(
        value("selection", row, "delta") for row in SELECTED
    )
    assert float(figures["federated gain"]) == value("federated", "FEMNIST", "delta")
    assert float(figures["gain in folds"]) == max(
        value("folds-fire", row, column) for row in FOLDED for column in DELTAS
    )
    assert float(figures["wins on tables"]) == sum(
        value("selection", row, "delta") > 0 for row in SELECTED
    )
    communication = value("federated-appendix", "communication", "FIRE")
    assert float(figures["communication"]) == communication
