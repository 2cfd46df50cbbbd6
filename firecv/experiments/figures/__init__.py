"""Every figure by name: the tables it draws from, and how."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from firecv.errors import DataError
from firecv.experiments.figures.batching import batching
from firecv.experiments.figures.diagnostics import shift_of_clients
from firecv.experiments.figures.folds import delta_folds
from firecv.experiments.figures.rounds import accuracy_per_round, weights_per_round
from firecv.experiments.figures.sizes import accuracy_by_size
from firecv.experiments.summary import TableSummary

if TYPE_CHECKING:
    from altair.typing import ChartType

Draw = Callable[[Mapping[str, TableSummary]], "ChartType"]


class Figure(NamedTuple):
    """A figure: names of tables, and a function from what they say to a chart."""

    tables: tuple[str, ...]
    draw: Draw
    summary: str


FIGURES: dict[str, Figure] = {
    "delta-folds": Figure(
        ("folds-stcv", "folds-fire"), delta_folds, "gain of FIRE by table and number of folds"
    ),
    "batching": Figure(
        ("batches-stcv", "batches-fire"), batching, "accuracy by the number of batches"
    ),
    "diagnostics": Figure(("diagnostics",), shift_of_clients, "how far clients are from V"),
    "size-of-v": Figure(("weigh-size",), accuracy_by_size, "accuracy by the size of V"),
    "rounds": Figure(("weigh-rounds",), accuracy_per_round, "federated accuracy after every round"),
    "weights": Figure(("weigh-weights",), weights_per_round, "weights of clients in every round"),
}


def figure(name: str) -> Figure:
    """Return a figure by its name.

    Parameters
    ----------
    name
        A key of `FIGURES`.

    Examples
    --------
    >>> figure("batching").tables
    ('batches-stcv', 'batches-fire')
    """
    if name not in FIGURES:
        raise DataError(f"there is no figure {name!r}; choose from {', '.join(FIGURES)}")
    return FIGURES[name]
