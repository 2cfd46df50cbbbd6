"""The paper's figure of accuracy by the number of batches."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from firecv.charts import lines
from firecv.experiments.figures.frames import by_number
from firecv.experiments.summary import TableSummary

if TYPE_CHECKING:
    from altair.typing import ChartType

NAMES = {"batches-stcv": "st-CV", "batches-fire": "FIRE (paper)"}


def batching(found: Mapping[str, TableSummary]) -> "ChartType":
    """Return a chart of the mean accuracy over batches, by how many there are."""
    frames = [by_number(found[name], ["mean"]).assign(column=NAMES[name]) for name in NAMES]
    return lines(
        pd.concat(frames),
        x="number",
        title="The more batches, the fewer images in each",
        x_label="batches",
        label="accuracy in percent, mean over batches",
        facet="of",
    )
