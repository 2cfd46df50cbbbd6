"""The user's data as all methods are given them: of bearable size, encoded, checked."""

import hashlib
import json
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from firecv.data.arrays import Array, Arrays, Fragmented, Rows, Split, checksum, duplicates
from firecv.data.encode import channels_first, encode
from firecv.errors import DataError
from firecv.seeding import derive

Protocol = Literal["clean", "paper"]

AT_MOST, AT_MOST_IMAGES = 20_000, 4_000
"""Rows to train on, and rows of the validation set; more are left out."""
FEWEST_HELD = 4
FEWEST_DISTINCT = 20
"""With fewer distinct inputs than this in the validation set, equal ones cannot stay together."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """What methods train on and are scored on.

    Attributes
    ----------
    x, y
        Training samples of all fragments, (n_samples, n_features) in single precision.
    fragments
        The fragment of each.
    held_x, held_y
        The validation set.
    first
        For each of its rows the first with the same inputs, which stay on one side of a split.
    image_shape
        Channels, height and width of images; None for tables.
    n_given
        Rows to train on and rows of the validation set before any were left out.
    """

    x: Array
    y: NDArray[np.int64]
    fragments: Array
    held_x: Array
    held_y: NDArray[np.int64]
    first: Rows
    image_shape: tuple[int, int, int] | None
    n_given: tuple[int, int]

    @property
    def checksum(self) -> str:
        """A hash of all that methods see and are scored on."""
        parts = (Arrays(self.x, self.y, self._codes, {"fragment": self.fragments}),)
        parts += (Arrays(self.held_x, self.held_y, self._codes),)
        found = [checksum(Split(part)) for part in parts]
        return hashlib.sha256(json.dumps([found, self.image_shape]).encode()).hexdigest()

    @property
    def _codes(self) -> tuple[str, ...]:
        return tuple(map(str, range(int(self.y.max()) + 1)))

    def rows(self, seed: int, protocol: Protocol) -> tuple[Rows, Rows]:
        """Return the rows of V, which methods may see, and of T, which are scored.

        In the protocol "paper" both are the whole validation set. Otherwise they are halves of it
        with the same shares of classes up to one row, drawn anew for every seed; equal inputs stay
        on one side.
        """
        if protocol == "paper":
            return np.arange(len(self.held_y)), np.arange(len(self.held_y))
        rng = derive(seed, "halves")
        groups, place = np.unique(self.first, return_inverse=True)
        order = np.lexsort((rng.random(len(groups)), self.held_y[groups]))
        is_seen = np.zeros(len(groups), np.bool_)
        is_seen[order[int(rng.integers(2)) :: 2]] = True
        return np.flatnonzero(is_seen[place]), np.flatnonzero(~is_seen[place])


def prepare(data: Fragmented, at_most: int | None, seed: int) -> Prepared:
    """Return the data encoded; the encoder is fitted on the rows to train on alone.

    Parameters
    ----------
    data
        Fragments and a labelled validation set.
    at_most
        Rows to train on, and rows of the validation set; None for the default of their kind.
    seed
        Of the rows that are left out if there are more: the same share of every class in every
        fragment, but never all of them.
    """
    held = _checked(data)
    is_image = not isinstance(held.x, pd.DataFrame) and held.x.ndim > 2
    most = at_most or (AT_MOST_IMAGES if is_image else AT_MOST)
    n_train = sum(len(part) for part in data.fragments.values())
    parts = {
        name: _sampled(part, most / n_train, derive(seed, "rows", name))
        for name, part in data.fragments.items()
    }
    held = _sampled(held, most / len(held), derive(seed, "validation rows"))
    fragmented = _flat(parts, held) if is_image else encode(Fragmented(parts, held))[0]
    assert fragmented.validation is not None
    x, held_x = (
        np.concatenate([part.x for part in fragmented.fragments.values()]),
        np.asarray(fragmented.validation.x),
    )
    first = duplicates(held_x)
    if len(np.unique(first)) < FEWEST_DISTINCT:
        first = np.arange(len(held_x))
    return Prepared(
        x,
        np.concatenate([part.y for part in parts.values()]),
        np.repeat(np.array(list(parts), object).astype(str), [len(p) for p in parts.values()]),
        held_x,
        held.y,
        first,
        channels_first(np.asarray(held.x)[:1]).shape[1:] if is_image else None,
        (n_train, len(data.validation or ())),
    )


def _checked(data: Fragmented) -> Arrays:
    """Return the validation set, having checked that methods can be trained and judged."""
    held = data.validation
    if held is None:
        raise DataError("there is no validation set to judge methods by; give one, or a share")
    if not held.is_labelled:
        raise DataError(
            "the validation set has no labels, so nothing can be scored on it; give labels for at "
            "least a part of it (methods need not see them: validation_labels=False)"
        )
    if len(held) < FEWEST_HELD:
        raise DataError(
            f"the validation set has {len(held)} rows; half of them are scored, so that it needs "
            f"at least {FEWEST_HELD}"
        )
    if empty := [name for name, part in data.fragments.items() if not len(part)]:
        raise DataError(f"fragment {empty[0]!r} has no rows; leave it out")
    if not data.fragments:
        raise DataError("there is no fragment to train on; give at least one")
    present = np.unique(np.concatenate([part.y for part in data.fragments.values()]))
    if len(present) < 2:
        raise DataError("all rows to train on are of one class; methods need two or more")
    if strange := np.setdiff1d(held.y, present).tolist():
        raise DataError(
            f"the validation set has the class {held.classes[strange[0]]!r}, which no row to train "
            f"on has, so no method can learn it; add such rows or remove it"
        )
    return held


def _sampled(part: Arrays, share: float, rng: np.random.Generator) -> Arrays:
    """Return a share of the rows of every class, but at least one row of each."""
    if share >= 1:
        return part
    order = np.lexsort((rng.random(len(part)), part.y))
    y = part.y[order]
    marks = np.floor(np.arange(len(part) + 1) * share + rng.random())
    taken = (np.diff(marks) > 0) | np.append(True, y[1:] != y[:-1])
    return part.take(np.sort(order[taken]))


def _flat(parts: dict[str, Arrays], held: Arrays) -> Fragmented:
    """Return images as rows of numbers in 0 to 1, channels first."""

    def flat(part: Arrays) -> Arrays:
        x = channels_first(np.asarray(part.x))
        return Arrays(x.reshape(len(x), -1), part.y, part.classes)

    return Fragmented({name: flat(part) for name, part in parts.items()}, flat(held))
