"""Named arrays of an npz file, never unpickled."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from firecv.data.formats.archives import open_zip, shortened
from firecv.data.formats.npy import read_npy_stream
from firecv.data.formats.opening import expect_end
from firecv.errors import FileFormatError


def read_npz(path: str | Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the named arrays of an npz file; others in it are not read.

    Parameters
    ----------
    path
        A file as `numpy.savez` or `numpy.savez_compressed` write it.
    names
        The arrays wanted.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "digits.npz"
    ...     np.savez(path, x=np.eye(2), y=np.array([0, 1]))
    ...     print(read_npz(path, ["y"]))
    ...     read_npz(path, ["labels"])
    Traceback (most recent call last):
    firecv.errors.FileFormatError: ... lacks labels; it has x, y
    """
    found: dict[str, NDArray[Any]] = {}
    with open_zip(path, "an npz file") as pack:
        members = {info.filename.removesuffix(".npy"): info for info in pack.infolist()}
        if missing := [name for name in names if name not in members]:
            raise FileFormatError(
                f"{str(path)!r} lacks {', '.join(missing)}; it has {shortened(sorted(members))}"
            )
        for name in names:
            with pack.open(members[name]) as stream:
                where = f"{path}: {name}"
                found[name] = read_npy_stream(stream, members[name].file_size, where)
                expect_end(stream, repr(where))  # reading to the end has zip compare its checksum
    return found
