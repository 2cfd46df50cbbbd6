"""EMNIST from its published ``gzip.zip``: six variants, each in four idx files.

Cohen, Afshar, Tapson and van Schaik, "EMNIST: an extension of MNIST to handwritten letters", 2017.
The images are stored with their two axes swapped, and the labels of the letters count from 1; what
is returned stands upright and counts from 0.
"""

import io
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from firecv.data.formats.archives import read_members
from firecv.data.formats.idx import read_idx_stream
from firecv.data.formats.opening import decompressed
from firecv.errors import DataError, FileFormatError

Variant = Literal["balanced", "byclass", "bymerge", "digits", "letters", "mnist"]
Pair = tuple[NDArray[np.uint8], NDArray[np.int64]]

_N_CLASSES = dict(balanced=47, byclass=62, bymerge=47, digits=10, letters=26, mnist=10)
_LARGEST = 1 << 30
"""Bytes of one compressed member; the largest published one has a third of this."""


def read_emnist(
    path: str | Path, variant: Variant
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
    """Return x_train, y_train, x_test and y_test of one variant.

    Parameters
    ----------
    path
        The published ``gzip.zip`` with all variants.
    variant
        Which one.

    Returns
    -------
    Images of shape (n_samples, 28, 28), upright, and labels from 0; twice.

    Examples
    --------
    >>> read_emnist("gzip.zip", "capitals")
    Traceback (most recent call last):
    firecv.errors.DataError: there is no EMNIST variant 'capitals'; choose one of balanced...
    """
    if variant not in get_args(Variant):
        raise DataError(
            f"there is no EMNIST variant {variant!r}; choose one of {', '.join(get_args(Variant))}"
        )
    return *_part(path, variant, "train"), *_part(path, variant, "test")


def _part(path: str | Path, variant: Variant, part: str) -> Pair:
    """Return images and labels of one part, checked against each other."""
    stem = f"gzip/emnist-{variant}-{part}"
    x = _array(path, f"{stem}-images-idx3-ubyte.gz")
    y = _array(path, f"{stem}-labels-idx1-ubyte.gz")
    if x.dtype != np.uint8 or y.dtype != np.uint8 or x.shape[1:] != (28, 28) or y.ndim != 1:
        raise FileFormatError(
            f"{stem} in {str(path)!r} has images {x.dtype} {x.shape} and labels {y.dtype} "
            f"{y.shape}; expected uint8 (n, 28, 28) and uint8 (n,)"
        )
    first = 1 if variant == "letters" else 0
    last = first + _N_CLASSES[variant] - 1
    if len(x) != len(y) or len(y) == 0 or not first <= y.min() <= y.max() <= last:
        raise FileFormatError(
            f"{stem} in {str(path)!r} has {len(x)} images and {len(y)} labels, which run from "
            f"{y.min(initial=255)} to {y.max(initial=0)}; expected as many, from {first} to {last}"
        )
    return np.ascontiguousarray(x.transpose(0, 2, 1)), y.astype(np.int64) - first


def _array(path: str | Path, member: str) -> NDArray[Any]:
    packed = read_members(path, [member], at_most=_LARGEST)[member]
    return read_idx_stream(decompressed(io.BytesIO(packed)), f"{path}: {member}")
