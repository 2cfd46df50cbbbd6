"""Shifts of covariates: functions that select rows or change inputs, labels staying with rows.

Every shift is ``(x, y, rng, role, settings) -> Shifted``. `role` says which side is wanted, the
training data or the target. Called for the two roles with the same inputs and with generators of
the same seed, a shift makes the same choices of direction, permutation and rows on both sides.
At strength 0 every shift is the identity, `selection` in law and the others sample by sample.

`log_ratio` takes the samples given for the two roles to be of one law before the shift. It is then
known wherever the shift treats both roles alike (0), and for `rotation` and `selection`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from firecv.data.arrays import Array, Rows
from firecv.data.corruptions import CORRUPTIONS, SMALLEST
from firecv.data.noise import add_noise, check_numbers, noise_unit
from firecv.data.pixels import change_images, check_images
from firecv.data.rotation import rotate
from firecv.data.selection import Role, Selection, select
from firecv.errors import DataError

Disturbs = Literal["train", "target", "both"]
"""Which role a transform touches; the other one gets the identity."""


@dataclass(frozen=True)
class Shifted:
    """Samples after a shift.

    Attributes
    ----------
    x
        Inputs, of the type that was given.
    y
        Labels of the rows below.
    rows
        The row of the given samples that each of these came from.
    log_ratio
        log p_target / p_train at each of these samples, where it is known.
    """

    x: Array
    y: Array
    rows: Rows
    log_ratio: NDArray[np.float64] | None


@dataclass(frozen=True)
class Rotation:
    """Angles of images: training ones turned by degrees * Beta(a, b), target ones by Beta(b, a).

    Attributes
    ----------
    a, b
        Parameters of the beta law, positive; equal ones give both roles the same law.
    degrees
        Largest angle, counter-clockwise.
    """

    a: float = 2.0
    b: float = 4.0
    degrees: float = 180.0

    def __post_init__(self) -> None:
        """Check the settings."""
        if not (0 < self.a < np.inf and 0 < self.b < np.inf):
            raise DataError(f"got a={self.a} and b={self.b}; both must be positive numbers")
        if not np.isfinite(self.degrees):
            raise DataError(f"got degrees={self.degrees}; it must be a number")


@dataclass(frozen=True)
class Permutation:
    """One permutation of pixel positions for all images.

    Attributes
    ----------
    rate
        Share of the positions that take part, from 0 to 1.
    disturbs
        Which role is permuted.
    """

    rate: float = 1.0
    disturbs: Disturbs = "both"

    def __post_init__(self) -> None:
        """Check the settings."""
        if not 0 <= self.rate <= 1:
            raise DataError(f"got rate {self.rate}; it must be a share from 0 to 1")
        _check_disturbs(self.disturbs)


@dataclass(frozen=True)
class Noise:
    """Additive Gaussian noise.

    Attributes
    ----------
    std
        Standard deviation, in units of an image's full range or of a table's columns' own.
    disturbs
        Which role is made noisy.
    """

    std: float = 0.1
    disturbs: Disturbs = "target"

    def __post_init__(self) -> None:
        """Check the settings."""
        if not 0 <= self.std < np.inf:
            raise DataError(f"got std {self.std}; it must be a number from 0")
        _check_disturbs(self.disturbs)


@dataclass(frozen=True)
class Corruption:
    """One of `firecv.data.corruptions.CORRUPTIONS`.

    Attributes
    ----------
    kind
        Its name.
    severity
        From 1 to 5, or 0 for none.
    disturbs
        Which role is corrupted.
    """

    kind: str = "gaussian_noise"
    severity: int = 3
    disturbs: Disturbs = "target"

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.kind not in CORRUPTIONS:
            near = get_close_matches(self.kind, CORRUPTIONS, 1, 0.0)[0]
            raise DataError(
                f"there is no corruption {self.kind!r}; did you mean {near!r}? "
                f"Known are {', '.join(CORRUPTIONS)}"
            )
        if self.severity not in range(6):
            raise DataError(f"got severity {self.severity}; choose 0 for none, or 1 to 5")
        _check_disturbs(self.disturbs)


Settings = Rotation | Selection | Permutation | Noise | Corruption


def rotation(
    x: Array, y: Array, rng: np.random.Generator, role: Role, settings: Rotation
) -> Shifted:
    """Return images turned by random angles, training and target ones by different laws.

    The angle is degrees * u, counter-clockwise, with u of law Beta(a, b) for training and
    Beta(b, a) for the target, so that log p_target / p_train = (b - a) log(u / (1 - u)) for an
    image together with its angle. Some things look alike when turned: a 6 is then a 9.

    Examples
    --------
    >>> x, y = np.zeros((10_000, 4, 4), np.uint8), np.zeros(10_000, int)
    >>> shifted = rotation(x, y, np.random.default_rng(0), "train", Rotation(2.0, 3.0))
    >>> float(np.exp(shifted.log_ratio).mean().round(1))
    1.0
    """
    _check(x, y, role)
    check_images(x)
    if settings.degrees == 0:
        return _untouched(x, y)
    a, b = (settings.a, settings.b) if role == "train" else (settings.b, settings.a)
    smallest = np.finfo(np.float64).tiny, np.finfo(np.float64).epsneg
    u = rng.beta(a, b, len(x)).clip(smallest[0], 1 - smallest[1])
    log_ratio = (settings.b - settings.a) * (np.log(u) - np.log1p(-u))
    return Shifted(rotate(x, settings.degrees * u), y.copy(), np.arange(len(x)), log_ratio)


def selection(
    x: Array, y: Array, rng: np.random.Generator, role: Role, settings: Selection
) -> Shifted:
    """Return the rows that a biased selection gives to this role; see `firecv.data.selection`.

    Examples
    --------
    >>> x, y = np.arange(8.0)[:, None], np.arange(8)
    >>> selection(x, y, np.random.default_rng(1), "train", Selection()).rows
    array([4, 5, 6, 7])
    >>> selection(x, y, np.random.default_rng(1), "target", Selection()).rows
    array([0, 1, 2, 3])
    """
    _check(x, y, role)
    rows, log_ratio = select(x, rng, role, settings)
    return Shifted(x[rows], y[rows], rows, log_ratio)


def permutation(
    x: Array, y: Array, rng: np.random.Generator, role: Role, settings: Permutation
) -> Shifted:
    """Return images in which some pixels have changed places, channels moving together.

    Examples
    --------
    >>> x, y = np.arange(6, dtype=np.uint8).reshape(1, 2, 3), np.zeros(1, int)
    >>> permutation(x, y, np.random.default_rng(0), "train", Permutation(0.5)).x
    array([[[0, 1, 3],
            [2, 4, 5]]], dtype=uint8)
    """
    _check(x, y, role)
    check_images(x)
    if settings.rate == 0 or settings.disturbs not in (role, "both"):
        return _untouched(x, y, known=settings.rate == 0)
    n_pixels = x.shape[1] * x.shape[2]
    places = np.arange(n_pixels)
    moved = rng.permutation(n_pixels)[: round(settings.rate * n_pixels)]
    places[np.sort(moved)] = moved
    permuted = x.reshape(len(x), n_pixels, *x.shape[3:])[:, places].reshape(x.shape)
    return _transformed(permuted, y, settings.disturbs)


def noise(x: Array, y: Array, rng: np.random.Generator, role: Role, settings: Noise) -> Shifted:
    """Return samples with Gaussian noise added, images clipped to their range.

    Images are noisy in units of their full range, tables in units of the standard deviation of
    each column.

    Examples
    --------
    >>> x, y = np.random.default_rng(0).normal(0, 100, (10_000, 1)), np.zeros(10_000, int)
    >>> noisy = noise(x, y, np.random.default_rng(1), "target", Noise(0.5))
    >>> int(np.std(noisy.x - x).round())
    50
    """
    _check(x, y, role)
    check_numbers(x)
    if settings.std == 0 or settings.disturbs not in (role, "both"):
        return _untouched(x, y, known=settings.std == 0)
    return _transformed(add_noise(x, settings.std * noise_unit(x), rng), y, settings.disturbs)


def corruption(
    x: Array, y: Array, rng: np.random.Generator, role: Role, settings: Corruption
) -> Shifted:
    """Return images corrupted in one of the ways of `firecv.data.corruptions`.

    Examples
    --------
    >>> x, y = np.full((1, 8, 8), 100, np.uint8), np.zeros(1, int)
    >>> brighter = Corruption("brightness", severity=2)
    >>> corruption(x, y, np.random.default_rng(0), "target", brighter).x[0, 0, 0]
    np.uint8(126)
    """
    _check(x, y, role)
    check_images(x)
    if min(x.shape[1:3]) < SMALLEST:
        raise DataError(
            f"got images of {x.shape[1]} x {x.shape[2]} pixels; corruptions need at least "
            f"{SMALLEST} x {SMALLEST}"
        )
    severity = int(settings.severity)
    if severity == 0 or settings.disturbs not in (role, "both"):
        return _untouched(x, y, known=severity == 0)
    corrupt = CORRUPTIONS[settings.kind]
    changed = change_images(x, lambda images: corrupt(images, severity, rng))
    return _transformed(changed, y, settings.disturbs)


class Shift(NamedTuple):
    """A shift as the registry lists it."""

    apply: Callable[..., Shifted]
    """``(x, y, rng, role, settings) -> Shifted``, with settings of the type below."""
    settings: type[Settings]
    summary: str


SHIFTS: dict[str, Shift] = {
    "rotation": Shift(rotation, Rotation, "turn images, training and target by different angles"),
    "selection": Shift(selection, Selection, "select rows with odds along a random direction"),
    "permutation": Shift(permutation, Permutation, "let pixels change places, alike in all images"),
    "noise": Shift(noise, Noise, "add Gaussian noise"),
    "corruption": Shift(
        corruption, Corruption, f"corrupt images in one of {len(CORRUPTIONS)} ways"
    ),
}


def _check_disturbs(disturbs: str) -> None:
    """Check which role is disturbed."""
    if disturbs not in get_args(Disturbs):
        raise DataError(f"got disturbs={disturbs!r}; choose 'train', 'target' or 'both'")


def _check(x: Array | pd.DataFrame, y: Array, role: Role) -> None:
    """Check that there are as many labels as samples, in arrays, and that the role is one."""
    if isinstance(x, pd.DataFrame):
        raise DataError("got a data frame; encode it into an array of floats first")
    if len(x) != len(y):
        raise DataError(f"got {len(x)} samples and {len(y)} labels; they must be as many")
    if role not in get_args(Role):
        raise DataError(f"got role {role!r}; choose 'train' or 'target'")


def _untouched(x: Array, y: Array, known: bool = True) -> Shifted:
    """Return copies of all samples, with a ratio of 1 if both roles are left as they are."""
    return Shifted(x.copy(), y.copy(), np.arange(len(x)), np.zeros(len(x)) if known else None)


def _transformed(x: Array, y: Array, disturbs: Disturbs) -> Shifted:
    """Return transformed samples, with a ratio of 1 if both roles are transformed alike."""
    log_ratio = np.zeros(len(x)) if disturbs == "both" else None
    return Shifted(x, y.copy(), np.arange(len(x)), log_ratio)
