"""The user's own data: a file or a data frame as training fragments and a validation set."""

from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from firecv.data.arrays import Arrays, Fragmented, Rows, duplicates
from firecv.data.column import Column, column
from firecv.data.even import Fragments
from firecv.data.fragments import taken
from firecv.data.limits import Limits
from firecv.data.samples import Roles, Table, check_roles, samples, table
from firecv.data.table_files import Columns, read_columns
from firecv.data.windows import Windows, windows
from firecv.errors import DataError
from firecv.seeding import derive

Validation = Columns | str | Path | float | None


def read_own(
    path: str | Path,
    *,
    target: str,
    fragment: str | None = None,
    time: str | None = None,
    window: float | str | None = None,
    validation: Validation = None,
    categorical: Collection[str] = (),
    drop: Collection[str] = (),
    seed: int = 0,
    needs_labels: bool = True,
    limits: Limits | None = None,
) -> Fragmented:
    """Return the data of a file in fragments; `own` says what the options mean.

    Formats are told by the ending: see `firecv.data.table_files.read_columns`. In an ``.npz`` file
    arrays of one axis are columns; an array ``x`` of more axes is the inputs, in the shape it
    has, and columns without a use are then tags.
    """
    roles = Roles(target, fragment, time, _names(categorical), _names(drop))
    return _fragmented(
        table(read_columns(path, limits), str(path)),
        _held_table(validation, limits),
        roles,
        window,
        seed,
        needs_labels=needs_labels,
        limits=limits or Limits(),
    )


def own(
    data: Columns,
    *,
    target: str,
    fragment: str | None = None,
    time: str | None = None,
    window: float | str | None = None,
    validation: Validation = None,
    categorical: Collection[str] = (),
    drop: Collection[str] = (),
    seed: int = 0,
    needs_labels: bool = True,
    limits: Limits | None = None,
) -> Fragmented:
    """Return data at hand in fragments.

    Parameters
    ----------
    data
        A data frame, or arrays by name as in an ``.npz`` file.
    target
        The column to predict. Its classes are in the order of numbers or of text.
    fragment
        The column that says which fragment a row belongs to.
    time, window
        A column of numbers or dates and the width of a window, each window being a fragment; see
        `firecv.data.windows.Windows`. With neither these nor `fragment`, all rows are one
        fragment named "all".
    validation
        Other data or the path of another file, with the same columns (`fragment` and `time` may
        be absent); or the share of rows, between 0 and 1, to hold out of every class in every
        fragment.
    categorical
        Columns of numbers that name categories.
    drop
        Columns to leave out.
    seed
        Seed of the rows held out.
    needs_labels
        Whether validation data must have the target. If it need not, and the column is absent or
        empty in all rows, labels are `firecv.data.arrays.UNKNOWN` and ``is_labelled`` is False.
    limits
        How large data may be, ``Limits()`` by default; see `firecv.data.limits.Limits`.

    Examples
    --------
    >>> frame = pd.DataFrame({"site": ["A", "B"] * 4, "age": range(8), "ill": [0, 0, 1, 1] * 2})
    >>> data = own(frame, target="ill", fragment="site", validation=0.5)
    >>> {name: part.counts() for name, part in data.fragments.items()}
    {'A': {'0': 1, '1': 1}, 'B': {'0': 1, '1': 1}}
    >>> data.validation.counts(), list(data.validation.x.columns)
    ({'0': 2, '1': 2}, ['age'])
    """
    roles = Roles(target, fragment, time, _names(categorical), _names(drop))
    return _fragmented(
        table(data, "the data"),
        _held_table(validation, limits),
        roles,
        window,
        seed,
        needs_labels=needs_labels,
        limits=limits or Limits(),
    )


def shared_rows(data: Fragmented) -> int:
    """Return how many validation samples have exactly the inputs of a training sample.

    Examples
    --------
    >>> train = Arrays(np.array([[1.0], [2.0]]), np.array([0, 1]), ("a", "b"))
    >>> held = Arrays(np.array([[2.0], [3.0], [2.0]]), np.array([0, 1, 1]), ("a", "b"))
    >>> shared_rows(Fragmented({"all": train}, held))
    2
    """
    if data.validation is None:
        return 0
    parts = [*(part.x for part in data.fragments.values()), data.validation.x]
    frames = [part for part in parts if isinstance(part, pd.DataFrame)]
    x = pd.concat(frames, ignore_index=True) if frames else np.concatenate(parts)
    n_train = len(x) - len(data.validation)
    return int((duplicates(x)[n_train:] < n_train).sum())


