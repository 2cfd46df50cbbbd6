"""Tables in KEEL form."""

from pathlib import Path

import pandas as pd


def read_keel(path: str | Path) -> pd.DataFrame:
    """Return the table of a KEEL .dat file, or of the one .dat in a KEEL zip, the output column last; columns float64 or category."""
    raise NotImplementedError
