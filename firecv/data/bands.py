"""A covariate shift of each fragment's own: angles, noise levels or colours in bands."""

import colorsys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Literal, get_args

import numpy as np
import pandas as pd

from firecv.data.arrays import Array, Arrays, Rows
from firecv.data.noise import add_noise, check_numbers, noise_unit
from firecv.data.pixels import change_images, check_images
from firecv.data.rotation import rotate
from firecv.errors import DataError

Kind = Literal["rotation", "noise", "colour"]

DEGREES = 180.0
"""Angle that all bands of rotation make up together."""
NOISE = 0.3
"""Standard deviation of noise towards which fragments rise, in units of `noise_unit`."""


def per_fragment(
    arrays: Arrays,
    fragments: Sequence[Rows],
    kind: Kind,
    rng: np.random.Generator,
    strength: float = 1.0,
) -> list[Arrays]:
    """Return the samples of each fragment, disturbed in a way of its own.

    Fragment k of K, counted from 0, is disturbed as follows. Labels and tags stay with their rows.

    - "rotation": every image is turned counter-clockwise by an angle of its own, uniform from
      180 k/K to 180 (k+1)/K degrees, times the strength.
    - "noise": Gaussian noise of standard deviation 0.3 k/K, times the strength, in units of an
      image's full range or of the standard deviation of a table's column over all samples.
    - "colour": channels are multiplied by a tint, white mixed with the hue k/K in the share
      `strength`. Grey images are given three equal channels first.

    At strength 0 samples are as they were, but that "colour" still gives grey images three equal
    channels. A fragment's chance does not depend on what the other fragments hold.

    Parameters
    ----------
    arrays
        All samples: images, or for noise also a table of floats.
    fragments
        The rows of each fragment.
    kind
        What to do.
    rng
        Source of angles and noise.
    strength
        From 0; at most 1 for "colour".

    Examples
    --------
    >>> grey = Arrays(np.full((4, 1, 1), 200, np.uint8), np.zeros(4, np.int64), ("a",))
    >>> halves = [np.array([0, 1]), np.array([2, 3])]
    >>> red, cyan = per_fragment(grey, halves, "colour", np.random.default_rng(0), strength=0.5)
    >>> red.x[0, 0, 0], cyan.x[0, 0, 0]
    (array([200, 100, 100], dtype=uint8), array([100, 200, 200], dtype=uint8))
    """
    x = _checked(arrays, fragments, kind, strength)
    unit = noise_unit(x)
    results: list[Arrays] = []
    for k, (rows, own_rng) in enumerate(zip(fragments, rng.spawn(len(fragments)), strict=True)):
        part = arrays.take(rows)
        disturbed = x[np.asarray(rows, np.intp)]
        if kind == "colour":
            disturbed = _tinted(disturbed, k / len(fragments), strength)
        elif kind == "rotation" and strength > 0:
            share = (k + own_rng.random(len(part))) / len(fragments)
            disturbed = rotate(disturbed, strength * DEGREES * share)
        elif kind == "noise" and strength * k > 0:
            std = strength * NOISE * k / len(fragments) * unit
            disturbed = add_noise(disturbed, std, own_rng)
        results.append(Arrays(disturbed, part.y, part.classes, part.tags))
    return results


def _checked(arrays: Arrays, fragments: Sequence[Rows], kind: str, strength: float) -> Array:
    """Return the inputs as an array, after checking that all fits together."""
    if kind not in get_args(Kind):
        near = get_close_matches(kind, get_args(Kind), 1, 0.0)[0]
        raise DataError(
            f"there is no shift per fragment {kind!r}; did you mean {near!r}? "
            f"Known are {', '.join(get_args(Kind))}"
        )
    if not 0 <= strength < np.inf or (kind == "colour" and strength > 1):
        raise DataError(
            f"got strength {strength}; it must be a number from 0, and at most 1 for 'colour'"
        )
    if isinstance(arrays.x, pd.DataFrame):
        raise DataError("got a data frame; encode it into floats first")
    (check_numbers if kind == "noise" else check_images)(arrays.x)
    if kind == "colour" and arrays.x.ndim == 4 and arrays.x.shape[3] not in (1, 3):
        raise DataError(f"got images of {arrays.x.shape[3]} channels; 'colour' needs 1 or 3")
    for k, rows in enumerate(fragments):
        found = np.asarray(rows)
        if found.size and not 0 <= found.min() <= found.max() < len(arrays):
            raise DataError(
                f"fragment {k} has rows from {found.min()} to {found.max()}, but there are "
                f"{len(arrays)} samples; rows count from 0"
            )
    return arrays.x


def _tinted(x: Array, hue: float, strength: float) -> Array:
    """Return colour images of a hue."""
    tint = 1 - strength + strength * np.array(colorsys.hsv_to_rgb(hue, 1, 1))
    grey = x[..., None] if x.ndim == 3 else x
    colour = np.repeat(grey, 3, axis=3) if grey.shape[3] == 1 else grey
    if strength == 0:
        return colour
    return change_images(colour, lambda images: images * tint.astype(images.dtype))
