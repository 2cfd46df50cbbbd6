"""Weights by influence on tables cut into fragments: beside the controls, and how they depend."""

from dataclasses import replace

from firecv.experiments.kinds.cut import Cut
from firecv.experiments.kinds.natural import Method, Model
from firecv.experiments.spec import Cell, ProtocolName, Table
from firecv.regimes import Regime

TABLES = {
    "australian": "australian",
    "breast cancer": "wisconsin",
    "diabetes": "pima",
    "heart": "heart",
    "sonar": "sonar",
    "phoneme": "phoneme",
    "spambase": "spambase",
}
MODELS: tuple[Model, ...] = ("linear", "boosting")
SIZES = (20, 50)
COLUMNS: dict[str, tuple[Method, Regime]] = {
    "majority": ("majority", "none"),
    "ERM": ("erm", "none"),
    "V pooled": ("pooled", "labelled"),
    "V half": ("half", "labelled"),
    "V share by CV": ("share", "labelled"),
    "V alone": ("alone", "labelled"),
    "FIRE": ("fire", "labelled"),
}
WORLD = (
    "Rows are selected for training with probability 1 / (1 + exp(-v)), v being the row's place "
    "along a random direction, with standard deviation 4 (Cortes et al., 2008). The training rows "
    "are cut along v into fragments of equal size; the rows left over are the target, of which n_V "
    "are V and the others the test set, in both protocols.",
    "All settings were fixed before the first run.",
)
CHANGES: dict[str, dict[str, int]] = {
    "3 fragments": {"n_fragments": 3},
    "10 fragments": {"n_fragments": 10},
    "30 fragments": {"n_fragments": 30},
    "100 fragments": {"n_fragments": 100},
    "300 fragments": {"n_fragments": 300},
    "10 fragments, 5 garbage": {"n_fragments": 10, "n_garbage": 5},
    "100 fragments, 50 garbage": {"n_fragments": 100, "n_garbage": 50},
    "10 fragments, each twice": {"n_fragments": 10, "n_copies": 2},
}
SETTINGS: dict[str, dict[str, float | int]] = {
    "FIRE": {},
    "pull x3": {"strength": 1 / 3},
    "pull /3": {"strength": 3.0},
    "3 folds": {"n_folds": 3},
    "10 folds": {"n_folds": 10},
    "3 components": {"n_axes": 3},
}


def tables_table(protocol: ProtocolName) -> Table:
    """Return the table of the tables under selection bias, cut into five fragments."""
    cells = tuple(
        Cell(
            f"{row}, {model}, {n} labels",
            column,
            Cut(dataset, model, method, n),
            regime,
            20 if model == "linear" else 12,
        )
        for n in SIZES
        for model in MODELS
        for row, dataset in TABLES.items()
        for column, (method, regime) in COLUMNS.items()
    )
    return Table(
        "influence-tables",
        "Accuracy on tables under selection bias, cut into five fragments",
        protocol,
        cells,
        rival="V pooled",
        tested=("FIRE",),
        notes=WORLD,
    )


def sensitivity_table(protocol: ProtocolName) -> Table:
    """Return the table of what weights by influence depend on."""
    cells = tuple(
        Cell(f"{name}, {change}", column, setting, "labelled", 10)
        for name in ("phoneme", "spambase")
        for change, world in CHANGES.items()
        for column, setting in {
            "V pooled": replace(Cut(name, method="pooled"), **world),
            "V half": replace(Cut(name, method="half"), **world),
            "V alone": replace(Cut(name, method="alone"), **world),
            **{
                label: replace(Cut(name, method="fire"), **world, **settings)
                for label, settings in SETTINGS.items()
            },
        }.items()
    )
    notes = (
        *WORLD,
        "50 labels, logistic regression. Garbage: every other fragment, from the farthest on, has "
        "shuffled labels. Pull: rho KL(w || prior), of which the default is rho = 10 / n_V.",
    )
    return Table(
        "influence-sensitivity",
        "Accuracy with weights by influence in other settings and worlds",
        protocol,
        cells,
        rival="V pooled",
        tested=("FIRE",),
        notes=notes,
    )
