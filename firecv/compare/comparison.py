"""What a comparison found: tidy tables, plain JSON, a chart and text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import pandas as pd

from firecv.compare.entries import BASELINE
from firecv.compare.words import text_table
from firecv.display import visible
from firecv.errors import DataError

if TYPE_CHECKING:
    from altair.typing import ChartType

Metric = Literal["accuracy", "balanced_accuracy", "auc", "log_loss", "calibration_error"]
Kind = Literal["scores", "summary", "winners"]
Plain = dict[str, object]


@dataclass(frozen=True, eq=False)
class Comparison:
    """What was found.

    Attributes
    ----------
    scores
        A row per method and seed.
    summary
        A row per method: its mean, and how it differs from plain training.
    winners
        A row per regime in which two or more methods compete: the best of all methods that see at
        most as much, or None if it is not beyond noise, and a sentence.
    failed
        A row per training that came to nothing, with the reason.
    said
        The conclusion, and what must be known besides, in sentences.
    metric
        What was scored.
    settings
        How, in the way of JSON.
    data
        Sizes of fragments and validation set, and the names of features.
    """

    scores: pd.DataFrame
    summary: pd.DataFrame
    winners: pd.DataFrame
    failed: pd.DataFrame
    said: tuple[str, ...]
    metric: Metric
    settings: Mapping[str, object]
    data: Mapping[str, object]

    def table(self, kind: Kind = "summary") -> pd.DataFrame:
        """Return one row per method, per method and seed, or per regime.

        Parameters
        ----------
        kind
            "summary", "scores" or "winners".
        """
        if kind not in get_args(Kind):
            raise DataError(f"kind is {kind!r}; expected 'scores', 'summary' or 'winners'")
        return {"scores": self.scores, "summary": self.summary, "winners": self.winners}[kind]

    def plain(self, source: str = "") -> Plain:
        """Return everything in the way of JSON; what is not known is None.

        Parameters
        ----------
        source
            Where the data come from.
        """
        return {
            "kind": "comparison",
            "version": 1,
            "data": {"source": source, **self.data},
            "settings": dict(self.settings),
            "baseline": BASELINE,
            "metric": self.metric,
            "scores": _records(self.scores),
            "summary": _records(self.summary),
            "winners": _records(self.winners),
            "failed": _records(self.failed),
            "said": list(self.said),
        }

    def chart(self) -> "ChartType":
        """Return means and intervals of all methods, coloured by regime; needs Altair."""
        from firecv.charts import intervals

        known = self.summary.query("n_seeds > 0")
        base = known.loc[known["method"] == BASELINE, "label"]
        return intervals(
            known,
            title="Methods side by side",
            label=self.metric.replace("_", " "),
            methods="label",
            colour="regime",
            baseline=None if base.empty else str(base.iloc[0]),
        )

    def __str__(self) -> str:
        """Return the summary and the conclusion as plain text."""
        return "\n".join([text_table(self.summary, self.metric), "", *map(visible, self.said)])


def _records(table: pd.DataFrame) -> list[Plain]:
    """Return a table's rows in the way of JSON."""
    rows = table.astype(object).where(table.notna() & ~table.isin([np.inf, -np.inf]), None)
    return [{str(k): v for k, v in row.items()} for row in rows.to_dict("records")]
