"""Numeric arrays out of MATLAB 5 files (``save -v6`` and ``-v7``).

SciPy's reader is not used: it takes sizes in the file at their word, and files with a few bytes
changed were seen to end the whole process with a segmentation fault. What is read here is what
data sets need, arrays of plain numbers; cells, structures, objects, text and sparse or complex
matrices are refused if asked for and passed over if not.
"""

import math
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from firecv.data.formats.archives import shortened
from firecv.data.formats.opening import CHUNK, Readable, existing, read_exactly, reading
from firecv.errors import FileFormatError

EXPECTED = "a MATLAB 5 file"
_MATRIX, _COMPRESSED = 14, 15
# How values are stored, and what they are in MATLAB; a double may be stored as small integers.
_STORED: dict[int, str] = {
    **dict(enumerate("i1 u1 i2 u2 i4 u4 f4".split(), 1)),
    **{9: "f8", 12: "i8", 13: "u8"},
}
_CLASSES = dict(enumerate("f8 f4 i1 u1 i2 u2 i4 u4 i8 u8".split(), 6))
_COMPLEX = 0x0800
_LARGEST_DESCRIPTION = 4096
"""Bytes of the flags, the lengths of the axes or the name of a variable."""


def read_matlab(path: str | Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the named arrays of numbers; other variables are not read.

    Parameters
    ----------
    path
        A MATLAB 5 file; version 7.3 files are HDF5 and not read.
    names
        The variables wanted.

    Examples
    --------
    >>> import tempfile
    >>> import scipy.io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scipy.io.savemat(Path(folder) / "a.mat", {"y": [[10], [4]], "note": "text"})
    ...     read_matlab(Path(folder) / "a.mat", ["y"])["y"].tolist()
    [[10], [4]]
    """
    path = existing(path, EXPECTED)
    found: dict[str, NDArray[Any]] = {}
    seen: list[str] = []
    with reading(path, EXPECTED), path.open("rb") as file:
        order = _byte_order(file, path)
        while start := file.read(8):
            variable = _variable(file, start, order, str(path))
            seen.append(variable.name)
            if variable.name in found:
                raise FileFormatError(f"{str(path)!r} has {variable.name!r} twice; it is damaged")
            if variable.name in names:
                found[variable.name] = _array(variable, str(path))
            file.seek(variable.end)
    if missing := [name for name in names if name not in found]:
        raise FileFormatError(f"{str(path)!r} lacks {', '.join(missing)}; it has {shortened(seen)}")
    return found


class _Variable(NamedTuple):
    """A variable as described before its values, where the stream stands."""

    name: str
    flags: int
    shape: tuple[int, ...]
    stream: Readable
    order: str
    end: int
    """Where the next variable starts in the file."""


def _byte_order(file: IO[bytes], path: Path) -> str:
    """Return the byte order of a file, which is left at its first variable."""
    header = file.read(128)
    version = {b"IM": header[124:126][::-1], b"MI": header[124:126]}.get(header[126:])
    if version != b"\x01\x00":
        newer = " (version 7.3 files are HDF5: save with -v7)" if version == b"\x02\x00" else ""
        raise FileFormatError(
            f"{str(path)!r} starts with {header[:20]!r}; expected {EXPECTED}{newer}"
        )
    return "<" if header[126:] == b"IM" else ">"


def _variable(file: IO[bytes], start: bytes, order: str, path: str) -> _Variable:
    """Return the variable whose tag was just read."""
    kind, size = _numbers(start, order, path)
    end = file.tell() + size
    stream: Readable = _Limited(file, size)
    if kind == _COMPRESSED:
        stream = _Inflated(stream)
        kind, _ = _numbers(bytes(read_exactly(stream, 8, repr(path))), order, path)
    if kind != _MATRIX:
        raise FileFormatError(f"{path!r} has an element of type {kind}; it is damaged")
    flags, shape, name = (_description(stream, order, path) for _ in range(3))
    return _Variable(
        name.tobytes().decode(),
        int(flags.view(f"{order}u4")[0]),
        tuple(int(n) for n in shape.view(f"{order}i4")),
        stream,
        order,
        end,
    )


def _array(variable: _Variable, path: str) -> NDArray[Any]:
    """Return the values of a variable."""
    where = f"{path!r}, variable {variable.name!r}"
    final = _CLASSES.get(variable.flags & 0xFF)
    if final is None or variable.flags & _COMPLEX:
        raise FileFormatError(
            f"{where}, is no array of real numbers but of class {variable.flags & 0xFF}; expected "
            f"numbers"
        )
    kind, size, small = _tag(variable.stream, variable.order, path)
    stored = np.dtype(f"{variable.order}{_STORED.get(kind, 'V1')}")
    expected = math.prod(variable.shape) * stored.itemsize
    if kind not in _STORED or min(variable.shape, default=0) < 0 or size != expected:
        raise FileFormatError(
            f"{where}, has {size:,} bytes of type {kind} for the shape {variable.shape}; expected "
            f"{expected:,}, it is damaged"
        )
    values = small if small is not None else read_exactly(variable.stream, size, where)
    while variable.stream.read(CHUNK):  # to the end, where zlib compares its checksum
        pass
    array = np.frombuffer(values, stored).astype(final, copy=False)
    return array.reshape(variable.shape, order="F")


def _description(stream: Readable, order: str, path: str) -> NDArray[np.uint8]:
    """Return the bytes of a small element, the stream being left after its padding."""
    _, size, small = _tag(stream, order, path)
    if small is not None:
        return np.frombuffer(small, np.uint8)
    if size > _LARGEST_DESCRIPTION:
        raise FileFormatError(f"{path!r} describes a variable in {size:,} bytes; it is damaged")
    padded = read_exactly(stream, size + -size % 8, repr(path))
    return np.frombuffer(padded, np.uint8)[:size]


def _tag(stream: Readable, order: str, path: str) -> tuple[int, int, bytes | None]:
    """Return the type and size of an element, and its values if they stand in the tag itself."""
    tag = bytes(read_exactly(stream, 8, repr(path)))
    kind, size = _numbers(tag, order, path)
    if kind >> 16 == 0:
        return kind, size, None
    size = kind >> 16
    return kind & 0xFFFF, size, tag[4 : 4 + size]


def _numbers(tag: bytes, order: str, path: str) -> tuple[int, int]:
    """Return the two numbers of a tag."""
    if len(tag) != 8:
        raise FileFormatError(f"{path!r} is truncated in the middle of a tag; fetch it again")
    first, second = np.frombuffer(tag, f"{order}u4")
    return int(first), int(second)


class _Limited:
    """The next so many bytes of a file."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        """Start where the file stands."""
        self._file = file
        self._left = size

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes."""
        piece = self._file.read(min(size, self._left, CHUNK))
        self._left -= len(piece)
        return piece


class _Inflated:
    """What compressed bytes unpack to."""

    def __init__(self, source: Readable) -> None:
        """Start at the first byte."""
        self._source = source
        self._inflater = zlib.decompressobj()

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; none at the end."""
        while not self._inflater.eof:
            packed = self._inflater.unconsumed_tail or self._source.read(CHUNK)
            if piece := self._inflater.decompress(packed, size):
                return piece
            if not packed and not self._inflater.eof:
                raise EOFError("the compressed data end early")
        return b""
