"""The sweep of the strength that the paper mentions: FIRE as printed and its trace, on tables."""

from collections.abc import Iterator
from dataclasses import replace

from firecv.experiments.kinds.folds import Folds
from firecv.experiments.kinds.selection import SelectionBias
from firecv.experiments.paper.folds import NETWORK
from firecv.experiments.paper.selection import ROWS
from firecv.experiments.spec import Cell, ProtocolName, Table

STRENGTHS = (0.01, 0.05, 0.1, 0.5, 1.0)
FORMS = {"FIRE (paper)": "fire-paper", "FIRE trace": "fire-trace"}
FOLDS = {"Ionosphere, k=5": "ionosphere", "Pima, k=5": "pima"}
NOTES = (
    NETWORK,
    "The paper sweeps the strength over these values and reports that 0.1 is close to optimal; it "
    "prints no numbers. Both forms see V's labels.",
    "Five tables under sample selection bias, whose target is the rows left over, and two in "
    "five-fold cross-validation. The paper does not say on which tables it swept.",
)


def table(protocol: ProtocolName) -> Table:
    """Return the table."""
    plain: dict[str, SelectionBias | Folds] = {
        row: SelectionBias(dataset, "erm", "none", protocol=protocol)
        for row, dataset in ROWS.items()
    }
    plain |= {
        row: Folds(dataset, 5, "erm", "none", None, protocol) for row, dataset in FOLDS.items()
    }
    return Table(
        "strengths",
        "Accuracy by strength of FIRE as printed and of its trace",
        protocol,
        tuple(cell for row, setting in plain.items() for cell in _cells(row, setting)),
        rival="ERM",
        notes=NOTES,
    )


def _cells(row: str, plain: SelectionBias | Folds) -> Iterator[Cell]:
    yield Cell(row, "ERM", plain, "none", 100)
    for form, method in FORMS.items():
        for strength in STRENGTHS:
            setting = replace(plain, method=method, regime="labelled", strength=strength)
            yield Cell(row, f"{form} {strength:g}", setting, "labelled", 100)
