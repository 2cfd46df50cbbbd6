"""Tables of the KEEL repository: a .dat file, or the zip it is published in.

Alcala-Fdez et al., "KEEL data-mining software tool: data set repository", 2011. KEEL's files break
their own headers in places (values outside the range or the list declared), so ranges and lists
are not enforced; types are.
"""

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from firecv.data.formats.archives import member_names, read_members
from firecv.data.formats.opening import as_text, open_binary, open_text, reading, text_lines
from firecv.data.formats.relation import (
    Attribute,
    Row,
    keyword,
    numbered,
    parse_attribute,
    parse_values,
    table,
)
from firecv.errors import FileFormatError

EXPECTED = "a KEEL .dat file, or a zip with one"
MISSING = ("?", "<null>")
_FOLD = re.compile(r"-\d*(?:tra|tst)\.dat$")
_LARGEST = 1 << 30  # bytes of a table in a zip


def read_keel(path: str | Path) -> pd.DataFrame:
    r"""Return the table of a KEEL file, its output as the last column.

    Attributes declared real or integer become float64, those declared by a list of values become
    categories of the values that occur; ``?`` and ``<null>`` are missing.

    Parameters
    ----------
    path
        A .dat file, plain or gzip, or a zip with exactly one .dat beside the files of folds.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "toy.dat"
    ...     header = "@relation toy\n@attribute Class{yes,no}\n@attribute Size real[0,9]\n"
    ...     _ = path.write_text(header + "@outputs Class\n@data\nyes, 1.5\nno, <null>\n")
    ...     read_keel(path)
       Size Class
    0   1.5   yes
    1   NaN    no
    """
    with open_binary(path, EXPECTED) as stream:
        is_zip = stream.read(2) == b"PK"
    if is_zip:
        with as_text(io.BytesIO(_only_table(path))) as text, reading(path, EXPECTED):
            return _parse(text_lines(text, repr(str(path))), str(path))
    with open_text(path, EXPECTED) as text:
        return _parse(text_lines(text, repr(str(path))), str(path))


def _only_table(path: str | Path) -> bytes:
    """Return the one .dat file in a zip that is not a fold."""
    names = [name for name in member_names(path) if name.lower().endswith(".dat")]
    whole = [name for name in names if not _FOLD.search(name.lower())]
    if len(whole) != 1:
        raise FileFormatError(
            f"{str(path)!r} has {len(whole)} .dat files that are not folds (of {len(names)}); "
            f"expected exactly one"
        )
    return read_members(path, whole, at_most=_LARGEST)[whole[0]]


def _parse(lines: Iterator[str], path: str) -> pd.DataFrame:
    """Return the table that the lines of a file make up."""
    attributes: list[Attribute] = []
    outputs: list[str] = []
    # Some copies in circulation have header lines put out of force by a #.
    content = numbered(lines, "%#")
    for number, line in content:
        where = f"{path!r}, line {number}"
        word, rest = keyword(line)
        if word == "@data":
            break
        if word == "@attribute":
            attributes.append(_checked(parse_attribute(line, where), where))
        elif word in ("@output", "@outputs"):
            outputs += [str(name) for name in parse_values(rest, where)]
        elif word not in ("@relation", "@input", "@inputs"):
            raise FileFormatError(
                f"{where}: {line[:60]!r} is no line of a KEEL header; expected @relation, "
                f"@attribute, @inputs, @outputs or @data"
            )
    else:
        raise FileFormatError(f"{path!r} has no line @data; expected {EXPECTED}")
    frame = table(attributes, _rows(content, path), repr(path))
    last = _outputs(outputs, [attribute.name for attribute in attributes], path)
    first = [name for name in frame.columns if name not in last]
    return frame.reindex(columns=first + last)


def _rows(content: Iterator[tuple[int, str]], path: str) -> Iterator[Row]:
    for number, line in content:
        yield Row(number, parse_values(line, f"{path!r}, line {number}", MISSING))


def _checked(attribute: Attribute, where: str) -> Attribute:
    """Return an attribute of a type KEEL has."""
    if attribute.kind != "nominal" and not re.match(r"(real|integer)\b", attribute.kind):
        raise FileFormatError(
            f"{where}: {attribute.name!r} has the type {attribute.kind!r}; expected real, integer "
            f"or a list of values in braces"
        )
    return attribute


def _outputs(declared: list[str], names: list[str], path: str) -> list[str]:
    """Return the output attributes as they are spelt in their declaration; the last if none."""
    spelt = {name.lower(): name for name in names} | {name: name for name in names}
    found = [spelt.get(name) or spelt.get(name.lower()) for name in declared or names[-1:]]
    if unknown := [name for name, match in zip(declared, found, strict=False) if match is None]:
        raise FileFormatError(
            f"{path!r} names the outputs {', '.join(unknown)}, which are not among its attributes "
            f"{', '.join(names)}"
        )
    return [name for name in dict.fromkeys(found) if name is not None]
