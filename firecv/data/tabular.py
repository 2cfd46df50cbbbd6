"""Tables: from a CSV file or the published KEEL or ARFF file to a `Split`; the label comes last.

Facts are in ``tabular.toml``. Columns are named there too, because copies of one table in
circulation name them differently; the values and their order are the same.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import pandas as pd

from firecv.data.arrays import Arrays, Split
from firecv.data.dataset import Copy
from firecv.data.formats.archives import member_names, read_members
from firecv.data.formats.arff import read_arff
from firecv.data.formats.delimited import read_delimited, typed
from firecv.data.formats.keel import read_keel
from firecv.data.labels import named_codes
from firecv.errors import FileFormatError

AT_MOST = 1 << 24
"""Bytes a table in an archive may have."""

Format = Literal["csv", "keel", "arff", "uci"]


def table_copies(files: Mapping[str, Format], columns: Sequence[str]) -> tuple[Copy, ...]:
    """Return the forms in which a table may lie in a data folder.

    Parameters
    ----------
    files
        The format of each file that holds the whole table, named from a data folder.
    columns
        The names of the inputs.
    """
    return tuple(
        Copy((file,), partial(_split, READERS[kind], columns)) for file, kind in files.items()
    )


def _read_csv(path: Path) -> pd.DataFrame:
    return typed(read_delimited(path))


def _read_uci(path: Path) -> pd.DataFrame:
    """Return the one table without a header in a zip of UCI's; the label comes first there."""
    names = [name for name in member_names(path) if name.endswith(".data")]
    if len(names) != 1:
        raise FileFormatError(f"{str(path)!r} holds {names or 'no .data file'}, expected one")
    text = read_members(path, names, at_most=AT_MOST)[names[0]].decode("latin-1")
    lines = [line.split(",") for line in text.split()]
    numbers = [[math.nan if cell == "?" else float(cell) for cell in line] for line in lines]
    return pd.DataFrame([[*rest, label] for label, *rest in numbers])


READERS: dict[Format, Callable[[Path], pd.DataFrame]] = {
    "csv": _read_csv,
    "keel": read_keel,
    "arff": read_arff,
    "uci": _read_uci,
}


def _split(
    read: Callable[[Path], pd.DataFrame], columns: Sequence[str], paths: Sequence[Path]
) -> Split:
    frame = read(paths[0])
    if frame.shape[1] != len(columns) + 1:
        raise FileFormatError(
            f"{str(paths[0])!r} has {frame.shape[1]} columns, expected {len(columns)} inputs and "
            f"the label"
        )
    classes, y = named_codes(frame.iloc[:, -1])
    x = frame.iloc[:, :-1].set_axis(list(columns), axis=1)
    # A column of numbers is numeric here, also where a published file lists them as categories.
    return Split(
        Arrays(typed(x.astype({n: object for n in x if x[n].dtype == "category"})), y, classes)
    )
