"""Folds of 27 tables, means only: all forms of FIRE beside plain training and controls."""

from firecv.experiments.kinds.folds import Folds
from firecv.experiments.paper.folds import NOTES, ROWS, SHOWN
from firecv.experiments.spec import Cell, ProtocolName, Table
from firecv.regimes import Regime

COLUMNS: dict[str, tuple[str, Regime, float | None]] = {
    "st-CV": ("erm", "none", None),
    "FIRE (paper)": ("fire-paper", "labelled", 0.1),
    "FIRE trace": ("fire-trace", "labelled", 0.1),
    "FIRE align": ("fire-align", "labelled", 1.0),
    "FIRE trace, unlabelled": ("fire-trace", "unlabelled", 0.03),
    "FIRE align, unlabelled": ("fire-align", "unlabelled", 1.0),
    "L2": ("l2", "none", 0.01),
    "V pooled": ("pooled", "labelled", None),
}
CHOICE = ("TODO",)


def table(protocol: ProtocolName) -> Table:
    """Return the table; Bupa stands for LiverDisorders too, which is the same."""
    cells = tuple(
        Cell(f"{row}, k={k}", column, Folds(dataset, k, *of, protocol), of[1], 100)
        for row, dataset in ROWS.items()
        for k in SHOWN
        for column, of in COLUMNS.items()
        if row != "LiverDisorders"
    )
    return Table(
        "folds-forms",
        "Mean accuracy over folds: the forms of FIRE beside plain training, L2 and V pooled",
        protocol,
        cells,
        rival="st-CV",
        tested=tuple(column for column in COLUMNS if column != "st-CV"),
        pairing="folds",
        notes=(*CHOICE, *NOTES),
    )
