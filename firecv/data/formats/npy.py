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
from firecv.data.limits import Limits
from firecv.errors import FileFormatError

EXPECTED = "an npy file"
_LAST_LETTER = 0x10FFFF
"""Of Unicode; from 0xD800 to 0xDFFF there are no letters but halves of pairs in UTF-16."""


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


def read_npy_stream(
    stream: IO[bytes], size: int, name: str, limits: Limits | None = None
) -> NDArray[Any]:
    """Return the array in an open npy stream.

    Parameters
    ----------
    stream
        Opened for reading bytes.
    size
        How many bytes the stream has.
    name
        What to call it in messages.
    limits
        How large the array may be; by default, as large as the stream.
    """
    with reading(name, EXPECTED):
        header = _header(stream, size, repr(name))
        if limits is not None:
            _check_size(header.shape, name, limits)
        n_bytes = math.prod(header.shape) * header.dtype.itemsize
        flat = _values(read_exactly(stream, n_bytes, repr(name)), header.dtype, name)
        if header.fortran_order:
            return flat.reshape(header.shape[::-1]).T
        return flat.reshape(header.shape)


def _check_size(shape: tuple[int, ...], name: str, limits: Limits) -> None:
    """Raise a `DataError` if an array is larger than it may be."""
    if len(shape) == 2:
        limits.check_table(name, *shape)
    else:
        limits.check(name, rows=shape[0] if shape else 1, values=math.prod(shape))


def _values(data: bytearray, dtype: np.dtype[Any], name: str) -> NDArray[Any]:
    """Return the values that bytes stand for, all of them such as Python can hold."""
    flat = np.frombuffer(data, dtype)
    if dtype.kind == "b":
        return flat.view(np.uint8) != 0  # NumPy relies on 0 and 1
    if dtype.kind == "U":
        letters = flat.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        if ((letters > _LAST_LETTER) | ((letters >= 0xD800) & (letters < 0xE000))).any():
            raise FileFormatError(f"{name!r} holds text that is no Unicode; it is damaged")
    return flat


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
