"""SVHN cropped digits from train_32x32.mat, test_32x32.mat and extra_32x32.mat."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def read_svhn(path: str | Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return images (n, 32, 32, 3) and labels 0 to 9 of one file."""
    raise NotImplementedError
