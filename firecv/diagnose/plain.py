"""Tables and numbers as plain JSON, which has neither NaN nor infinities."""

import math
from collections.abc import Mapping
from typing import cast

import pandas as pd

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
VERSION = 1
"""Of the JSON of a diagnosis."""


def records(table: pd.DataFrame) -> list[Json]:
    """Return a table as a list of rows by name of column.

    Examples
    --------
    >>> records(pd.DataFrame({"site": ["Ulm", "Bonn"], "auc": [0.5, math.nan]}))
    [{'site': 'Ulm', 'auc': 0.5}, {'site': 'Bonn', 'auc': None}]
    """
    rows = cast("list[Mapping[str, object]]", table.to_dict("records"))
    return [{name: _value(value) for name, value in row.items()} for row in rows]


def finite(value: float) -> float | None:
    """Return a number, or None if it is NaN or infinite."""
    return value if math.isfinite(value) else None


def _value(value: object) -> Json:
    """Return a cell of a table as JSON has it."""
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return finite(value)
    raise TypeError(f"a table holds a {type(value).__name__}, which JSON does not have")
