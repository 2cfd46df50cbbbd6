"""From a tidy frame to what Altair draws: plain checked values, however many."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from firecv.charts.theme import Values, field_name, need_altair
from firecv.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    from altair import Tooltip


def rows(frame: "pd.DataFrame", columns: Sequence[str | None]) -> Values:
    """Return the columns of a frame as data of a chart; NaN and infinities become gaps.

    Parameters
    ----------
    frame
        One line for each mark.
    columns
        Those that are drawn; None stands for one that is not.
    """
    need_altair()
    wanted = list(dict.fromkeys(column for column in columns if column is not None))
    if missing := [column for column in wanted if column not in frame.columns]:
        have = ", ".join(map(str, frame.columns))
        raise DataError(
            f"the frame has no column {', '.join(map(repr, missing))}, only {have}; rename its "
            f"columns or name others"
        )
    if frame.empty:
        raise DataError("there is nothing to draw; give a frame with at least one line")
    text = frame[wanted].to_json(orient="records", double_precision=12)
    return {"values": json.loads(str(text))}  # unlike alt.Data not checked value by value


def in_order(frame: "pd.DataFrame", column: str | None) -> list[str]:
    """Return the values of a column in the order in which they first occur."""
    return [] if column is None else [str(value) for value in dict.fromkeys(frame[column])]


def tooltips(names: Sequence[str], numbers: Sequence[str]) -> "list[Tooltip]":
    """Return what appears over a mark that is pointed at: names as they are, numbers cut short."""
    import altair as alt

    return [
        *[alt.Tooltip(field=field_name(name), type="nominal", title=name) for name in names],
        *[
            alt.Tooltip(field=field_name(name), type="quantitative", format=".4g", title=name)
            for name in numbers
        ],
    ]
