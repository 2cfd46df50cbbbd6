"""SVHN, cropped digits, from ``train_32x32.mat``, ``test_32x32.mat`` or ``extra_32x32.mat``.

Netzer et al., NIPS workshop on deep learning, 2011. The files hold X of shape (32, 32, 3, n) and y
of shape (n, 1), in which the digit 0 has the label 10.
"""

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from numpy.typing import NDArray
from scipy.io.matlab import MatReadError, MatReadWarning

from firecv.data.formats.opening import existing, reading
from firecv.errors import FileFormatError

EXPECTED = "a MATLAB 5 file with X (32 x 32 x 3 x n, uint8) and y (n x 1)"
_EXPANSION = 1032  # the most bytes deflate makes out of one


def read_svhn(path: str | Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return images of shape (n_samples, 32, 32, 3) and labels 0 to 9.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "test_32x32.mat"
    ...     x = np.zeros((32, 32, 3, 2), np.uint8)
    ...     scipy.io.savemat(path, {"X": x, "y": np.array([[10], [4]], np.uint8)})
    ...     images, labels = read_svhn(path)
    >>> images.shape, labels
    ((2, 32, 32, 3), array([0, 4]))
    """
    path = existing(path, EXPECTED)
    with reading(path, EXPECTED), warnings.catch_warnings():
        # What SciPy only warns of, such as a variable that appears twice, is damage here.
        warnings.simplefilter("error", MatReadWarning)
        try:
            _check_contents(path)
            # Only these two: a file may hold anything beside them.
            found = scipy.io.loadmat(path, variable_names=["X", "y"])
        except (MatReadError, MatReadWarning) as error:
            raise ValueError(str(error)) from error
        x, y = _values(found, path)
        return np.ascontiguousarray(x.transpose(3, 0, 1, 2)), y % 10


def _check_contents(path: Path) -> None:
    """Raise `FileFormatError` unless the headers, read alone, announce what is expected."""
    contents = {name: (tuple(shape), kind) for name, shape, kind in scipy.io.whosmat(path)}
    shape, kind = contents.get("X", ((), "missing"))
    labels, label_kind = contents.get("y", ((), "missing"))
    n = shape[-1] if shape else 0
    fits = shape == (32, 32, 3, n) and labels == (n, 1) and kind == "uint8" and n > 0
    if not fits or label_kind not in ("uint8", "double"):
        raise FileFormatError(
            f"{str(path)!r} has X {kind} {shape} and y {label_kind} {labels}; expected X uint8 "
            f"(32, 32, 3, n) and y uint8 or double (n, 1)"
        )
    if math.prod(shape) > path.stat().st_size * _EXPANSION:
        raise FileFormatError(
            f"{str(path)!r} announces {n:,} images, more than its bytes can hold; it is damaged"
        )


def _values(
    found: dict[str, NDArray[Any]], path: Path
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return X and y as they are in the file, checked."""
    x, y = found["X"], found["y"]
    if x.dtype != np.uint8 or y.dtype.kind not in "uf" or y.shape != (x.shape[-1], 1):
        raise FileFormatError(
            f"{str(path)!r} has X {x.dtype} {x.shape} and y {y.dtype} {y.shape}; expected uint8 "
            f"(32, 32, 3, n) and numbers (n, 1)"
        )
    if not np.isin(y, np.arange(1, 11)).all():
        raise FileFormatError(
            f"{str(path)!r} has labels from {y.min()} to {y.max()}; expected whole numbers from 1 "
            f"to 10, which stands for the digit 0"
        )
    return x, y[:, 0].astype(np.int64)
