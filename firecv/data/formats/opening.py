"""Files opened without trusting them: plain or gzip, read to an exact length or line by line."""

import gzip
import io
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol, TextIO, cast

from firecv.errors import FileFormatError, FirecvError

CHUNK = 1 << 20
LONGEST_LINE = 1 << 24
"""Characters; a longer line is no table but a file of another kind, or a hostile one."""


class Readable(Protocol):
    """Anything bytes can be read from."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; none at the end."""
        ...


@contextmanager
def reading(path: str | Path, expected: str) -> Generator[None]:
    """Raise `FileFormatError` in place of whatever a decoder raises inside the block.

    This is the one place where errors of decoders become ours. They are not listed: on files that
    they were not made for, the standard library, NumPy, pandas and pyarrow raise over twenty kinds.

    Parameters
    ----------
    path
        The file, for the message.
    expected
        What the file should have been, such as "an idx file".

    Examples
    --------
    >>> with reading("digits.gz", "a gzip file"):
    ...     raise EOFError("stream ended early")
    Traceback (most recent call last):
    firecv.errors.FileFormatError: 'digits.gz' is damaged or not a gzip file (EOFError: stream ...
    """
    try:
        yield
    except FirecvError:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise FileFormatError(
            f"{str(path)!r} is damaged or not {expected} ({why}); fetch or export it again"
        ) from error


def existing(path: str | Path, expected: str) -> Path:
    """Return the path if a file is there, else raise `FileFormatError`."""
    path = Path(path)
    with reading(path, expected):
        if path.is_dir():
            raise FileFormatError(f"{str(path)!r} is a folder; expected {expected}")
        if not path.is_file():
            raise FileFormatError(f"there is no file {str(path)!r}; expected {expected}")
    return path


@contextmanager
def open_binary(path: str | Path, expected: str) -> Generator[IO[bytes]]:
    """Open a file, decompressed if its first bytes (not its name) say that it is gzip.

    Inside the block, errors of decoders become `FileFormatError`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "note"
    ...     _ = path.write_bytes(gzip.compress(b"packed"))
    ...     with open_binary(path, "a note") as stream:
    ...         stream.read()
    b'packed'
    """
    path = existing(path, expected)
    with reading(path, expected), path.open("rb") as file:
        yield decompressed(file)


def decompressed(stream: IO[bytes]) -> IO[bytes]:
    """Return the stream, or what it unpacks to if its first bytes say that it is gzip."""
    packed = stream.read(2) == b"\x1f\x8b"
    stream.seek(0)
    return cast(IO[bytes], gzip.GzipFile(fileobj=stream)) if packed else stream


def read_exactly(stream: Readable, size: int, name: str) -> bytearray:
    """Return the next `size` bytes; memory grows with what is there, not with what was announced.

    Examples
    --------
    >>> read_exactly(io.BytesIO(b"abc"), 10**15, "'x.gz'")
    Traceback (most recent call last):
    firecv.errors.FileFormatError: 'x.gz' is truncated: its header announces 1,000,000,000,000...
    """
    found = bytearray()
    while len(found) < size:
        piece = stream.read(min(CHUNK, size - len(found)))
        if not piece:
            raise FileFormatError(
                f"{name} is truncated: its header announces {size:,} bytes of values, "
                f"{len(found):,} are there; fetch it again"
            )
        found += piece
    return found


def expect_end(stream: Readable, name: str) -> None:
    """Raise `FileFormatError` if the stream goes on."""
    if stream.read(1):
        raise FileFormatError(
            f"{name} goes on after the values its header announces; it is damaged or not what its "
            f"name says, fetch it again"
        )


@contextmanager
def open_text(path: str | Path, expected: str) -> Generator[TextIO]:
    """Open a file of UTF-8 text, plain or gzip, ends of lines as they are in the file."""
    with open_binary(path, expected) as stream, as_text(stream) as text:
        yield text


def as_text(stream: IO[bytes]) -> io.TextIOWrapper:
    """Return a stream of bytes as UTF-8 text, with or without a byte order mark."""
    return io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")


def text_lines(text: TextIO, name: str) -> Iterator[str]:
    r"""Yield the lines of a text, refusing what no text has.

    Examples
    --------
    >>> with as_text(io.BytesIO("\ufeffa,b\r\n1,2".encode())) as text:
    ...     list(text_lines(text, "x.csv"))
    ['a,b\r\n', '1,2']
    """
    number = 0
    try:
        while line := text.readline(LONGEST_LINE):
            number += 1
            if "\0" in line:
                raise FileFormatError(
                    f"{name}, line {number}: there is a NUL character; expected text in UTF-8 "
                    f"(UTF-16 files have NULs: save the file as UTF-8)"
                )
            if len(line) == LONGEST_LINE:
                raise FileFormatError(
                    f"{name}, line {number}: the line has {LONGEST_LINE:,} characters or more; "
                    f"expected a table in text form"
                )
            yield line
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{name}, soon after line {number}: {error.object[error.start]:#04x} is not valid "
            f"UTF-8 there; save the file as UTF-8"
        ) from error
