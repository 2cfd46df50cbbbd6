"""Zip and tar archives: files read out of them in memory, or all unpacked into a folder.

Names, kinds and sizes in an archive are claims of whoever wrote it. Nothing is written before all
of them have been checked, and only plain files and folders are unpacked.
"""

import shutil
import stat
import tarfile
import zipfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple, Self

from firecv.data.formats.opening import (
    CHUNK,
    existing,
    open_binary,
    read_exactly,
    reading,
)
from firecv.errors import FileFormatError
from firecv.files import move, temporary

EXPECTED = "a zip or tar archive"
_EXPANSION = 1032
"""Deflate makes at most this many bytes out of one."""
_LARGEST_HEADER = 1 << 16
"""Bytes of a long name or of extended attributes in a tar archive."""


_DESCRIPTIONS = (
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
)


class Member(NamedTuple):
    """One entry of an archive."""

    name: str
    size: int
    kind: str
    """``"file"``, ``"folder"`` or what else it claims to be."""


def read_members(archive: str | Path, names: Sequence[str], *, at_most: int) -> dict[str, bytes]:
    """Return the contents of named files in a zip or tar archive; nothing is written to disk.

    Parameters
    ----------
    archive
        A zip, tar or tar.gz file.
    names
        Names as the archive has them; a leading ``./`` is left out.
    at_most
        The largest size in bytes a member may have.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pair.zip"
    ...     with zipfile.ZipFile(path, "w") as pack:
    ...         pack.writestr("a/one.txt", "first")
    ...         pack.writestr("a/two.txt", "second")
    ...     read_members(path, ["a/two.txt"], at_most=100)
    {'a/two.txt': b'second'}
    """
    found: dict[str, bytes] = {}
    seen: list[str] = []
    with _entries(archive) as entries:
        for member, stream in entries:
            seen.append(member.name)
            if member.name not in names or member.name in found or stream is None:
                continue
            where = f"{member.name!r} in {str(archive)!r}"
            if member.size > at_most:
                raise FileFormatError(
                    f"{where} has {member.size:,} bytes; expected at most {at_most:,}"
                )
            found[member.name] = bytes(read_exactly(stream, member.size, where))
            if len(found) == len(names):
                break
    if missing := [name for name in names if name not in found]:
        raise FileFormatError(
            f"{str(archive)!r} lacks {', '.join(missing)}; it has {shortened(seen)}"
        )
    return {name: found[name] for name in names}


def member_names(archive: str | Path) -> list[str]:
    """Return the names of all entries of a zip or tar archive."""
    with _entries(archive) as entries:
        return [member.name for member, _ in entries]


def unpack(archive: str | Path, folder: str | Path) -> None:
    """Unpack a zip or tar archive into a new folder, which appears whole or not at all.

    Refused before anything is written: names that are absolute, climb (``..``), hold a backslash,
    a colon or control characters or appear twice; links, devices and everything else but plain
    files and folders; more bytes than the disk has left.

    Parameters
    ----------
    archive
        A zip, tar or tar.gz file.
    folder
        Where its contents go; must not exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "climbs.zip"
    ...     with zipfile.ZipFile(path, "w") as pack:
    ...         pack.writestr("../../outside.txt", "gotcha")
    ...     unpack(path, Path(folder) / "contents")
    Traceback (most recent call last):
    firecv.errors.FileFormatError: ... '../../outside.txt' ...
    """
    folder = Path(folder)
    if folder.exists():
        raise FileFormatError(
            f"{str(archive)!r} is not unpacked, since {str(folder)!r} exists; remove it first"
        )
    with _entries(archive) as entries:
        members = [member for member, _ in entries]
    with reading(archive, f"{EXPECTED} that can be unpacked to {str(folder)!r}"):
        disk = next(parent for parent in folder.absolute().parents if parent.exists())
        _check(members, str(archive), shutil.disk_usage(disk).free)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with temporary(folder.parent) as part:
            part.mkdir()
            _write(archive, part)
            move(part, folder)


@contextmanager
def open_zip(path: str | Path, expected: str) -> Generator[zipfile.ZipFile]:
    """Open a zip file whose members are stored or deflated and not larger than that can yield."""
    path = existing(path, expected)
    with reading(path, expected), zipfile.ZipFile(path) as pack:
        for info in pack.infolist():
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise FileFormatError(
                    f"{str(path)!r} holds {info.filename!r} in compression {info.compress_type}; "
                    f"expected stored (0) or deflated (8)"
                )
            room = min(info.compress_size, path.stat().st_size) * _EXPANSION
            if info.file_size > room:
                raise FileFormatError(
                    f"{str(path)!r} announces {info.file_size:,} bytes for {info.filename!r}, more "
                    f"than its {info.compress_size:,} compressed bytes can hold; it is damaged"
                )
        yield pack


