"""Strict reading of CSV and TSV, and the types columns get."""

from collections.abc import Collection
from pathlib import Path

import pandas as pd


def read_delimited(path: str | Path) -> pd.DataFrame:
    """Return the table of a CSV or TSV file, plain or gzip, typed as pandas reads it."""
    raise NotImplementedError


def typed(frame: pd.DataFrame, categorical: Collection[str] = ()) -> pd.DataFrame:
    """Return the table with columns float64, category or, for dates, as they were."""
    raise NotImplementedError
