"""Tables in ARFF form."""

from pathlib import Path

import pandas as pd


def read_arff(path: str | Path) -> pd.DataFrame:
    """Return the table of a dense ARFF file; columns float64 or category."""
    raise NotImplementedError
