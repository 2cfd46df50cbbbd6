"""The charts of a diagnosis, as `firecv.charts` draws them."""

from typing import TYPE_CHECKING

import pandas as pd

from firecv.charts import bars, heatmap, intervals
from firecv.errors import DataError

if TYPE_CHECKING:
    from altair.typing import ChartType

MOST_FRAGMENTS = 4
"""Fragments whose features are drawn: those that are easiest to tell from V."""
MOST_FEATURES = 12


def fragments_chart(fragments: pd.DataFrame) -> "ChartType":
    """Return how well each fragment can be told from V, with 95 % intervals."""
    drawn = _known(fragments, "auc").rename(
        columns={"auc": "mean", "auc_low": "low", "auc_high": "high"}
    )
    drawn["told apart"] = ["yes" if alarm else "no" for alarm in drawn["alarm"]]
    return intervals(
        drawn,
        title="How well rows of each fragment can be told from those of V",
        label="AUC; 0.5 is chance",
        methods="fragment",
        colour="told apart",
    )


def features_chart(features: pd.DataFrame, fragments: pd.DataFrame) -> "ChartType":
    """Return the features that tell fragments from V, for the fragments with the largest AUC."""
    far = _known(fragments, "auc").sort_values("auc", ascending=False)["fragment"]
    shown = far.head(MOST_FRAGMENTS).tolist()
    drawn = _known(features, "importance")
    drawn = drawn.set_index("fragment").loc[shown].reset_index()
    order = drawn.sort_values("importance", ascending=False)["feature"]
    most = list(dict.fromkeys(order))[:MOST_FEATURES]
    return bars(
        drawn.set_index("feature").loc[most].reset_index(),
        title="What tells fragments from V: how far the AUC falls when a feature is shuffled",
        label="fall of the AUC",
        group="fragment",
        group_label="fragment",
        row="feature",
        value="importance",
    )


def pairs_chart(pairs: pd.DataFrame) -> "ChartType":
    """Return how well fragments can be told from each other."""
    known = _known(pairs, "auc")
    turned = known.rename(columns={"first": "second", "second": "first"})
    names = dict.fromkeys([*known["first"], *known["second"]])
    both = pd.concat([known, turned], ignore_index=True).set_index(["first", "second"])
    cells = pd.MultiIndex.from_product([names, names], names=["first", "second"])
    return heatmap(
        both.reindex(cells).reset_index(),  # nothing on the diagonal
        x="first",
        y="second",
        value="auc",
        title="How well rows of two fragments can be told apart",
        x_label="",
        y_label="",
        label="AUC",
    )


def _known(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the rows in which a number is known."""
    known = table.dropna(subset=column) if len(table) else table
    if known.empty:
        raise DataError(f"there is no {column} to draw: fragments are too small, or too many")
    return known.copy()
