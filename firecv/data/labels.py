"""Values as names: their natural order, and which name was probably meant."""

import math
from collections.abc import Iterable
from difflib import get_close_matches

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from firecv.data.arrays import Array, Rows


def named_codes(values: Array | pd.Series) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the names of the distinct values in natural order, and for each value its place.

    Names that are all numbers are in the order of numbers, others in the order of text. Whole
    numbers are named without a decimal point, however they are stored. No value may be missing.

    Examples
    --------
    >>> names, codes = named_codes(np.array([10.0, 9.0, 10.0]))
    >>> names, codes.tolist()
    (('9', '10'), [1, 0, 1])
    """
    codes, distinct = pd.factorize(values)
    found = [_name(value) for value in distinct]
    names = _in_natural_order(set(found))
    place = {name: code for code, name in enumerate(names)}
    return names, np.array([place[name] for name in found], np.int64)[codes]


def rows_by_code(codes: NDArray[np.int64]) -> list[Rows]:
    """Return for each code from 0 on the rows that have it, ascending.

    Examples
    --------
    >>> [rows.tolist() for rows in rows_by_code(np.array([1, 0, 1]))]
    [[1], [0, 2]]
    """
    ends = np.cumsum(np.bincount(codes))
    return np.split(np.argsort(codes, kind="stable"), ends[:-1])


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of a message on an unknown name: the nearest one, or all there are.

    Examples
    --------
    >>> suggestion("sight", ["age", "site"])
    "did you mean 'site'?"
    """
    known = list(known)
    near = get_close_matches(name, known, n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    shown = ", ".join(map(repr, known[:10])) + (", ..." if len(known) > 10 else "")
    return f"there is {shown}" if known else "there is none"


def _name(value: object) -> str:
    """Return a value as text, whole numbers without a decimal point."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _in_natural_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return names in the order of numbers if all are finite numbers, else of text."""
    names = sorted(names)
    try:
        numbers = {name: float(name) for name in names}
    except ValueError:
        return tuple(names)
    if not all(map(math.isfinite, numbers.values())):
        return tuple(names)
    return tuple(sorted(names, key=numbers.__getitem__))
