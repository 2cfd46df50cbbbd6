"""A user's file as named columns, whatever its format."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from firecv.data.arrays import Array
from firecv.data.formats.delimited import read_delimited
from firecv.data.formats.npy import read_npy_stream
from firecv.data.formats.npz import read_npz
from firecv.data.formats.opening import reading
from firecv.data.limits import Limits
from firecv.errors import DataError, FirecvError

Columns = pd.DataFrame | Mapping[str, Array]


def read_columns(path: str | Path, limits: Limits | None = None) -> Columns:
    """Return the table in a file, or for ``.npz`` its arrays by name.

    The ending of the name tells the format: ``.csv``, ``.tsv`` or ``.txt`` (also with ``.gz``),
    ``.parquet``, ``.arrow`` or ``.feather``, ``.npz``, ``.npy`` (a numeric matrix, its columns
    named "0", "1" and so on). Nothing is unpickled. A file that is damaged raises a
    `FileFormatError`, whatever is wrong with it.

    Parameters
    ----------
    path
        The file.
    limits
        How large it may be; ``Limits()`` by default.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> with TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "two.npy", np.array([[1.0, 0.0], [2.0, 1.0]]))
    ...     read_columns(Path(folder) / "two.npy")["1"].tolist()
    [0.0, 1.0]
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"there is no file {path}; check the path")
    name = path.name.lower()
    for endings, (read, expected) in READERS.items():
        if name.endswith(endings):
            with reading(path, expected):
                return read(path, limits or Limits())
    known = ", ".join(ending for endings in READERS for ending in endings)
    raise DataError(f"cannot tell the format of {path} from its name; it must end in {known}")


def _read_parquet(path: Path, limits: Limits) -> pd.DataFrame:
    """Return a Parquet file."""
    _check_pyarrow(path)
    from firecv.data.formats.arrow import read_parquet

    return read_parquet(path, limits)


def _read_arrow(path: Path, limits: Limits) -> pd.DataFrame:
    """Return an Arrow file."""
    _check_pyarrow(path)
    from firecv.data.formats.arrow import read_arrow

    return read_arrow(path, limits)


def _check_pyarrow(path: Path) -> None:
    """Raise a `FirecvError` if pyarrow is not installed."""
    try:
        import pyarrow  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        raise FirecvError(
            f"reading {path} needs pyarrow; install it with: pip install 'firecv[data]'"
        ) from error


def _read_npz(path: Path, limits: Limits) -> dict[str, Array]:
    """Return every array of an npz file."""
    return read_npz(path, limits=limits)


def _read_npy(path: Path, limits: Limits) -> pd.DataFrame:
    """Return the matrix in an npy file."""
    with path.open("rb") as stream:
        matrix = read_npy_stream(stream, path.stat().st_size, str(path), limits)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise DataError(
            f"{path} does not hold a numeric array of shape (n_samples, n_columns); save named "
            f"columns or images as .npz"
        )
    return pd.DataFrame(matrix, columns=[str(i) for i in range(matrix.shape[1])])


READERS: dict[tuple[str, ...], tuple[Callable[[Path, Limits], Columns], str]] = {
    (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"): (read_delimited, "a table of text"),
    (".parquet",): (_read_parquet, "a Parquet file"),
    (".arrow", ".feather"): (_read_arrow, "an Arrow file"),
    (".npz",): (_read_npz, "an npz file"),
    (".npy",): (_read_npy, "an npy file"),
}
"""What reads files by the endings of their names, and what to call such a file."""
