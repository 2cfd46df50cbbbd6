"""The idx format of MNIST and its relatives: a type, a shape, then the values, big endian.

Two zero bytes, one byte for the type, one for the number of axes, the length of each axis in four
bytes, then the values with the last axis running fastest.
"""

import math
import sys
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from firecv.data.formats.opening import (
    expect_end,
    open_binary,
    read_exactly,
    reading,
)
from firecv.errors import FileFormatError

EXPECTED = "an idx file, plain or gzip"
_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
MOST_BYTES = 1 << 30
"""Of values; the largest published file in this format, of EMNIST, has 0.55 GB."""
_MOST_AXES = 32  # what every NumPy in use can hold


def read_idx(path: str | Path) -> NDArray[Any]:
    """Return the array in an idx file, plain or gzip, in the byte order of this machine.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "labels-idx1-short"
    ...     _ = path.write_bytes(bytes([0, 0, 0x0B, 1, 0, 0, 0, 2, 0, 7, 1, 0]))
    ...     read_idx(path)
    array([  7, 256], dtype=int16)
    """
    with open_binary(path, EXPECTED) as stream:
        return read_idx_stream(stream, str(path))


def read_idx_stream(stream: IO[bytes], name: str) -> NDArray[Any]:
    """Return the array that an open stream of idx bytes holds, to its very end.

    Parameters
    ----------
    stream
        Opened for reading bytes, and not compressed.
    name
        What to call it in messages.
    """
    with reading(name, EXPECTED):
        start = stream.read(4)
        if len(start) < 4 or start[:2] != b"\0\0" or start[2] not in _TYPES:
            raise FileFormatError(
                f"{name!r} starts with the bytes {start.hex(' ')!r}; expected {EXPECTED}, which "
                f"starts with 00 00, a type (08, 09, 0b, 0c, 0d or 0e) and the number of axes"
            )
        if not 1 <= start[3] <= _MOST_AXES:
            raise FileFormatError(
                f"{name!r} announces {start[3]} axes; expected 1 to {_MOST_AXES}, it is damaged"
            )
        lengths = read_exactly(stream, 4 * start[3], repr(name))
        shape = tuple(int(n) for n in np.frombuffer(lengths, ">u4"))
        dtype = np.dtype(_TYPES[start[2]])
        n_bytes = math.prod(shape) * dtype.itemsize
        if n_bytes > MOST_BYTES:
            raise FileFormatError(
                f"{name!r} announces {shape} values, that is {n_bytes:,} bytes; expected at most "
                f"{MOST_BYTES:,}"
            )
        values = read_exactly(stream, n_bytes, repr(name))
        expect_end(stream, repr(name))
        array = np.frombuffer(values, dtype).reshape(shape)
        if sys.byteorder == "little" and dtype.itemsize > 1:
            array.byteswap(inplace=True)  # in place: a second copy of MNIST is not needed
        return array.view(dtype.newbyteorder("=")) if sys.byteorder == "little" else array
