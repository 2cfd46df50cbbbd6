"""Tables in text form: strict reading of CSV and TSV.

pandas fills short records, renames repeated columns and guesses; so the file is first read once
with the strict reader of the standard library, which finds what is wrong and on which line.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from firecv.data.formats.columns import typed
from firecv.data.formats.opening import open_text, text_lines
from firecv.data.limits import Limits
from firecv.errors import FileFormatError

__all__ = ["read_delimited", "typed"]

EXPECTED = "a table in text form (CSV or TSV in UTF-8, plain or gzip)"
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "None", "?")


def read_delimited(path: str | Path, limits: Limits | None = None) -> pd.DataFrame:
    r"""Return the table of a CSV or TSV file, with the types that pandas reads into it.

    The delimiter is the one among comma, semicolon, tab and bar that is most frequent in the first
    line, which names the columns. Blanks after a delimiter do not count. Missing is what is empty,
    NA, N/A, NaN, nan, null, None or ?.

    Parameters
    ----------
    path
        A file in UTF-8, plain or gzip.
    limits
        How large it may be; by default, of any size.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "own.csv"
    ...     _ = path.write_text("age; site\n41; A\n?; B\n")
    ...     print(read_delimited(path)["age"].tolist())
    ...     _ = path.write_text("age; site\n41; A\n27\n")
    ...     read_delimited(path)
    Traceback (most recent call last):
    firecv.errors.FileFormatError: ..., line 3: there is 1 field; expected 2, as in the header
    """
    layout = _layout(path, limits)
    with open_text(path, EXPECTED) as text:
        frame = pd.read_csv(
            text,
            sep=layout.delimiter,
            header=0,
            names=layout.names,
            index_col=False,
            skipinitialspace=True,
            na_values=list(MISSING),
            keep_default_na=False,
            low_memory=False,
        )
    if len(frame) != layout.n_rows:
        raise FileFormatError(
            f"{str(path)!r} has {layout.n_rows} rows by one reading and {len(frame)} by another; "
            f"write it again with all text in quotes"
        )
    return frame


class _Layout(NamedTuple):
    """What the first, strict reading finds."""

    delimiter: str
    names: list[str]
    n_rows: int


def _layout(path: str | Path, limits: Limits | None) -> _Layout:
    """Return how a file is laid out, every record having been checked."""
    with open_text(path, EXPECTED) as text:
        lines = _limited(text_lines(text, repr(str(path))), path, limits)
        if not (first := next(lines, "")).strip():
            raise FileFormatError(
                f"{str(path)!r} is empty or starts with an empty line; expected the names of the "
                f"columns there"
            )
        header, n_quotes = [first], first.count('"')
        while n_quotes % 2 and (more := next(lines, "")):
            header.append(more)  # a name in quotes goes on in the next line
            n_quotes += more.count('"')
        delimiter = _delimiter("".join(header), path)
        records = _records(chain(header, lines), delimiter, path)
        _, names = next(records)
        _check_names(names, path)
        n_rows = 0
        for n_rows, _ in enumerate(_full(records, len(names), path), start=1):
            if limits is not None:
                limits.check_table(str(path), n_rows, len(names))
    if n_rows == 0:
        raise FileFormatError(f"{str(path)!r} has a header and no rows; expected at least one")
    return _Layout(delimiter, names, n_rows)


def _limited(lines: Iterator[str], path: str | Path, limits: Limits | None) -> Iterator[str]:
    """Yield lines up to the limit, so that a small file that unpacks to a huge one is refused."""
    n_characters = 0
    for line in lines:
        n_characters += len(line)
        if limits is not None:
            limits.check(str(path), bytes=n_characters)
        yield line


def _delimiter(header: str, path: str | Path) -> str:
    """Return the most frequent delimiter outside quotes."""
    bare = re.sub(r'"[^"]*(?:"|$)', "", header)
    counts = {delimiter: bare.count(delimiter) for delimiter in DELIMITERS}
    most = max(counts.values())
    best = [delimiter for delimiter, count in counts.items() if count == most]
    if most and len(best) > 1:
        raise FileFormatError(
            f"{str(path)!r}, line 1: {' and '.join(DELIMITERS[d] for d in best)} are equally "
            f"frequent, so what separates the columns is unclear; put the names in quotes"
        )
    return best[0]


def _records(
    lines: Iterator[str], delimiter: str, path: str | Path
) -> Iterator[tuple[int, list[str]]]:
    """Yield each record with the line it starts on."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    while True:
        start = reader.line_num + 1
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise FileFormatError(
                f"{str(path)!r}, in the record that starts on line {start}: {error}; look for a "
                f"quote that is not closed, or not doubled"
            ) from error
        yield start, record


def _full(
    records: Iterator[tuple[int, list[str]]], width: int, path: str | Path
) -> Iterator[list[str]]:
    """Yield the records, blank ones at the end left out, all of this width."""
    blank = 0
    for line, record in records:
        if not record or (record == [""] and width > 1):
            blank = blank or line
            continue
        if blank:
            raise FileFormatError(f"{str(path)!r}, line {blank}: the line is empty; remove it")
        if len(record) != width:
            found = "there is 1 field" if len(record) == 1 else f"there are {len(record)} fields"
            raise FileFormatError(
                f"{str(path)!r}, line {line}: {found}; expected {width}, as in the header"
            )
        yield record


def _check_names(names: list[str], path: str | Path) -> None:
    """Raise `FileFormatError` unless each column has a name of its own."""
    if empty := [str(place) for place, name in enumerate(names, 1) if not name.strip()]:
        raise FileFormatError(
            f"{str(path)!r}: column {', '.join(empty)} has no name in the header; name it"
        )
    if repeated := [name for name, n in Counter(names).items() if n > 1]:
        raise FileFormatError(
            f"{str(path)!r}: the header has {', '.join(map(repr, repeated))} more than once; "
            f"rename the columns"
        )