def _names(names: Collection[str]) -> tuple[str, ...]:
    """Return column names; a single text is one name, not its letters."""
    return (names,) if isinstance(names, str) else tuple(names)


def _held_table(validation: Validation, limits: Limits | None) -> Table | float | None:
    """Return validation data as a table; a share or nothing as it is."""
    if isinstance(validation, str | Path):
        return table(read_columns(validation, limits), str(validation))
    if isinstance(validation, pd.DataFrame | Mapping):
        return table(validation, "the validation data")
    return validation


def _fragmented(
    train: Table,
    validation: Table | float | None,
    roles: Roles,
    window: float | str | None,
    seed: int,
    *,
    needs_labels: bool,
    limits: Limits,
) -> Fragmented:
    """Return fragments of one table and a validation set from another, from itself or none."""
    for one in (train, validation):
        if isinstance(one, Table):
            limits.check_table(one.what, *one.columns.shape)
    check_roles(roles, train, validation if isinstance(validation, Table) else None)
    arrays = samples(train, roles)
    limits.check(f"target {roles.target!r}", classes=len(arrays.classes))
    cut = _cut(arrays, roles, window)
    limits.check(train.what, fragments=len(cut))
    if isinstance(validation, Table):
        held = samples(validation, roles, like=arrays, needs_labels=needs_labels)
        return Fragmented(taken(arrays, cut), held)
    if validation is None:
        return Fragmented(taken(arrays, cut))
    held = _hold_out(arrays, cut, validation, derive(seed, "validation"))
    left = {name: np.setdiff1d(rows, held) for name, rows in cut.items()}
    _check_held_out(arrays, left, held, validation)
    return Fragmented(taken(arrays, left), arrays.take(held))


def _cut(arrays: Arrays, roles: Roles, window: float | str | None) -> Fragments:
    """Return the fragments that the options ask for."""
    if (roles.time is None) != (window is None):
        raise DataError(
            f"time is {roles.time!r} and window is {window!r}; give both, such as "
            f"time='date', window='month', or neither"
        )
    rng = np.random.default_rng(0)  # these fragmenters draw nothing
    if roles.fragment is not None and roles.time is not None:
        raise DataError(
            f"got both fragment={roles.fragment!r} and time={roles.time!r}; rows can be cut by one "
            f"of them only, so leave the other out"
        )
    if roles.fragment is not None:
        return column(arrays, rng, Column(roles.fragment))
    if roles.time is not None and window is not None:
        return windows(arrays, rng, Windows(roles.time, window))
    return {"all": np.arange(len(arrays))}


def _hold_out(arrays: Arrays, cut: Fragments, share: float, rng: np.random.Generator) -> Rows:
    """Return the rows to hold out: `share` of each class in each fragment, to within one row."""
    if not 0 < share < 1:
        raise DataError(f"validation is {share!r}; it must be a file, data, or a share in (0, 1)")
    fragment = np.empty(len(arrays), np.intp)
    for code, rows in enumerate(cut.values()):
        fragment[rows] = code
    # Every 1/share-th row of the rows sorted by class and fragment, shuffled within these: classes
    # get their share to within one row, too.
    order = np.lexsort((rng.random(len(arrays)), fragment, arrays.y))
    marks = np.floor(np.arange(len(arrays) + 1) * share + rng.random())
    return np.sort(order[np.diff(marks) > 0])


def _check_held_out(arrays: Arrays, left: Fragments, held: Rows, share: float) -> None:
    """Raise a `DataError` if holding rows out leaves a class or a fragment without any."""
    for name, rows in left.items():
        if not len(rows):
            raise DataError(
                f"a validation share of {share} takes all rows of fragment {name!r}; lower it, or "
                f"give validation data of its own"
            )
    training = np.concatenate(list(left.values()))
    for rows, where in ((held, "the validation set"), (training, "the training data")):
        if absent := [name for name, n in arrays.take(rows).counts().items() if not n]:
            raise DataError(
                f"a validation share of {share} leaves no sample of class {absent[0]!r} in "
                f"{where}; change the share, or give validation data of its own"
            )
