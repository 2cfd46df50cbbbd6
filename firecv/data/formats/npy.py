"""One array in NumPy's npy format: mapped from a file, or read out of a stream; never unpickled.

NumPy's own reader takes a header at its word and sets the memory aside before it looks at the
values; here the header must agree with the number of bytes that are there.
"""

import io
import math
import warnings
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from firecv.data.formats.opening import existing, read_exactly, reading
from firecv.errors import FileFormatError

EXPECTED = "an npy file"


class _Header(NamedTuple):
    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[Any]


def map_npy(path: str | Path) -> NDArray[Any]:
    """Return the array in an npy file, read only, its values read from disk when they are used.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "fog.npy"
    ...     np.save(path, np.arange(6).reshape(3, 2))
    ...     map_npy(path)[1].tolist()
    [2, 3]
    """
    path = existing(path, EXPECTED)
    with reading(path, EXPECTED), path.open("rb") as file:
        header = _header(file, path.stat().st_size, repr(str(path)))
        order = "F" if header.fortran_order else "C"
        if math.prod(header.shape) == 0:  # nothing to map
            return np.empty(header.shape, header.dtype, order)
        return np.memmap(file, header.dtype, "r", file.tell(), header.shape, order)


def read_npy_stream(stream: IO[bytes], size: int, name: str) -> NDArray[Any]:
    """Return the array in an open npy stream.

    Parameters
    ----------
    stream
        Opened for reading bytes.
    size
        How many bytes the stream has.
    name
        What to call it in messages.
    """
    with reading(name, EXPECTED):
        header = _header(stream, size, repr(name))
        n_bytes = math.prod(header.shape) * header.dtype.itemsize
        flat = np.frombuffer(read_exactly(stream, n_bytes, repr(name)), header.dtype)
        if header.fortran_order:
            return flat.reshape(header.shape[::-1]).T
        return flat.reshape(header.shape)


def _header(stream: IO[bytes], size: int, name: str) -> _Header:
    """Return what stands before the values, the stream being left at the first of them."""
    start = stream.read(min(size, 1 << 14))  # NumPy refuses headers of over 10,000 characters
    head = io.BytesIO(start)
    version = npy_format.read_magic(head)
    if version not in ((1, 0), (2, 0)):
        raise FileFormatError(f"{name} has npy version {version}; expected (1, 0) or (2, 0)")
    with warnings.catch_warnings():  # a header as Python 2 wrote it is no reason to warn
        warnings.simplefilter("ignore")
        if version == (1, 0):
            header = _Header(*npy_format.read_array_header_1_0(head))
        else:
            header = _Header(*npy_format.read_array_header_2_0(head))
    stream.seek(head.tell())
    if header.dtype.hasobject:
        raise FileFormatError(
            f"{name} holds Python objects, which are pickled and never loaded; save the values as "
            f"numbers or text"
        )
    announced = math.prod(header.shape) * header.dtype.itemsize
    if min(header.shape, default=0) < 0 or announced != size - head.tell():
        raise FileFormatError(
            f"{name} announces {header.dtype} {header.shape}, that is {announced:,} bytes, and has "
            f"{size - head.tell():,}; it is truncated or damaged, fetch it again"
        )
    return header
