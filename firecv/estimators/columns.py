"""Rows of any kind as the standardized columns that fragment weights are learned from.

Numbers keep their column, text becomes one column per value, and missing values an indicator, all
fitted on the fragments' rows (`firecv.data.encode`). Text that names single rows is left out.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from firecv.data.arrays import Arrays
from firecv.data.encode import MOST_CATEGORIES, encode_parts
from firecv.errors import DataError

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

    def take(self, rows: NDArray[np.intp]) -> pd.DataFrame:
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
    frame: pd.DataFrame, frame_val: pd.DataFrame
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the columns of both tables, encoded and standardized as the first one's are.

    Parameters
    ----------
    frame, frame_val
        Rows of fragments and of V, as `Rows.take` returns them.

    Examples
    --------
    >>> some = Rows.of(pd.DataFrame({"age": [20, 40], "town": ["Ulm", "Bonn"]}), "X")
    >>> standardized(some.take(np.arange(2)), some.take(np.arange(1)))[1]
    array([[-1.,  1.]])
    """
    names, names_val = frame.columns.tolist(), frame_val.columns.tolist()
    if names != names_val:
        raise DataError(
            f"X_val has the columns {names_val[:5]} ({len(names_val)}), X has {names[:5]} "
            f"({len(names)}); expected the same"
        )
    texts = [name for name in names if isinstance(frame.dtypes[name], pd.CategoricalDtype)]
    frame_val = frame_val.astype({name: "category" for name in texts})
    counts: dict[str, int] = {name: len(frame[name].unique()) for name in texts}
    single = [name for name, n in counts.items() if n > MOST_CATEGORIES]
    parts = [
        Arrays(part.drop(columns=single), np.zeros(len(part), np.int64), ("any",))
        for part in (frame, frame_val)
    ]
    encoded, _ = encode_parts(*parts)
    x, x_val = (np.clip(part.x, -FARTHEST, FARTHEST).astype(np.float64) for part in encoded)
    return x, x_val


def _column(column: Any) -> Any:
    """Return a column as float64 or category."""
    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        missing = column.isna()
        return column.astype(np.int64).astype(np.float64).mask(missing)
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return column.astype(np.float64).replace([np.inf, -np.inf], np.nan)
    return column.astype("category")
