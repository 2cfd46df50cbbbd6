"""Tables of numbers without a header: values with commas between, or ``index:value`` pairs."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from firecv.data.formats.opening import open_text, text_lines
from firecv.errors import FileFormatError

MISSING = "?"


def read_values(path: str | Path, columns: Sequence[str]) -> pd.DataFrame:
    r"""Return a table of numbers with commas between them; ``?`` is missing.

    Parameters
    ----------
    path
        A file as the UCI repository has them: one row per line, no header, plain or gzip.
    columns
        The names of the columns.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.data"
    ...     _ = path.write_text("63,.7,0\n41,?,1\n")
    ...     read_values(path, ["age", "dose", "label"])
        age  dose  label
    0  63.0   0.7    0.0
    1  41.0   NaN    1.0
    """
    expected = f"{len(columns)} numbers with commas between them"

    def values(line: str) -> list[float] | None:
        found = [math.nan if cell == MISSING else _number(cell) for cell in line.split(",")]
        return found if len(found) == len(columns) else None

    return pd.DataFrame(_rows(path, values, expected), columns=list(columns))


def read_pairs(path: str | Path, n_inputs: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    r"""Return inputs and labels of lines such as ``2;50.0 1:0.5 2:7.25``.

    This is the svmlight format, dense: the label, which may have a second number after a semicolon
    (not returned), and every input with its index from 1.

    Parameters
    ----------
    path
        A file of such lines, plain or gzip.
    n_inputs
        How many inputs a line has.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "batch.dat"
    ...     _ = path.write_text("2;50.0 1:0.5 2:7.25\n1 1:0.25 2:8\n")
    ...     x, y = read_pairs(path, 2)
    >>> x.tolist(), y.tolist()
    ([[0.5, 7.25], [0.25, 8.0]], [2, 1])
    """
    indices = [str(index) for index in range(1, n_inputs + 1)]
    expected = f"a whole number as label and the inputs 1:... to {n_inputs}:..."

    def values(line: str) -> list[float] | None:
        label, *pairs = line.split()
        found = [pair.partition(":") for pair in pairs]
        if [index for index, _, _ in found] != indices:
            return None
        return [int(label.partition(";")[0]), *(_number(value) for _, _, value in found)]

    table = np.array(_rows(path, values, expected))
    return table[:, 1:], table[:, 0].astype(np.int64)


def _rows(
    path: str | Path, values: Callable[[str], list[float] | None], expected: str
) -> list[list[float]]:
    """Return what `values` finds in each line that holds something; None is refused."""
    name = repr(str(path))
    rows: list[list[float]] = []
    with open_text(path, f"lines of {expected}") as text:
        for number, line in enumerate(text_lines(text, name), 1):
            if not line.strip():
                continue
            try:
                row = values(line.strip())
            except ValueError:
                row = None
            if row is None:
                raise FileFormatError(f"{name}, line {number}: expected {expected}")
            rows.append(row)
    if not rows:
        raise FileFormatError(f"{name} is empty; expected lines of {expected}")
    return rows


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not finite")
    return number
