"""Named columns as samples: which column is the label, which are inputs, which are tags."""

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from firecv.data.arrays import UNKNOWN, Array, Arrays
from firecv.data.formats.delimited import typed
from firecv.data.labels import named_codes, suggestion
from firecv.data.windows import times
from firecv.errors import DataError


@dataclass(frozen=True)
class Roles:
    """Which columns are not plain inputs.

    Attributes
    ----------
    target
        The label.
    fragment, time
        Kept as tags, not as inputs.
    categorical
        Inputs to be read as categories although they look like numbers.
    drop
        Left out.
    """

    target: str
    fragment: str | None = None
    time: str | None = None
    categorical: Collection[str] = ()
    drop: Collection[str] = ()

    def named(self) -> dict[str, str]:
        """Return the columns with a role of their own, by role."""
        roles = {"target": self.target, "fragment": self.fragment, "time": self.time}
        return {role: name for role, name in roles.items() if name is not None}


class Table(NamedTuple):
    """Columns of equal length, what to call them in a message, and the inputs if they are apart."""

    what: str
    columns: pd.DataFrame
    x: Array | None = None


def table(columns: object, what: str) -> Table:
    """Return checked columns; an array named ``x`` of two or more axes is the inputs.

    Examples
    --------
    >>> table({"x": np.zeros((2, 28, 28)), "y": np.array([0, 1])}, "digits").columns.shape
    (2, 1)
    """
    if isinstance(columns, pd.DataFrame):
        frame, x = columns.rename(columns=str).reset_index(drop=True), None
    elif not isinstance(columns, Mapping):
        raise DataError(
            f"{what} is a {type(columns).__name__}; it must be a data frame or arrays by name"
        )
    else:
        arrays = {str(name): np.asarray(values) for name, values in columns.items()}
        x = arrays.pop("x") if "x" in arrays and arrays["x"].ndim > 1 else None
        frame = _frame_of_arrays(arrays, x, what)
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise DataError(f"{what} has more than one column {twice[0]!r}; rename or drop one")
    if not len(frame):
        raise DataError(f"{what} is empty; it needs at least two rows of different classes")
    return Table(what, frame, x)


def check_roles(roles: Roles, train: Table, validation: Table | None) -> None:
    """Raise a `DataError` unless every column named is there and has one use."""
    for role, name in roles.named().items():
        if name not in train.columns:
            raise _no_column(train, name, f" to be the {role}")
    anywhere = {*train.columns, *([] if validation is None else validation.columns)}
    for name in (*roles.categorical, *roles.drop):
        if name not in (train.columns if name in roles.categorical else anywhere):
            raise _no_column(train, name)
    used = [*roles.named().values(), *set(roles.categorical), *set(roles.drop)]
    for name in used:
        if used.count(name) > 1:
            raise DataError(
                f"column {name!r} is given more than one use among target, fragment, time, "
                f"categorical and drop; give it one"
            )
    if train.x is not None and roles.categorical:
        raise DataError(f"the inputs of {train.what} are the array 'x', which has no categories")


def samples(
    source: Table, roles: Roles, like: Arrays | None = None, *, needs_labels: bool = True
) -> Arrays:
    """Return samples with their labels.

    Parameters
    ----------
    source
        The columns.
    roles
        Which of them are not inputs.
    like
        The training data, if these samples are to have its classes and inputs.
    needs_labels
        Whether the target must be there; if it need not be and is not, or is empty in all rows,
        labels are `firecv.data.arrays.UNKNOWN`.

    Examples
    --------
    >>> digits = table({"x": np.zeros((2, 28, 28)), "y": np.array([7, 3])}, "digits")
    >>> samples(digits, Roles("y")).counts()
    {'3': 1, '7': 1}
    """
    kept = source.columns.drop(columns=list(roles.drop), errors="ignore")
    _check_values(kept, source.what)
    if not needs_labels and like is not None and _lacks(source.columns, roles.target):
        classes, y = like.classes, np.full(len(kept), UNKNOWN, np.int64)
    else:
        names, codes = _labels(source, roles.target, like)
        classes = names if like is None else like.classes
        place = {name: code for code, name in enumerate(classes)}
        y = np.array([place[name] for name in names], np.int64)[codes]
    rest = kept.drop(columns=roles.target, errors="ignore")
    tags = {name: rest.pop(name) for name in (roles.fragment, roles.time) if name in rest}
    if source.x is None:
        x = _table_inputs(rest, source.what, roles, None if like is None else like.x)
    else:
        x = _array_inputs(source.x, source.what, None if like is None else like.x)
        tags |= {str(name): column for name, column in rest.items()}
    known = {
        str(name): times(column, f"{name} of {source.what}") if name == roles.time else column.array
        for name, column in tags.items()
    }
    return Arrays(x, y, classes, {name: np.asarray(values) for name, values in known.items()})


