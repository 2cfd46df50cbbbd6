"""FEMNIST as LEAF writes it."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def read_leaf(
    source: str | Path | Sequence[str | Path],
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.str_]]:
    """Return images (n, 28, 28), labels and writers of a folder of LEAF json files, or of files."""
    raise NotImplementedError
