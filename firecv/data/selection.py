"""Biased selection of rows, after Cortes, Mohri, Riley and Rostamizadeh (ALT 2008).

A row is selected with probability s(x) = 1 / (1 + exp(-v)), where v is the row's place along a
random direction: v = strength * w.(x - mean) / std(w.(x - mean)), w uniform on [-1, 1]^d.
Selected rows are for training. The target is either the rows left over or, as in the paper, an
unbiased sample.

Departure: the paper draws ten directions and keeps the hardest; one is drawn here.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from firecv.data.arrays import Array, Rows
from firecv.data.pixels import chunks
from firecv.errors import DataError

Role = Literal["train", "target"]
"""Which side of a shift is wanted: what a model learns from, or what it is judged on."""

CHUNK = 1 << 20
"""Numbers cast to float64 at a time."""


@dataclass(frozen=True)
class Selection:
    """How rows are selected.

    Attributes
    ----------
    strength
        Spread of v over the rows; 0 makes selection a fair coin.
    target
        "complement": the rows not selected. "unbiased": rows put aside at random beforehand.
    held_out
        Share of the rows put aside for an unbiased target; without effect on "complement".
    """

    strength: float = 4.0
    target: Literal["complement", "unbiased"] = "complement"
    held_out: float = 0.3

    def __post_init__(self) -> None:
        """Check the settings."""
        if not 0 <= self.strength < np.inf:
            raise DataError(f"got strength {self.strength}; it must be a number from 0")
        if self.target not in ("complement", "unbiased"):
            raise DataError(f"got target {self.target!r}; choose 'complement' or 'unbiased'")
        if not 0 < self.held_out < 1:
            raise DataError(f"got held_out {self.held_out}; it must lie strictly between 0 and 1")


def select(
    x: Array, rng: np.random.Generator, role: Role, settings: Selection
) -> tuple[Rows, NDArray[np.float64]]:
    """Return the rows of one role, in rising order, and their log density ratio.

    Called for the two roles with the same inputs and with generators of the same seed, the rows
    are disjoint, and for the target "complement" they cover everything. The ratio is that of the
    target's law to the training law, both normalised over all rows given: with m the mean of s,
    it is exp(-v) m / (1 - m) for the complement and m / s(x) for an unbiased target.

    At strength 0 the ratio is 1 everywhere: the two roles differ in rows but not in law.

    Parameters
    ----------
    x
        Numbers with one row per sample; images are taken as rows of pixels.
    rng
        Source of the direction, of the rows put aside and of the selection, in this order.
    role
        Which rows to return.
    settings
        How to select.

    Examples
    --------
    >>> x = np.arange(1000.0)[:, None]
    >>> train, _ = select(x, np.random.default_rng(0), "train", Selection())
    >>> target, _ = select(x, np.random.default_rng(0), "target", Selection())
    >>> len(train), len(target), int(train.mean()), int(target.mean())
    (502, 498, 733, 263)
    """
    _check(x)
    v = settings.strength * _standardised(x, rng)
    log_s = -np.logaddexp(0, -v)
    s, not_s = np.exp(log_s), np.exp(-np.logaddexp(0, v))
    held_out = np.zeros(len(v), bool)
    if settings.target == "unbiased":
        held_out[rng.permutation(len(v))[: round(settings.held_out * len(v))]] = True
        log_ratio = np.log(s.mean()) - log_s
    else:
        log_ratio = np.log(s.mean()) - np.log(not_s.mean()) - v
    train = (rng.random(len(v)) < s) & ~held_out
    target = held_out if settings.target == "unbiased" else ~train
    if train.sum() < 2 or not target.any():
        raise DataError(
            f"selection left {train.sum()} of {len(v)} rows for training and {target.sum()} for "
            "the target; give more rows or another seed"
        )
    rows = np.flatnonzero(train if role == "train" else target)
    return rows, log_ratio[rows]


def _check(x: Array) -> None:
    """Check that there are numbers to select by."""
    if x.ndim < 2 or x.dtype.kind not in "fiub":
        raise DataError(
            f"got an array of shape {x.shape} and type {x.dtype}; selection needs numbers with "
            "one row per sample: encode categories first"
        )
    if not all(np.isfinite(x[part]).all() for part in chunks(len(x), x[:1].size, CHUNK)):
        raise DataError("got inputs with NaN or infinite values; replace them before selecting")


def _standardised(x: Array, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the rows' places along a random direction, with mean 0 and standard deviation 1."""
    flat = x.reshape(len(x), math.prod(x.shape[1:]))
    direction = rng.uniform(-1, 1, flat.shape[1])
    places = np.zeros(len(flat))
    for part in chunks(len(flat), flat.shape[1], CHUNK):
        # Counted from the first row, so that equal rows are at exactly the same place.
        places[part] = (flat[part].astype(np.float64) - flat[0]) @ direction
    spread = places.std() if len(places) else 0.0
    if spread == 0:
        raise DataError(f"got {len(x)} rows that are all equal; selection needs inputs that vary")
    return (places - places.mean()) / spread