def _frame_of_arrays(arrays: dict[str, Array], x: Array | None, what: str) -> pd.DataFrame:
    """Return one-dimensional arrays as a table."""
    for name, values in arrays.items():
        if values.ndim != 1:
            raise DataError(
                f"array {name!r} of {what} has shape {values.shape}; inputs of several axes must "
                f"be named 'x', and all other arrays must have one number or text per sample"
            )
    lengths = {name: len(values) for name, values in arrays.items()}
    lengths |= {} if x is None else {"x": len(x)}
    if len(set(lengths.values())) > 1:
        raise DataError(f"the arrays of {what} differ in length: {lengths}; they must be as long")
    return pd.DataFrame(arrays, index=range(max(lengths.values(), default=0)))


def _check_values(frame: pd.DataFrame, what: str) -> None:
    """Raise a `DataError` if a column holds lists or other things that are not single values."""
    for name, column in frame.items():
        for row, value in enumerate(column if column.dtype == object else (), start=1):
            if not isinstance(value, Hashable):
                raise DataError(
                    f"column {name!r} of {what} holds a {type(value).__name__} in row {row}; "
                    f"expected one number or text per row, so split it into columns or drop it"
                )


def _lacks(frame: pd.DataFrame, name: str) -> bool:
    """Return whether a column is absent or empty in all rows."""
    return name not in frame or bool(frame[[name]].isna().to_numpy().all())


def _labels(
    source: Table, target: str, like: Arrays | None
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the names of the labels and their codes, having checked them."""
    if target not in source.columns:
        raise _no_column(source, target, " to be the target")
    column = cast(pd.Series, source.columns[target])
    what = f"target {target!r} of {source.what}"
    missing = column.isna().to_numpy()
    if missing.any():
        raise DataError(
            f"{what} is missing in {missing.sum()} of {len(column)} rows, first in row "
            f"{int(missing.argmax()) + 1}; fill it in or leave these rows out"
        )
    names, codes = named_codes(column)
    if like is not None:
        if unknown := [name for name in names if name not in like.classes]:
            raise DataError(
                f"{what} has the class {unknown[0]!r}, which the training data has not, so no "
                f"model can learn it; add samples of it there or remove it here"
            )
    elif len(names) == 1:
        raise DataError(f"{what} has only the class {names[0]!r}; it needs two or more")
    elif pd.api.types.is_numeric_dtype(column) and len(names) > max(2, len(column) / 2):
        raise DataError(
            f"{what} has {len(names)} different numbers in {len(column)} rows and looks like a "
            f"quantity; only classes can be learnt, so group it into a few or name another target"
        )
    return names, codes


def _table_inputs(
    frame: pd.DataFrame, what: str, roles: Roles, like: Array | pd.DataFrame | None
) -> pd.DataFrame:
    """Return input columns with their types, those of `like` in its order."""
    if not frame.shape[1]:
        raise DataError(f"{what} has no input column beside those with another use or dropped")
    if like is not None:
        wanted = list(like.columns) if isinstance(like, pd.DataFrame) else []
        if absent := [name for name in wanted if name not in frame]:
            raise DataError(f"{what} lacks the columns {absent}, which the training data has")
        if extra := [name for name in frame if name not in wanted]:
            raise DataError(f"{what} has the columns {extra}, which the training data has not")
        frame = frame.reindex(columns=wanted)
    dates = frame.select_dtypes(["datetime", "datetimetz", "timedelta"]).columns
    if len(dates):
        raise DataError(
            f"column {dates[0]!r} of {what} holds dates, which cannot be inputs; drop it, turn it "
            f"into numbers, or cut the data by it with time and window"
        )
    try:
        frame = typed(frame, roles.categorical)
    except DataError as error:
        raise DataError(f"{what}: {error}") from error
    return frame if like is None else _same_kinds(frame, what, cast(pd.DataFrame, like))


def _same_kinds(frame: pd.DataFrame, what: str, like: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose columns are numeric or categorical where those of `like` are."""
    for name in frame.columns:
        kinds = [isinstance(one[name].dtype, pd.CategoricalDtype) for one in (frame, like)]
        if kinds[0] == kinds[1]:
            continue
        if not frame[[name]].isna().to_numpy().all():
            here, there = ("text" if kind else "numbers" for kind in kinds)
            raise DataError(
                f"column {name!r} of {what} holds {here}, but {there} in the training data; store "
                f"it alike in both"
            )
        frame = frame.assign(**{name: frame[name].astype(like[name].dtype)})
    return frame


def _array_inputs(x: Array, what: str, like: Array | pd.DataFrame | None) -> Array:
    """Return the inputs that came as one array, having checked them."""
    if x.dtype.kind not in "biuf" or not x.size:
        raise DataError(f"'x' of {what} is {x.dtype} of shape {x.shape}; it must hold numbers")
    if x.dtype.kind == "f" and np.isinf(x).any():
        raise DataError(f"'x' of {what} holds infinite values; make them NaN or leave them out")
    if like is not None and (isinstance(like, pd.DataFrame) or like.shape[1:] != x.shape[1:]):
        raise DataError(
            f"one sample of {what} has shape {x.shape[1:]}, one of the training data "
            f"{like.shape[1:]}; they must be alike"
        )
    return x


def _no_column(source: Table, name: str, use: str = "") -> DataError:
    """Return the error for a column that is not there."""
    return DataError(
        f"{source.what} has no column {name!r}{use}; {suggestion(name, source.columns)}"
    )
