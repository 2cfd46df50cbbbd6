"""EMNIST from its published gzip.zip."""

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Variant = Literal["balanced", "byclass", "bymerge", "digits", "letters", "mnist"]


def read_emnist(
    path: str | Path, variant: Variant
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
    """Return x_train, y_train, x_test, y_test; images upright, labels from 0."""
    raise NotImplementedError
