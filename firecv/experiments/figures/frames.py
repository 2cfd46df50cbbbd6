"""Cells of a table as lines of a frame, with the number that a row's name ends in."""

import re
from collections.abc import Sequence

import pandas as pd

from firecv.errors import DataError
from firecv.experiments.render.tidy import tidy
from firecv.experiments.summary import TableSummary


def by_number(summary: TableSummary, columns: Sequence[str] = ()) -> pd.DataFrame:
    """Return a table's filled cells with what a row is about and the number in its name.

    A row called "bands, V of 25" gives "bands" as ``of`` and 25 as ``number``.

    Parameters
    ----------
    summary
        What the table says.
    columns
        Columns of the table to keep; all without any.
    """
    frame = filled(summary)
    if columns:
        frame = frame.loc[frame["column"].isin(list(columns))]
    names = [str(name).rpartition(", ") for name in frame["row"]]
    numbers = [float(re.sub(r"\D", "", last)) for _, _, last in names]
    return frame.assign(of=[first for first, _, _ in names], number=numbers)


def filled(summary: TableSummary) -> pd.DataFrame:
    """Return the cells that hold something; raise if there are none."""
    frame = tidy(summary)
    frame = frame.loc[frame["n_held"] > frame["n_diverged"]]
    if frame.empty:
        name = summary.table.name
        raise DataError(f"nothing of the table {name} is stored; run `firecv table {name}` first")
    return frame
