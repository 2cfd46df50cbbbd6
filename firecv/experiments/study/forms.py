"""Forms of FIRE in every regime and at several strengths, beside the mandatory controls."""

from dataclasses import replace

from firecv.experiments.kinds.rotated import Rotated
from firecv.experiments.kinds.selection import SelectionBias
from firecv.experiments.spec import Cell, ProtocolName, Table
from firecv.regimes import Regime

TABLES = (
    "heart",
    "sonar",
    "pima",
    "australian",
    "wisconsin",
    "bupa",
    "german",
    "monk-2",
    "spectfheart",
    "tic-tac-toe",
)
Column = tuple[str, Regime, float | None]
"""Method, regime and strength."""
CONTROLS: dict[str, Column] = {
    "ERM": ("erm", "none", None),
    "L2 0.01": ("l2", "none", 0.01),
    "L2 0.03": ("l2", "none", 0.03),
    "V pooled": ("pooled", "labelled", None),
    "V half": ("pooledhalf", "labelled", None),
}
STRENGTHS: dict[str, dict[str, tuple[float, ...]]] = {
    "tables": {
        "precondition": (0.1, 1.0, 10.0),
        "trace": (0.003, 0.01, 0.03, 0.1),
        "align": (0.03, 0.1, 0.3, 1.0),
    },
    "images": {
        "precondition": (0.1, 10.0),
        "trace": (0.0003, 0.001, 0.003),
        "align": (0.1, 1.0, 10.0),
    },
}
LEVELS = ((2, 4), (2, 5), (2, 6))
N_SEEDS_IMAGES = 12
"""Of as many cells as are tested none could differ with ten."""
SIZES = (25, 50, 100, 200, 500, 1000, 2000)
NOTES = (
    "Every form at every strength of a grid: nothing is chosen, and no column is the best of some.",
    "Labelled: V's labels are seen, and V pooled and V half are what that is to be held against: "
    "V among the training samples, or half of the loss of every step. Unlabelled: V's inputs.",
)
TABLE_NOTE = (
    "Sample selection bias, the rows left over as target; one hidden layer of 4 ReLU units, Adam "
    "with rate 0.001, 1500 full-batch epochs."
)
IMAGE_NOTE = (
    "Fashion-MNIST, 5,000 images turned by 180 Beta(a, b) degrees, V and T by 180 Beta(b, a); MLP "
    "with 128 and 64 hidden units, Adam with rate 0.001, batches of 128, 20 epochs."
)


def columns(of: str) -> dict[str, Column]:
    """Return method, regime and strength of every column.

    Parameters
    ----------
    of
        A key of `STRENGTHS`.
    """
    regimes: tuple[Regime, ...] = ("labelled", "unlabelled")
    forms: dict[str, Column] = {
        f"{form} {strength:g}, {regime}": (f"fire-{form}", regime, strength)
        for regime in regimes
        for form, strengths in STRENGTHS[of].items()
        for strength in strengths
    }
    return CONTROLS | forms


def tables_table(protocol: ProtocolName) -> Table:
    """Return ten tables under selection bias."""
    cells = tuple(
        Cell(name, column, SelectionBias(name, *of, protocol=protocol), of[1], 100)
        for name in TABLES
        for column, of in columns("tables").items()
    )
    return _table("forms-tables", "Forms on ten tables", protocol, cells, TABLE_NOTE)


def images_table(protocol: ProtocolName) -> Table:
    """Return rotated images at three levels."""
    cells = tuple(
        Cell(f"({a}, {b})", column, _rotated(a, b, of, protocol), of[1], N_SEEDS_IMAGES)
        for a, b in LEVELS
        for column, of in columns("images").items()
    )
    return _table("forms-images", "Forms on rotated images", protocol, cells, IMAGE_NOTE)


def size_table(protocol: ProtocolName) -> Table:
    """Return what the size of a labelled V is worth on rotated images."""
    shown = ("ERM", "trace 0.001, labelled", "align 1, labelled", "V pooled", "V half")
    cells = tuple(
        Cell(
            f"({a}, {b}), V of {n}",
            column,
            replace(_rotated(a, b, of, protocol), n_validation=n),
            of[1],
            N_SEEDS_IMAGES,
        )
        for a, b in (LEVELS[0], LEVELS[-1])
        for n in SIZES
        for column, of in columns("images").items()
        if column in shown
    )
    return _table("forms-size", "Accuracy by the size of V", protocol, cells, IMAGE_NOTE)


def _rotated(a: int, b: int, of: Column, protocol: ProtocolName) -> Rotated:
    return Rotated("fashion_mnist", a, b, *of, protocol=protocol)


def _table(
    name: str, title: str, protocol: ProtocolName, cells: tuple[Cell, ...], note: str
) -> Table:
    tested = tuple(dict.fromkeys(cell.column for cell in cells if cell.column != "ERM"))
    return Table(name, title, protocol, cells, rival="ERM", tested=tested, notes=(note, *NOTES))
