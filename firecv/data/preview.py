"""What a method faces: samples of every fragment and of the target, before and after a shift."""

from dataclasses import dataclass

import numpy as np

from firecv.data.arrays import Array, Arrays, Split
from firecv.data.bands import Kind, per_fragment
from firecv.data.encode import encode_parts
from firecv.data.folds import Folds, folds
from firecv.data.fragments import FRAGMENTERS
from firecv.data.selection import Selection
from firecv.data.shifts import SHIFTS
from firecv.data.specification import parse
from firecv.seeding import derive

TARGET = "validation"
AT_MOST = 400
"""Images of a fragment that are looked at; a picture shows fewer."""


@dataclass(frozen=True)
class Glimpse:
    """Inputs of one fragment, or of the target, before and after the shift."""

    name: str
    n_samples: int
    before: Array
    after: Array


def preview(
    split: Split,
    *,
    fragments: str = "iid:n=4",
    shift: str | None = None,
    bands: Kind | None = None,
    seed: int = 0,
) -> tuple[list[Glimpse], list[str]]:
    """Return a glimpse of each fragment and, last, of the target; and the names of the columns.

    The target is the published test part, or a fifth of the samples where there is none. Tables
    come encoded; images have no column names, and of each fragment at most 400 are looked at.

    Parameters
    ----------
    split
        The data set.
    fragments
        How the training part is cut, such as ``"dirichlet:n=5,alpha=0.1"``.
    shift
        What disturbs fragments and target, such as ``"rotation:a=2,b=6"``.
    bands
        A disturbance of each fragment's own, on top.
    seed
        Of all that is drawn.

    Examples
    --------
    >>> from firecv.data import load
    >>> glimpses, _ = preview(load("digits"), fragments="batches:n=2", shift="rotation")
    >>> [(glimpse.name, glimpse.n_samples) for glimpse in glimpses]
    [('batch 1', 719), ('batch 2', 718), ('validation', 360)]
    """
    cutter, settings = parse(fragments, FRAGMENTERS, "fragmenter")
    train, target = _sides(split, seed)
    pieces = cutter.cut(train, derive(seed, "fragments"), settings)
    train, target, columns = _encoded(train, target)
    rng = derive(seed, "glimpse")
    few = [rng.permutation(rows)[: None if columns else AT_MOST] for rows in pieces.values()]
    n_target = len(target)
    target = target.take(rng.permutation(n_target)[: None if columns else AT_MOST])
    before = [train.take(rows) for rows in few]
    after = before if bands is None else per_fragment(train, few, bands, derive(seed, "bands"))
    trained, aimed, aimed_after = _shift(after, target, shift, seed)
    glimpses = [
        Glimpse(name, len(rows), _plain(old), new)
        for (name, rows), old, new in zip(pieces.items(), before, trained, strict=True)
    ]
    return [*glimpses, Glimpse(TARGET, n_target, aimed, aimed_after)], columns


def _sides(split: Split, seed: int) -> tuple[Arrays, Arrays]:
    """Return what is trained on and what is judged on."""
    if split.test is not None:
        return split.train, split.test
    target, *rest = folds(split.train, derive(seed, "target"), Folds(n=5)).values()
    return split.train.take(np.sort(np.concatenate(rest))), split.train.take(target)


def _encoded(train: Arrays, target: Arrays) -> tuple[Arrays, Arrays, list[str]]:
    """Return tables as numbers with their column names, and images as they are."""
    if isinstance(train.x, np.ndarray):
        return train, target, []
    (train, target), transformer = encode_parts(train, target)
    return train, target, np.asarray(transformer.get_feature_names_out(), str).tolist()


def _shift(
    parts: list[Arrays], target: Arrays, shift: str | None, seed: int
) -> tuple[list[Array], Array, Array]:
    """Return the inputs of each part after the shift, and the target's before and after."""
    if shift is None:
        return [_plain(part) for part in parts], _plain(target), _plain(target)
    entry, settings = parse(shift, SHIFTS, "shift")
    x, y = np.concatenate([_plain(part) for part in parts]), np.concatenate([p.y for p in parts])
    trained = entry.apply(x, y, derive(seed, "shift"), "train", settings)
    # A selection deals the rows of one pool out to both sides.
    aim, aim_y = (x, y) if isinstance(settings, Selection) else (_plain(target), target.y)
    aimed = entry.apply(aim, aim_y, derive(seed, "shift"), "target", settings)
    owner = np.repeat(np.arange(len(parts)), [len(part) for part in parts])[trained.rows]
    return [trained.x[owner == index] for index in range(len(parts))], aim, aimed.x


def _plain(arrays: Arrays) -> Array:
    return np.asarray(arrays.x)
