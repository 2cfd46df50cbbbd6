"""Accuracy by the size of V."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from firecv.charts import lines
from firecv.experiments.figures.frames import by_number
from firecv.experiments.summary import TableSummary

if TYPE_CHECKING:
    from altair.typing import ChartType


def accuracy_by_size(found: Mapping[str, TableSummary]) -> "ChartType":
    """Return a chart of accuracy by the size of V, one panel per world."""
    return lines(
        by_number(found["weigh-size"]),
        x="number",
        title="What V is worth",
        x_label="samples of V",
        label="accuracy in percent",
        facet="of",
        log=True,
    )