def shortened(names: Sequence[str], n_shown: int = 10) -> str:
    """Return names in one line, the first few of them if there are many.

    Examples
    --------
    >>> shortened(["a", "b", "c"], n_shown=2)
    'a, b and 1 more'
    """
    shown = ", ".join(names[:n_shown]) or "nothing"
    return shown if len(names) <= n_shown else f"{shown} and {len(names) - n_shown} more"


Entries = Iterator[tuple[Member, IO[bytes] | None]]


@contextmanager
def _entries(archive: str | Path) -> Generator[Entries]:
    """Open an archive of either kind as its members, each with its contents if it is a file."""
    path = existing(archive, EXPECTED)
    with open_binary(path, EXPECTED) as start:
        is_zip = start.read(2) == b"PK"  # not is_zipfile: a tar that ends in a zip passes that
    with reading(path, EXPECTED):
        if is_zip:
            with open_zip(path, EXPECTED) as pack:
                yield _zip_entries(pack)
        else:
            with (
                open_binary(path, EXPECTED) as stream,
                # A stream is read once and in order, so a header cannot send it elsewhere.
                tarfile.open(fileobj=stream, mode="r|", tarinfo=_CheckedInfo) as pack,
            ):
                yield _tar_entries(pack)


def _zip_entries(pack: zipfile.ZipFile) -> Entries:
    for info in pack.infolist():
        mode = stat.S_IFMT(info.external_attr >> 16)
        # The name as stored: `filename` is cut at a NUL and has the system's separators replaced.
        folder = info.orig_filename.endswith("/")
        plain = mode in (0, stat.S_IFDIR if folder else stat.S_IFREG)
        kind = ("folder" if folder else "file") if plain else f"mode {mode:o}"
        member = Member(_relative(info.orig_filename), info.file_size, kind)
        if kind != "file":
            yield member, None
        else:
            with pack.open(info) as stream:
                yield member, stream


def _tar_entries(pack: tarfile.TarFile) -> Entries:
    while (info := pack.next()) is not None:
        plain = info.isreg() and not info.issparse()
        kind = "file" if plain else "folder" if info.isdir() else f"type {info.type!r}"
        stream = pack.extractfile(info) if plain else None
        yield Member(_relative(info.name), info.size if plain else 0, kind), stream


class _CheckedInfo(tarfile.TarInfo):
    """A tar header, refused if it is broken or announces a name of any size."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Return the header in one block."""
        try:
            info = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if buf == bytes(tarfile.BLOCKSIZE):
                raise  # the block of zeros that ends an archive
            # Anywhere but at the start, tarfile would take this for the end and leave the rest out.
            raise tarfile.ReadError(f"no header where one must be: {error}") from error
        if info.type in _DESCRIPTIONS and info.size > _LARGEST_HEADER:
            raise tarfile.ReadError(
                f"a header announces {info.size:,} bytes, expected at most {_LARGEST_HEADER:,}"
            )
        return info


def _relative(name: str) -> str:
    return name.removeprefix("./")


def _check(members: Iterable[Member], archive: str, free: int) -> None:
    """Raise `FileFormatError` unless every member may be written and all fit."""
    names: set[str] = set()
    total = 0
    for name, size, kind in members:
        parts = PurePosixPath(name).parts
        total += size
        if kind not in ("file", "folder"):
            problem = f"is neither a file nor a folder ({kind})"
        elif name.startswith("/") or ".." in parts or any(c in name for c in "\\:"):
            problem = "could be written outside the folder"
        elif not name.isprintable() or (not parts and kind == "file"):
            problem = "is no name for a file"
        elif kind == "file" and name in names:
            problem = "appears twice"
        elif total > free:
            problem = f"does not fit any more: {free:,} bytes are free on the disk"
        else:
            names.add(name)
            continue
        raise FileFormatError(f"{archive!r} is not unpacked: its member {name!r} {problem}")


def _write(archive: str | Path, part: Path) -> None:
    """Write all members below a folder of our own; names have been checked."""
    with _entries(archive) as entries:
        for member, stream in entries:
            target = part / member.name
            (target.parent if stream else target).mkdir(parents=True, exist_ok=True)
            if stream is not None:
                with target.open("xb") as file:
                    shutil.copyfileobj(stream, file, CHUNK)
                if target.stat().st_size != member.size:
                    raise FileFormatError(f"{str(archive)!r} is truncated at {member.name!r}")
