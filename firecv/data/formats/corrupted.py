"""CIFAR-10-C, CIFAR-100-C and MNIST-C as published."""

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray


def read_cifar_c(
    folder: str | Path, corruption: str, severity: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the test images under one corruption at severity 1 to 5, and their labels."""
    raise NotImplementedError


def read_mnist_c(
    folder: str | Path, corruption: str, part: Literal["train", "test"]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return images (n, 28, 28) of one part under one corruption, and their labels."""
    raise NotImplementedError
