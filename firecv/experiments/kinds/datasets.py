"""Data sets that experiments name: whether they can be read here, and whether they are tables."""

from firecv.data.datasets import can_be_fetched, find, is_here
from firecv.errors import DataError


def why_missing(dataset: str) -> str:
    """Return why a data set cannot be read here, or "".

    Examples
    --------
    >>> why_missing("digits")
    ''
    """
    if is_here(dataset):
        return ""
    if can_be_fetched(dataset):
        return f"the data set {dataset} is not at hand; `firecv data fetch {dataset}` gets it"
    return f"the data set {dataset} is not at hand and cannot be fetched automatically"


def check_table(dataset: str) -> None:
    """Raise `DataError` unless there is such a table."""
    if find(dataset).kind != "table":
        raise DataError(f"dataset is {dataset!r}, which holds images; expected a table")
