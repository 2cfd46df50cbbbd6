"""How far each client is from V."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from firecv.charts import lines
from firecv.experiments.figures.frames import by_number
from firecv.experiments.summary import TableSummary

if TYPE_CHECKING:
    from altair.typing import ChartType


def shift_of_clients(found: Mapping[str, TableSummary]) -> "ChartType":
    """Return a chart of the AUC of client against V, by client, one panel per world."""
    return lines(
        by_number(found["diagnostics"], ["auc"]),
        x="number",
        title="Which clients can be told from V",
        x_label="client",
        label="AUC of client against V (0.5: alike)",
        facet="of",
    )
