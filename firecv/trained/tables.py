"""A table to predict for, made like the one a model was trained on, or refused by name."""

import warnings
from collections.abc import Collection
from typing import cast

import numpy as np
import pandas as pd

from firecv.data.arrays import Array
from firecv.data.formats.columns import typed
from firecv.data.labels import suggestion
from firecv.data.samples import table
from firecv.data.table_files import Columns
from firecv.errors import DataError, FirecvNotice
from firecv.trained.encoding import Categorical, Encoding

SHOWN = 5
"""Columns that a message names."""


def admitted(
    given: Columns | Array, wanted: Encoding, others: Collection[str] = (), what: str = "the table"
) -> pd.DataFrame:
    """Return the columns a model needs, each as numbers or as categories.

    Parameters
    ----------
    given
        A data frame, arrays by name, or a matrix whose columns are named "0", "1" and so on.
    wanted
        Which columns there were in training, and what they held.
    others
        Columns that may be there without a word, such as the target.
    what
        What to call the table in messages.

    Examples
    --------
    >>> from firecv.trained.encoding import Numeric, Scaling
    >>> wanted = Encoding((Numeric("age", 40.0, Scaling(41.0, 9.0, True), None),))
    >>> admitted(pd.DataFrame({"ill": [1, 0], "age": ["41", ""]}), wanted, {"ill"})["age"].tolist()
    Traceback (most recent call last):
    firecv.errors.DataError: column 'age' of the table holds '' in row 2, but numbers in training...
    """
    frame = _frame(given, what)
    names = [one.name for one in wanted.columns]
    if absent := [name for name in names if name not in frame]:
        near = suggestion(absent[0], map(str, frame.columns))
        raise DataError(f"{what} lacks {_listed(absent)}, which the model needs; {near}")
    known = {*names, *others}
    if extra := [str(name) for name in frame if name not in known]:
        warnings.warn(
            f"{what} has {_listed(extra)}, which the model does not know and ignores",
            FirecvNotice,
            stacklevel=3,
        )
    columns = {
        one.name: _categories(cast(pd.Series, frame[one.name]), one, what)
        if isinstance(one, Categorical)
        else _numbers(cast(pd.Series, frame[one.name]), one.name, what)
        for one in wanted.columns
    }
    return pd.DataFrame(columns)


def _frame(given: Columns | Array, what: str) -> pd.DataFrame:
    if isinstance(given, pd.DataFrame) and not len(given):
        raise DataError(f"{what} has no rows; expected at least one to predict")
    if isinstance(given, np.ndarray):
        given = {"x": given}
    found = table(given, what)
    if found.x is None:
        return found.columns
    if found.x.ndim != 2 or found.x.dtype.kind not in "biuf":
        raise DataError(
            f"{what} is an array of {found.x.dtype} and shape {found.x.shape}; expected numbers "
            f"of shape (n_samples, n_columns), or named columns"
        )
    return pd.DataFrame(found.x, columns=[str(place) for place in range(found.x.shape[1])])


def _numbers(column: pd.Series, name: str, what: str) -> pd.Series:
    """Return a column as float64."""
    if column.isna().all():
        return pd.Series(np.nan, column.index, np.float64)
    if not pd.api.types.is_numeric_dtype(column):
        numbers = cast(pd.Series, pd.to_numeric(column, errors="coerce"))
        bad = ~np.isfinite(numbers.to_numpy(np.float64)) & column.notna().to_numpy()
        if pd.api.types.is_datetime64_any_dtype(column) or bad.any():
            row = int(bad.argmax())
            raise DataError(
                f"column {name!r} of {what} holds {str(column.iloc[row])!r} in row {row + 1}, but "
                f"numbers in training; store it alike in both, a missing value as nothing or NA"
            )
    found = cast(pd.Series, typed(pd.DataFrame({name: column}))[name])
    if found.dtype != np.float64:
        raise DataError(f"column {name!r} of {what} holds {column.dtype}, but numbers in training")
    return found


def _categories(column: pd.Series, wanted: Categorical, what: str) -> pd.Series:
    """Return a column as categories of text."""
    name = wanted.name
    found = cast(pd.Series, typed(pd.DataFrame({name: column}), [name])[name])
    words = [one for one in wanted.categories if one is not None]
    if _is_quantity(column) and words and not any(map(_is_number, words)):
        raise DataError(
            f"column {name!r} of {what} holds {column.dtype}, but text such as {words[0]!r} in "
            f"training; store it alike in both"
        )
    return found


def _is_quantity(column: pd.Series) -> bool:
    """Return whether a column holds numbers or dates, and at least one."""
    kinds = pd.api.types
    is_quantity = kinds.is_numeric_dtype(column) or kinds.is_datetime64_any_dtype(column)
    return is_quantity and not bool(column.isna().all())


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return word in ("True", "False")  # a column of truth values is numeric, too
    return True


def _listed(names: Collection[str]) -> str:
    """Return columns in words, not all if they are many."""
    shown = ", ".join(map(repr, list(names)[:SHOWN]))
    rest = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"the column{'s' if len(names) > 1 else ''} {shown}{rest}"
