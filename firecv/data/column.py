"""Fragments by the value of a tag: the site, the writer, the device."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from firecv.data.arrays import Array, Arrays
from firecv.data.even import Fragments, check_enough, check_whole
from firecv.data.labels import named_codes, rows_by_code, suggestion
from firecv.errors import DataError


@dataclass(frozen=True)
class Column:
    """Cut by the values of one tag.

    Attributes
    ----------
    name
        Name of the tag.
    min_size
        Fewest samples a fragment may have.
    small
        What to do with smaller ones: "error", or "merge" them into one fragment named "rest",
        with the smallest of the others if it takes these to reach `min_size`.
    """

    name: str
    min_size: int = 1
    small: Literal["error", "merge"] = "error"

    def __post_init__(self) -> None:
        """Check the settings."""
        check_whole("min_size", self.min_size)
        if self.small not in ("error", "merge"):
            raise DataError(f"small is {self.small!r}; it must be 'error' or 'merge'")


def column(arrays: Arrays, rng: np.random.Generator, settings: Column) -> Fragments:
    """Return one fragment per value of a tag, in the order of values; `rng` is not used.

    Examples
    --------
    >>> towns = {"site": np.array(["Ulm", "Bonn", "Ulm"])}
    >>> three = Arrays(np.zeros((3, 1)), np.array([0, 1, 0]), ("a", "b"), towns)
    >>> cut = column(three, np.random.default_rng(), Column("site"))
    >>> {name: rows.tolist() for name, rows in cut.items()}
    {'Bonn': [1], 'Ulm': [0, 2]}
    """
    values = tag(arrays, settings.name)
    if n_missing := int(pd.isna(values).sum()):
        raise DataError(
            f"{settings.name!r} is missing for {n_missing} of {len(arrays)} samples; fill it in "
            f"or leave these samples out"
        )
    check_enough(arrays, 1, settings.min_size)
    names, codes = named_codes(values)
    cut = dict(zip(names, rows_by_code(codes), strict=True))
    small = [name for name, rows in cut.items() if len(rows) < settings.min_size]
    if not small:
        return cut
    if settings.small == "error":
        raise DataError(
            f"{len(small)} values of {settings.name!r} have fewer than {settings.min_size} "
            f"samples, {small[0]!r} for one has {len(cut[small[0]])}; lower min_size or merge them "
            f"with small='merge'"
        )
    return _with_rest(cut, settings.min_size)


def tag(arrays: Arrays, name: str) -> Array:
    """Return a tag by its name, or raise a `DataError` that names the nearest."""
    if name not in arrays.tags:
        raise DataError(f"samples have no tag {name!r}; {suggestion(name, arrays.tags)}")
    return arrays.tags[name]


def _with_rest(cut: Fragments, min_size: int) -> Fragments:
    """Return fragments with the smallest of them made one of at least `min_size`."""
    rest: list[str] = []
    n_rest = 0
    for name in sorted(cut, key=lambda name: len(cut[name])):
        if min(len(cut[name]), n_rest) >= min_size:
            break
        rest.append(name)
        n_rest += len(cut[name])
    kept = {name: rows for name, rows in cut.items() if name not in rest}
    title = "rest"
    while title in kept:
        title = f"({title})"
    return kept | {title: np.sort(np.concatenate([cut[name] for name in rest]))}
