"""Locks between processes, which the system drops when their holder dies.

A lock is ``flock`` on a file that names its holder and is removed when it is given back. It keeps
processes apart on Linux and macOS, on local disks and on NFS from version 3 with its lock service
running; on Windows, and on file systems without locks, nothing does.
"""

import errno
import os
import platform
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from firecv.errors import InUseError

NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}


@contextmanager
def locked(path: Path, what: str = "", *, wait: bool = True) -> Generator[None]:
    """Hold the lock at a path; no other process, and no other call, holds it meanwhile.

    Parameters
    ----------
    path
        Of the lock file; its folder must exist.
    what
        The thing that is locked, for the error: "the checkpoint 'runs/fire'".
    wait
        Whether to wait for the present holder, or to raise.

    Raises
    ------
    InUseError
        If another process holds it and `wait` is False.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with locked(Path(folder.name) / "lock"):
    ...     with locked(Path(folder.name) / "lock", "the folder", wait=False):
    ...         pass
    Traceback (most recent call last):
    firecv.errors.InUseError: the folder is in use by process ...
    >>> folder.cleanup()
    """
    while True:
        with path.open("a+", encoding="utf-8") as file:
            if not _acquired(file, wait):
                raise InUseError(
                    f"{what} is in use by {_holder(path)}; wait until it has ended, or give "
                    f"another folder"
                )
            if _is_at(file, path):  # else the last holder removed it while we waited
                file.truncate(0)
                file.write(f"process {os.getpid()} on {platform.node()}\n")
                file.flush()
                try:
                    yield
                finally:
                    path.unlink(missing_ok=True)
                return


def _acquired(file: IO[str], wait: bool) -> bool:
    """Return whether the lock on a file is ours; where there are no locks it always is."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
    return True


def _holder(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip() or "another process"
    except OSError:
        return "another process"


def _is_at(file: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
