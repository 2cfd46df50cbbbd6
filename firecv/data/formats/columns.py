"""The types that the columns of a table get: float64 or category, dates as they are."""

import math
import re
from collections import Counter
from collections.abc import Collection
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from firecv.errors import DataError

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def typed(frame: pd.DataFrame, categorical: Collection[str] = ()) -> pd.DataFrame:
    """Return a table whose columns are float64 or category, dates being left as they are.

    Numbers and truth values become float64, and so does text if all of it is numbers; other text
    becomes a category. A category is named by text that does not depend on how a number was
    written: 7, 7.0 and "7" are the category "7".

    Parameters
    ----------
    frame
        A table as read or as given by the user; it is not changed.
    categorical
        Columns that are categories whatever they hold.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [41, 27], "code": [7.0, None], "site": ["A", "B"]})
    >>> result = typed(frame, categorical=["code"])
    >>> result.dtypes.map(str).tolist(), result["code"].tolist()
    (['float64', 'category', 'category'], ['7', nan])
    """
    if repeated := [str(name) for name, n in Counter(frame.columns).items() if n > 1]:
        raise DataError(f"the column names {', '.join(repeated)} appear twice; rename the columns")
    if unknown := [name for name in categorical if name not in frame.columns]:
        raise DataError(
            f"the table has no columns {', '.join(map(str, unknown))}, which were named as "
            f"categorical; it has {', '.join(map(str, frame.columns))}"
        )
    columns = {
        name: _category(column, name) if name in categorical else _column(column, str(name))
        for name, column in frame.items()
    }
    return pd.DataFrame(columns, index=frame.index, columns=frame.columns)


def _column(column: pd.Series, name: str) -> pd.Series:
    """Return a column as what it holds."""
    dtype = column.dtype
    if types.is_datetime64_any_dtype(dtype):
        return column
    if isinstance(dtype, pd.CategoricalDtype):
        return _category(column, name)
    if types.is_bool_dtype(dtype) or types.is_numeric_dtype(dtype):
        if not types.is_complex_dtype(dtype):
            return _finite(column.astype("float64"), name)
    elif types.is_string_dtype(dtype) or types.is_object_dtype(dtype):
        return _text_column(column, name)
    raise DataError(
        f"column {name!r} holds {dtype}; expected numbers, truth values, text, categories or dates"
    )


def _finite(column: pd.Series, name: str) -> pd.Series:
    """Return a numeric column in which nothing is infinite."""
    infinite = np.isinf(column.to_numpy())
    if infinite.any():
        row = int(infinite.argmax())
        raise DataError(
            f"column {name!r} is infinite in row {row + 1}; expected finite numbers, leave the "
            f"entry empty if it is unknown"
        )
    return column


def _text_column(column: pd.Series, name: str) -> pd.Series:
    """Return a column of text, or of values of several types, as numbers or as a category."""
    codes, values = _distinct(column, name)
    for code, value in enumerate(values):
        if not isinstance(value, str | int | float | bool | np.number | np.bool):
            raise DataError(
                f"column {name!r} holds {value!r} in row {_row(codes, code)}, of type "
                f"{type(value).__name__}; expected numbers or text"
            )
    numeric = np.array([_is_number(value) for value in values], dtype=bool)
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    if numeric.all():
        numbers = np.array([*(float(cast(str, value)) for value in values), math.nan])
        return _finite(pd.Series(numbers[codes], column.index), name)  # missing has the code -1
    if 2 * counts[numeric].sum() >= counts.sum():
        first = codes[np.isin(codes, np.flatnonzero(~numeric))][0]
        raise DataError(
            f"column {name!r} is mixed: most of it is numbers, but row {_row(codes, first)} has "
            f"{values[first]!r}. Declare it categorical, or clean it: missing values are written "
            f"as nothing, NA or ?"
        )
    return _category(column, name)


def _category(column: pd.Series, name: object) -> pd.Series:
    """Return a column as a category of text."""
    codes, values = _distinct(column, name)
    texts = [_category_text(value) for value in values]
    names = sorted(set(texts))
    place = {text: place for place, text in enumerate(names)}
    merged = np.array([*(place[text] for text in texts), -1], dtype=np.intp)[codes]
    categories = pd.Categorical.from_codes(merged, categories=pd.Index(names, dtype="str"))
    return pd.Series(categories, column.index, name=name)


def _distinct(column: pd.Series, name: object) -> tuple[NDArray[np.intp], list[object]]:
    """Return for each row the place of its value (-1 if missing) among the distinct values."""
    try:
        codes, values = pd.factorize(column)
    except TypeError as error:  # lists and the like
        raise DataError(
            f"column {name!r} holds values that cannot be told apart ({error}); expected numbers "
            f"or text"
        ) from error
    return codes, list(values)


def _row(codes: NDArray[np.intp], code: int) -> int:
    """Return the first row, counted from 1, with this code."""
    return int((codes == code).argmax()) + 1


def _is_number(value: object) -> bool:
    return _NUMBER.fullmatch(value.strip()) is not None if isinstance(value, str) else True


def _category_text(value: object) -> str:
    """Return what a value is called as a category, numbers in their shortest form."""
    text = str(value).strip() if not isinstance(value, np.bool) else str(bool(value))
    if _INTEGER.fullmatch(text):
        return str(int(text))
    if not _NUMBER.fullmatch(text):
        return str(value)
    number = float(text)
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
