"""The idx format of MNIST and its relatives."""

from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray


def read_idx(path: str | Path) -> NDArray[Any]:
    """Return the array in an idx file, plain or gzip, in the byte order of this machine."""
    raise NotImplementedError


def read_idx_stream(stream: IO[bytes], name: str) -> NDArray[Any]:
    """Return the array an open binary stream (idx, not compressed) holds; `name` is for messages."""
    raise NotImplementedError
