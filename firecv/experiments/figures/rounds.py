"""What happens round by round: accuracy, and whom FIRE listens to."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from firecv.charts import heatmap, lines
from firecv.experiments.figures.frames import by_number, filled
from firecv.experiments.summary import TableSummary

if TYPE_CHECKING:
    from altair.typing import ChartType


def accuracy_per_round(found: Mapping[str, TableSummary]) -> "ChartType":
    """Return a chart of accuracy after every round, one panel per world."""
    return lines(
        by_number(found["weigh-rounds"]),
        x="number",
        title="Accuracy after every round",
        x_label="round",
        label="accuracy in percent",
        facet="of",
    )


def weights_per_round(found: Mapping[str, TableSummary]) -> "ChartType":
    """Return a chart of the clients' weights, mean over seeds, in every round."""
    frame = filled(found["weigh-weights"])
    frame = frame.assign(round=frame["column"].str.removeprefix("round ").astype(int))
    return heatmap(
        frame.rename(columns={"row": "client"}),
        x="round",
        y="client",
        value="mean",
        title="Whom FIRE listens to: V is like the clients 6 to 8 of bands and nuisance",
        x_label="round",
        y_label="world and client",
        label="weight in percent",
    )
