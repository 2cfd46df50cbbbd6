"""SVHN, cropped digits, from ``train_32x32.mat``, ``test_32x32.mat`` or ``extra_32x32.mat``.

Netzer et al., NIPS workshop on deep learning, 2011. The files hold X of shape (32, 32, 3, n) and y
of shape (n, 1), in which the digit 0 has the label 10.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from firecv.data.formats.matlab import read_matlab
from firecv.errors import FileFormatError


def read_svhn(path: str | Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return images of shape (n_samples, 32, 32, 3) and labels 0 to 9.

    Examples
    --------
    >>> import tempfile
    >>> import scipy.io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "test_32x32.mat"
    ...     x = np.zeros((32, 32, 3, 2), np.uint8)
    ...     scipy.io.savemat(path, {"X": x, "y": np.array([[10], [4]], np.uint8)})
    ...     images, labels = read_svhn(path)
    >>> images.shape, labels
    ((2, 32, 32, 3), array([0, 4]))
    """
    found = read_matlab(path, ["X", "y"])
    x, y = found["X"], found["y"]
    n = x.shape[-1] if x.ndim else 0
    if x.dtype != np.uint8 or x.shape != (32, 32, 3, n) or y.shape != (n, 1) or n == 0:
        raise FileFormatError(
            f"{str(path)!r} has X {x.dtype} {x.shape} and y {y.dtype} {y.shape}; expected uint8 "
            f"(32, 32, 3, n) and numbers (n, 1)"
        )
    if not np.isin(y, np.arange(1, 11)).all():
        raise FileFormatError(
            f"{str(path)!r} has labels from {y.min()} to {y.max()}; expected whole numbers from 1 "
            f"to 10, which stands for the digit 0"
        )
    return np.ascontiguousarray(x.transpose(3, 0, 1, 2)), y[:, 0].astype(np.int64) % 10
