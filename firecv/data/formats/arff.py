"""Tables in Weka's attribute-relation file format, dense.

SciPy's reader knows no string attributes and returns missing categories as the text "?", so this
is one of our own. Not read: sparse rows, dates, relational attributes and weights of rows.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from firecv.data.formats.opening import open_text, text_lines
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

EXPECTED = "a dense ARFF file"
MISSING = ("?",)


def read_arff(path: str | Path) -> pd.DataFrame:
    r"""Return the table of a dense ARFF file, plain or gzip.

    Attributes declared numeric, real or integer become float64; nominal and string ones become
    categories of the values that occur; ``?`` is missing.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "toy.arff"
    ...     header = "@relation toy\n@attribute size numeric\n@attribute kind {a,'b, c'}\n"
    ...     _ = path.write_text(header + "@data\n1.5,'b, c'\n?,?\n")
    ...     read_arff(path)
       size  kind
    0   1.5  b, c
    1   NaN   NaN
    """
    with open_text(path, EXPECTED) as text:
        content = numbered(text_lines(text, repr(str(path))), "%")
        attributes = _header(content, str(path))
        return table(attributes, _rows(content, attributes, str(path)), repr(str(path)))


def _header(content: Iterator[tuple[int, str]], path: str) -> list[Attribute]:
    """Return the attributes, the line @data being the last that was read."""
    attributes: list[Attribute] = []
    for number, line in content:
        where = f"{path!r}, line {number}"
        word, _ = keyword(line)
        if word == "@data":
            return attributes
        if word == "@attribute":
            attributes.append(_checked(parse_attribute(line, where), where))
        elif word != "@relation":
            raise FileFormatError(
                f"{where}: {line[:60]!r} is no line of an ARFF header; expected @relation, "
                f"@attribute or @data"
            )
    raise FileFormatError(f"{path!r} has no line @data; expected {EXPECTED}")


def _rows(
    content: Iterator[tuple[int, str]], attributes: list[Attribute], path: str
) -> Iterator[Row]:
    """Yield the rows, in which nominal attributes have values they were declared with."""
    nominal = [(place, a) for place, a in enumerate(attributes) if a.kind == "nominal"]
    for number, line in content:
        where = f"{path!r}, line {number}"
        if line.startswith("{"):
            raise FileFormatError(f"{where}: the row is sparse; expected {EXPECTED}, convert it")
        row = Row(number, parse_values(line, where, MISSING))
        for place, attribute in nominal:
            value = row.values[place] if place < len(row.values) else None
            if value is not None and value not in attribute.values:
                raise FileFormatError(
                    f"{where}: {attribute.name!r} is {value!r}; declared are "
                    f"{', '.join(attribute.values)}"
                )
        yield row


def _checked(attribute: Attribute, where: str) -> Attribute:
    """Return an attribute of a type that is read."""
    if not re.fullmatch(r"nominal|string|numeric|(real|integer)\s*(\[.*\])?", attribute.kind):
        raise FileFormatError(
            f"{where}: {attribute.name!r} has the type {attribute.kind!r}; expected numeric, real, "
            f"integer, string or a list of values in braces"
        )
    return attribute
