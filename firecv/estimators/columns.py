"""Rows of any kind as the standardized columns that fragment weights are learned from.

Numbers keep their column, text becomes one column per value, and missing values an indicator, all
fitted on the fragments' rows (`firecv.data.encode`). Text that names single rows is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from firecv.data.arrays import Arrays
from firecv.data.encode import MOST_CATEGORIES, encode_parts
from firecv.errors import DataError

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

FARTHEST = 10.0
"""Standard deviations: what lies farther out is an outlier or another unit, and is brought here."""


@dataclass(frozen=True)
class Rows:
    """Rows as they were given, of which some can be taken as a table.

    Attributes
    ----------
    values
        A data frame, a sparse matrix, or an array whose first axis runs over the rows.
    """

    values: Any

    @classmethod
    def of(cls, values: Any, name: str) -> "Rows":
        """Return rows of anything array-like; `name` is what an error calls it."""
        if not isinstance(values, pd.DataFrame) and not sparse.issparse(values):
            values = np.asarray(values)
            if values.ndim < 2:
                raise DataError(
                    f"{name} has shape {values.shape}; expected one row per sample and one column "
                    f"per feature"
                )
        if not values.shape[0]:
            raise DataError(f"{name} has no rows; expected at least one")
        return cls(values)

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.values.shape[0])

    def numbers(self, rows: Integers) -> Floats | None:
        """Return some rows of an array of finite numbers; None of anything else."""
        if not isinstance(self.values, np.ndarray) or self.values.dtype.kind not in "biuf":
            return None
        part = self.values[rows].reshape(len(rows), -1).astype(np.float64)
        return part if np.isfinite(part).all() else None

    def take(self, rows: Integers) -> pd.DataFrame:
        """Return some rows as a table of numbers and categories."""
        if isinstance(self.values, pd.DataFrame):
            frame = self.values.iloc[rows].reset_index(drop=True)
        elif sparse.issparse(self.values):
            frame = pd.DataFrame(self.values.tocsr()[rows].toarray())
        else:
            frame = pd.DataFrame(self.values[rows].reshape(len(rows), -1)).infer_objects()
        columns = {str(name): _column(column) for name, column in frame.items()}
        return pd.DataFrame(columns)


def standardized(
    rows: Rows, chosen: Integers, rows_val: Rows, chosen_val: Integers
) -> tuple[Floats, Floats]:
    """Return the columns of some rows of fragments and of V, standardized as the fragments' are.

    Parameters
    ----------
    rows, rows_val
        Rows of fragments and of V.
    chosen, chosen_val
        Which of them to take.

    Examples
    --------
    >>> some = Rows.of(pd.DataFrame({"age": [20, 40], "town": ["Ulm", "Bonn"]}), "X")
    >>> standardized(some, np.arange(2), some, np.arange(1))[1]
    array([[-1.,  1.]])
    """
    numbers, numbers_val = rows.numbers(chosen), rows_val.numbers(chosen_val)
    if numbers is not None and numbers_val is not None:
        _check_columns(range(numbers.shape[1]), range(numbers_val.shape[1]))
        mean, spread = numbers.mean(axis=0), numbers.std(axis=0)
        scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12 * abs(mean))
        parts = [(part - mean) * scale for part in (numbers, numbers_val)]
    else:
        parts = _encoded(rows.take(chosen), rows_val.take(chosen_val))
    x, x_val = (np.clip(part, -FARTHEST, FARTHEST).astype(np.float64) for part in parts)
    return x, x_val


def _encoded(frame: pd.DataFrame, frame_val: pd.DataFrame) -> list[NDArray[Any]]:
    """Return tables with text and missing values as numbers."""
    names = frame.columns.tolist()
    _check_columns(names, frame_val.columns.tolist())
    texts = [name for name in names if isinstance(frame.dtypes[name], pd.CategoricalDtype)]
    frame_val = frame_val.astype({name: "category" for name in texts})
    counts: dict[str, int] = {name: len(frame[name].unique()) for name in texts}
    single = [name for name, n in counts.items() if n > MOST_CATEGORIES]
    parts = [
        Arrays(part.drop(columns=single), np.zeros(len(part), np.int64), ("any",))
        for part in (frame, frame_val)
    ]
    return [np.asarray(part.x) for part in encode_parts(*parts)[0]]


def _check_columns(names: Sequence[object], names_val: Sequence[object]) -> None:
    if list(names) != list(names_val):
        raise DataError(
            f"X_val has the columns {list(names_val[:5])} ({len(names_val)}), X has "
            f"{list(names[:5])} ({len(names)}); expected the same"
        )


def _column(column: Any) -> Any:
    """Return a column as float64 or category."""
    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        missing = column.isna()
        return column.astype(np.int64).astype(np.float64).mask(missing)
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return column.astype(np.float64).replace([np.inf, -np.inf], np.nan)
    return column.astype("category")
