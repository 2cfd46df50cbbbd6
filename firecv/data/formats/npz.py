"""Named arrays of an npz file, never unpickled."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from firecv.data.formats.archives import open_zip, shortened
from firecv.data.formats.npy import read_npy_stream
from firecv.data.formats.opening import expect_end
from firecv.data.limits import Limits
from firecv.errors import FileFormatError


def read_npz(
    path: str | Path, names: Sequence[str] | None = None, limits: Limits | None = None
) -> dict[str, NDArray[Any]]:
    """Return arrays of an npz file by name; others in it are not read.

    Parameters
    ----------
    path
        A file as `numpy.savez` or `numpy.savez_compressed` write it.
    names
        The arrays wanted; by default all.
    limits
        How large the arrays may be, together and each; by default, as large as the file says.

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
        if names is None:
            names = list(members)
        if missing := [name for name in names if name not in members]:
            raise FileFormatError(
                f"{str(path)!r} lacks {', '.join(missing)}; it has {shortened(sorted(members))}"
            )
        if limits is not None:
            n_bytes = sum(members[name].file_size for name in names)
            limits.check(str(path), columns=len(names), bytes=n_bytes)
        for name in names:
            with pack.open(members[name]) as stream:
                where = f"{path}: {name}"
                found[name] = read_npy_stream(stream, members[name].file_size, where, limits)
                expect_end(stream, repr(where))  # reading to the end has zip compare its checksum
    return found
