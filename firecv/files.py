"""Files that appear whole or not at all, whatever becomes of the process that writes them.

Whatever the package writes goes to a temporary path in the same folder first, is forced to the disk
and then renamed. The temporary name holds the process's id, ``.firecv-<host>-<process>-<random>``:
the next process that writes to the folder removes what a killed one has left there.
"""

import hashlib
import os
import platform
import re
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

TEMPORARY = re.compile(r"\.firecv-([0-9a-f]{6})-([0-9]+)-[0-9a-f]{6}")
FOREIGN_LITTER_AGE = 7 * 24 * 3600.0
"""Seconds after which what a process on another machine has left counts as litter; whether it still
runs cannot be asked from here, and nothing of ours takes a week between two writes."""


def write_atomically(path: str | Path, content: str | bytes, *, sync: bool = True) -> None:
    """Write a file; one of the same name is replaced once the new one is whole.

    Parameters
    ----------
    path
        Where to; its folder must exist. A link stays, and the file it points to is replaced; a pipe
        or a device is written to.
    content
        The whole file; text is written in UTF-8, line ends as they are.
    sync
        Whether to force it to the disk, so that it survives a power failure. Without, the file is
        still whole after the process was killed.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(Path(folder) / "greeting.txt", "hello")
    ...     [(path.name, path.read_text()) for path in Path(folder).iterdir()]
    [('greeting.txt', 'hello')]
    """
    with open_atomically(path, sync=sync) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def open_atomically(path: str | Path, *, sync: bool = True) -> Generator[BinaryIO]:
    """Give a file to write to piece by piece, which is at `path` once the block has ended well.

    Parameters
    ----------
    path, sync
        As for `write_atomically`.
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open("wb") as file:  # renaming would replace the device itself
            yield file
        return
    target = Path(os.path.realpath(path))
    with temporary(target.parent) as part:
        with _new(part, path) as file:
            yield file
            if sync:
                file.flush()
                os.fsync(file.fileno())
        _rename(part, target, sync=sync)


def append_line(path: Path, line: bytes, *, keep: int | None = None) -> None:
    """Add a line to a file, which is made if there is none, and force it to the disk.

    Parameters
    ----------
    path
        The file; only one process may write to it at a time.
    line
        With the line end.
    keep
        Bytes of the file that stay; by default all whole lines, without one that was cut short.
    """
    with path.open("a+b") as file:
        file.truncate(_whole_lines(file) if keep is None else keep)
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def move(part: Path, path: Path) -> None:
    """Give a finished file or folder its name; a file of that name is replaced, a folder is not.

    Parameters
    ----------
    part
        On the same file system, such as a `temporary` path. A file is forced to the disk first.
    path
        Its name from now on.
    """
    if part.is_file():
        with part.open("rb") as file:
            os.fsync(file.fileno())
    _rename(part, path, sync=True)


@contextmanager
def temporary(folder: Path) -> Generator[Path]:
    """Give a path in a folder that nothing is at yet; what is there afterwards is removed.

    Parameters
    ----------
    folder
        Where what is written will be moved to; what killed processes left in it is removed.
    """
    _remove_litter(folder.resolve())
    part = folder / f".firecv-{_host()}-{os.getpid()}-{secrets.token_hex(3)}"
    try:
        yield part
    finally:
        _remove(part)


@contextmanager
def working_folder() -> Generator[Path]:
    """Give an empty folder that only this user can read, among the system's temporary files."""
    with temporary(Path(tempfile.gettempdir())) as folder:
        folder.mkdir(mode=0o700)
        yield folder


def _new(part: Path, path: Path) -> BinaryIO:
    """Return a new file; an error names the path that the caller knows."""
    try:
        return part.open("xb")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _rename(part: Path, path: Path, *, sync: bool) -> None:
    os.replace(part, path)
    if sync and sys.platform != "win32":  # where a folder cannot be opened
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _whole_lines(file: BinaryIO) -> int:
    """Return the number of bytes up to the last line end."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 1))
    if file.read(1) in (b"", b"\n"):
        return size
    file.seek(0)
    return file.read().rfind(b"\n") + 1


@cache  # once for each folder: what appears later is of processes that run now
def _remove_litter(folder: Path) -> None:
    with suppress(OSError):  # a folder that cannot be listed; writing to it will say so
        for name in os.listdir(folder):
            if (found := TEMPORARY.fullmatch(name)) and _is_litter(
                folder / name, found[1], int(found[2])
            ):
                _remove(folder / name)


def _is_litter(path: Path, host: str, process: int) -> bool:
    if host == _host() and sys.platform != "win32":  # where a signal 0 would end the process
        try:
            os.kill(process, 0)
        except (ProcessLookupError, OverflowError):
            return True
        except PermissionError:
            pass
        return False
    try:
        return time.time() - path.lstat().st_mtime > FOREIGN_LITTER_AGE
    except FileNotFoundError:
        return False


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):  # gone, or another user's
            path.unlink()


@cache
def _host() -> str:
    """Return six digits for the machine, or the container, whose process ids these are."""
    try:
        space = os.stat("/proc/self/ns/pid").st_ino  # containers count processes by themselves
    except OSError:
        space = 0
    return hashlib.sha256(f"{platform.node()} {space}".encode()).hexdigest()[:6]
