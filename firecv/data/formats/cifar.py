"""CIFAR-10 and CIFAR-100 from their published **binary** archives.

A record is one label byte (two in CIFAR-100: coarse, then fine) and 3072 bytes of one image, red
plane first, row by row. The "python" archives hold the same images pickled; unpickling runs
whatever the file says, so those are refused.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from firecv.data.formats.archives import member_names, read_members
from firecv.errors import FileFormatError

FourArrays = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]

_PIXELS = 3 * 32 * 32
_MOST_RECORDS = 50_000


def read_cifar10(path: str | Path) -> FourArrays:
    """Return x_train, y_train, x_test and y_test; images of shape (n_samples, 32, 32, 3).

    Parameters
    ----------
    path
        The published ``cifar-10-binary.tar.gz``.

    Examples
    --------
    >>> read_cifar10("cifar-10-binary.tar.gz")
    Traceback (most recent call last):
    firecv.errors.FileFormatError: there is no file 'cifar-10-binary.tar.gz'; expected a zip...
    """
    folder = "cifar-10-batches-bin"
    train = [f"{folder}/data_batch_{batch}.bin" for batch in range(1, 6)]
    return _read(path, "cifar-10-binary.tar.gz", train, f"{folder}/test_batch.bin", (10,), 0)


def read_cifar100(path: str | Path, *, coarse: bool = False) -> FourArrays:
    """Return x_train, y_train, x_test and y_test; images of shape (n_samples, 32, 32, 3).

    Parameters
    ----------
    path
        The published ``cifar-100-binary.tar.gz``.
    coarse
        Whether labels are the 20 superclasses instead of the 100 classes.
    """
    folder = "cifar-100-binary"
    train, test = [f"{folder}/train.bin"], f"{folder}/test.bin"
    return _read(path, "cifar-100-binary.tar.gz", train, test, (20, 100), 0 if coarse else 1)


def _read(
    path: str | Path,
    published: str,
    train: Sequence[str],
    test: str,
    n_classes: tuple[int, ...],
    column: int,
) -> FourArrays:
    """Return the arrays of one archive; `n_classes` has one entry per label byte of a record."""
    largest = _MOST_RECORDS * (len(n_classes) + _PIXELS)
    try:
        found = read_members(path, [*train, test], at_most=largest)
    except FileFormatError as error:
        _explain_pickled(path, published, error)
        raise
    parts = {name: _records(found.pop(name), name, path, n_classes) for name in [*train, test]}
    return *_arrays([parts[name] for name in train], column), *_arrays([parts[test]], column)


def _records(
    content: bytes, name: str, path: str | Path, n_classes: tuple[int, ...]
) -> NDArray[np.uint8]:
    """Return one row per record, labels first."""
    width = len(n_classes) + _PIXELS
    if not content or len(content) % width:
        raise FileFormatError(
            f"{name!r} in {str(path)!r} has {len(content):,} bytes; expected records of {width:,} "
            f"bytes each"
        )
    records = np.frombuffer(content, np.uint8).reshape(-1, width)
    for column, n in enumerate(n_classes):
        if (largest := records[:, column].max()) >= n:
            raise FileFormatError(
                f"{name!r} in {str(path)!r} has the label {largest}; expected labels below {n}"
            )
    return records


def _arrays(
    batches: list[NDArray[np.uint8]], column: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return images, channels last, and the labels in one column."""
    x = np.empty((sum(map(len, batches)), 32, 32, 3), np.uint8)
    start = 0
    for batch in batches:
        planes = batch[:, -_PIXELS:].reshape(-1, 3, 32, 32)
        x[start : start + len(batch)] = planes.transpose(0, 2, 3, 1)
        start += len(batch)
    return x, np.concatenate([batch[:, column] for batch in batches]).astype(np.int64)


def _explain_pickled(path: str | Path, published: str, error: FileFormatError) -> None:
    """Raise a better error if the archive is the pickled version."""
    try:
        names = member_names(path)
    except FileFormatError:
        return
    if any(name.startswith(("cifar-10-batches-py", "cifar-100-python")) for name in names):
        raise FileFormatError(
            f"{str(path)!r} is the python version, whose batches are pickled; unpickling runs code "
            f"out of the file, so it is never loaded. Get {published} (the binary version) from "
            f"the same page"
        ) from error
