"""How data is cut up: every fragmenter under its name, and what a cut leaves out.

A fragmenter is a function ``(arrays, rng, settings) -> {name: rows}``. Its fragments are disjoint,
together all of the data, never empty, and their rows ascend; the names are for people to read.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from firecv.data.arrays import Arrays
from firecv.data.column import Column, column
from firecv.data.even import Batches, Fragments, Iid, batches, iid
from firecv.data.folds import Folds, folds, folds_rule, repeated_folds
from firecv.data.skew import Dirichlet, Quantity, dirichlet, quantity
from firecv.data.windows import Windows, windows

__all__ = [
    "FRAGMENTERS",
    "Batches",
    "Column",
    "Dirichlet",
    "Folds",
    "Fragmenter",
    "Fragments",
    "Iid",
    "Quantity",
    "Settings",
    "Windows",
    "folds_rule",
    "missing_classes",
    "repeated_folds",
    "taken",
]

Settings = Batches | Column | Dirichlet | Folds | Iid | Quantity | Windows


class Fragmenter(NamedTuple):
    """A way to cut data: the function, the type of its settings, and what it does in a line."""

    cut: Callable[..., Fragments]
    settings: type[Settings]
    summary: str


FRAGMENTERS: dict[str, Fragmenter] = {
    "batches": Fragmenter(batches, Batches, "consecutive pieces of equal size"),
    "iid": Fragmenter(iid, Iid, "random pieces of equal size"),
    "folds": Fragmenter(folds, Folds, "stratified folds, equal inputs in one fold"),
    "dirichlet": Fragmenter(dirichlet, Dirichlet, "pieces that differ in their class shares"),
    "quantity": Fragmenter(quantity, Quantity, "random pieces that differ in size"),
    "column": Fragmenter(column, Column, "one piece per value of a tag, such as the site"),
    "windows": Fragmenter(windows, Windows, "one piece per window of time"),
}


def taken(arrays: Arrays, fragments: Fragments) -> dict[str, Arrays]:
    """Return the samples of every fragment, by its name."""
    return {name: arrays.take(rows) for name, rows in fragments.items()}


def missing_classes(fragments: Mapping[str, Arrays]) -> dict[str, tuple[str, ...]]:
    """Return the classes that fragments have no sample of; complete fragments are left out.

    Examples
    --------
    >>> import numpy as np
    >>> pair = Arrays(np.zeros((3, 1)), np.array([0, 1, 1]), ("no", "yes"))
    >>> missing_classes({"early": pair.take([0, 1]), "late": pair.take([2])})
    {'late': ('no',)}
    """
    missing = {
        name: tuple(label for label, count in arrays.counts().items() if not count)
        for name, arrays in fragments.items()
    }
    return {name: labels for name, labels in missing.items() if labels}
