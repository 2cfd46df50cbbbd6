"""CIFAR-10 and CIFAR-100 from their published binary archives."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FourArrays = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]


def read_cifar10(path: str | Path) -> FourArrays:
    """Return x_train, y_train, x_test, y_test of cifar-10-binary.tar.gz, images (n, 32, 32, 3)."""
    raise NotImplementedError


def read_cifar100(path: str | Path, *, coarse: bool = False) -> FourArrays:
    """Return x_train, y_train, x_test, y_test of cifar-100-binary.tar.gz; fine labels unless `coarse`."""
    raise NotImplementedError
