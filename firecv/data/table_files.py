"""A user's file as named columns, whatever its format."""

import zlib
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import cast
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from firecv.data.arrays import Array
from firecv.data.formats.delimited import read_delimited
from firecv.errors import DataError, FileFormatError, FirecvError

Columns = pd.DataFrame | Mapping[str, Array]


def read_columns(path: str | Path) -> Columns:
    """Return the table in a file, or for ``.npz`` its arrays by name.

    The ending of the name tells the format: ``.csv``, ``.tsv`` or ``.txt`` (also with ``.gz``),
    ``.parquet``, ``.arrow`` or ``.feather``, ``.npz``, ``.npy`` (a numeric matrix, its columns
    named "0", "1" and so on). Nothing is unpickled.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "two.npy", np.array([[1.0, 0.0], [2.0, 1.0]]))
    ...     read_columns(Path(folder) / "two.npy")["1"].tolist()
    [0.0, 1.0]
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"there is no file {path}; check the path")
    name = path.name.lower()
    for endings, read in READERS.items():
        if name.endswith(endings):
            return read(path)
    known = ", ".join(ending for endings in READERS for ending in endings)
    raise DataError(f"cannot tell the format of {path} from its name; it must end in {known}")


def _read_parquet(path: Path) -> pd.DataFrame:
    """Return a Parquet file."""
    return _with_pyarrow(pd.read_parquet, path)


def _read_feather(path: Path) -> pd.DataFrame:
    """Return an Arrow IPC file, which Feather's second version is too."""
    return _with_pyarrow(pd.read_feather, path)


def _with_pyarrow(read: Callable[[Path], pd.DataFrame], path: Path) -> pd.DataFrame:
    """Return what a pandas reader that needs pyarrow makes of a file."""
    try:
        import pyarrow  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        raise FirecvError(
            f"reading {path} needs pyarrow; install it with: pip install 'firecv[data]'"
        ) from error
    try:
        return read(path)
    except (ValueError, OSError) as error:  # pyarrow's own errors are subclasses of these
        raise FileFormatError(f"cannot read {path}: {error}") from error


def _read_npz(path: Path) -> dict[str, Array]:
    """Return every array of an npz file."""
    with _loaded(path) as file:
        if not isinstance(file, np.lib.npyio.NpzFile):
            raise FileFormatError(f"{path} is not an npz file; name a file of one array .npy")
        return {name: file[name] for name in file.files}


def _read_npy(path: Path) -> pd.DataFrame:
    """Return the matrix in an npy file."""
    with _loaded(path) as matrix:
        pass
    if not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise DataError(
            f"{path} does not hold a numeric array of shape (n_samples, n_columns); save named "
            f"columns or images as .npz"
        )
    return pd.DataFrame(matrix, columns=[str(i) for i in range(matrix.shape[1])])


@contextmanager
def _loaded(path: Path) -> Generator[object]:
    """Give what NumPy finds in a file, which stays open for as long."""
    try:
        # NumPy leaves a file that it has opened by itself open if it is no zip archive after all.
        with path.open("rb") as stream:
            yield cast(object, np.load(stream, allow_pickle=False))
    except UNREADABLE as error:
        if isinstance(error, FirecvError):
            raise
        raise FileFormatError(f"cannot read {path} without unpickling: {error}") from error


UNREADABLE = (ValueError, OSError, EOFError, BadZipFile, zlib.error)
READERS: dict[tuple[str, ...], Callable[[Path], Columns]] = {
    (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"): read_delimited,
    (".parquet",): _read_parquet,
    (".arrow", ".feather"): _read_feather,
    (".npz",): _read_npz,
    (".npy",): _read_npy,
}
