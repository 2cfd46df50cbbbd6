"""What KEEL and ARFF files have in common: a header of attributes, then one row per line.

Keywords start with @ and are read in any case. Names and values may stand in single or double
quotes, inside which a backslash takes the next character as it is.
"""

import math
import re
import sys
from array import array
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import pandas as pd

from firecv.data.formats.columns import typed
from firecv.errors import FileFormatError

# Possessive quantifiers (*+): a hostile line must not make the match try every way to split it.
_QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_FIELD = re.compile(rf"\s*+(?:({_QUOTED})\s*+|([^,'\"][^,]*+|))(?:,|$)")
_ATTRIBUTE = re.compile(
    rf"@attribute\s*+({_QUOTED}|[^\s{{'\"]++)\s*+"  # a name
    rf"(?:{{((?:{_QUOTED}|[^}}'\"])*+)}}|([^{{%]++))"  # values in braces, or the name of a type
    rf"\s*+(?:%.*)?$",
    re.IGNORECASE,
)
_ESCAPED = re.compile(r"\\(.)")
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}


class Attribute(NamedTuple):
    """One column as the header declares it."""

    name: str
    kind: str
    """What follows the name, in lower case: ``"real [0, 1]"``; ``"nominal"`` if values follow."""
    values: tuple[str, ...] = ()
    """The values a nominal attribute may take."""


class Row(NamedTuple):
    """One line of data; a missing value is None."""

    line: int
    values: list[str | None]


def parse_attribute(declaration: str, where: str) -> Attribute:
    """Return what an ``@attribute`` line declares.

    Examples
    --------
    >>> parse_attribute("@attribute 'my colour'{red, 'light, blue'}", "line 2")
    Attribute(name='my colour', kind='nominal', values=('red', 'light, blue'))
    >>> parse_attribute("@Attribute Age INTEGER[1,9]", "line 3").kind
    'integer[1,9]'
    """
    match = _ATTRIBUTE.match(declaration.strip())
    if match is None:
        raise FileFormatError(
            f"{where}: {declaration.strip()[:60]!r} is not '@attribute NAME TYPE' or '@attribute "
            f"NAME {{VALUE, VALUE, ...}}'"
        )
    name, values, kind = _unquoted(match[1]), match[2], match[3]
    if values is None:
        return Attribute(name, kind.strip().lower())
    parsed = parse_values(values, where) if values.strip() else []
    return Attribute(name, "nominal", tuple(value for value in parsed if value is not None))


def parse_values(line: str, where: str, missing: Collection[str] = ()) -> list[str | None]:
    r"""Return the values of a line; None for those that are missing, which are never quoted.

    Examples
    --------
    >>> parse_values("5.1, ?, 'it\\'s, well', '?'", "line 9", missing=["?"])
    ['5.1', None, "it's, well", '?']
    """
    line = line.strip()
    if "'" not in line and '"' not in line:
        return [_plain(value, where, missing) for value in line.split(",")]
    values: list[str | None] = []
    at = 0
    while True:
        match = _FIELD.match(line, at)
        if match is None:
            raise FileFormatError(
                f"{where}: a quote after character {at} is not closed, or text follows it"
            )
        quoted, plain = match[1], match[2]
        values.append(_unquoted(quoted) if quoted else _plain(plain, where, missing))
        if not match[0].endswith(","):
            return values
        at = match.end()


def table(attributes: list[Attribute], rows: Iterable[Row], name: str) -> pd.DataFrame:
    """Return rows as a table: attributes with values (or of kind string) as categories, else float.

    Parameters
    ----------
    attributes
        The columns.
    rows
        Their values, line by line.
    name
        What to call the file in messages.
    """
    names = [attribute.name for attribute in attributes]
    if not names or len(set(names)) < len(names):
        raise FileFormatError(f"{name} declares no attributes, or one twice: {', '.join(names)}")
    columns: list[array[float] | list[str | None]] = [
        [] if attribute.kind in ("nominal", "string") else array("d") for attribute in attributes
    ]
    for line, values in rows:
        if len(values) != len(names):
            raise FileFormatError(
                f"{name}, line {line}: there are {len(values)} values; expected {len(names)}, one "
                f"per attribute"
            )
        for column, value, attribute in zip(columns, values, attributes, strict=True):
            if isinstance(column, list):
                column.append(value if value is None else sys.intern(value))
            elif (number := _number(value)) is not None:
                column.append(number)
            else:
                raise FileFormatError(
                    f"{name}, line {line}: {attribute.name!r} is {value!r} there; expected a "
                    f"finite number"
                )
    if not len(columns[0]):
        raise FileFormatError(f"{name} has no rows after @data; expected at least one")
    text = [key for key, column in zip(names, columns, strict=True) if isinstance(column, list)]
    frame = {
        key: pd.Series(column, dtype="str" if key in text else "float64")
        for key, column in zip(names, columns, strict=True)
    }
    return typed(pd.DataFrame(frame), text)


def numbered(lines: Iterable[str], comments: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that hold something, stripped, with their numbers."""
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if stripped and stripped[0] not in comments:
            yield number, stripped


def keyword(line: str) -> tuple[str, str]:
    """Return the keyword a header line starts with, in lower case, and the rest of it.

    Examples
    --------
    >>> keyword("@Inputs a, b")
    ('@inputs', 'a, b')
    """
    match = re.match(r"@\w*", line)
    found = match[0] if match else ""
    return found.lower(), line[len(found) :].strip()


def _plain(value: str, where: str, missing: Collection[str]) -> str | None:
    """Return a value that is not in quotes."""
    value = value.strip()
    if not value:
        raise FileFormatError(f"{where}: there is nothing where a value should be")
    return None if value in missing else value


def _number(value: str | None) -> float | None:
    """Return a value of a numeric attribute, NaN if it is missing; None if it is no number."""
    if value is None:
        return math.nan
    try:
        number = float(value)
    except ValueError:
        return None
    # Python reads 1_000 as a thousand.
    return number if math.isfinite(number) and "_" not in value else None


def _unquoted(text: str) -> str:
    """Return what quotes enclose, or the text if it has none."""
    if text[:1] not in ("'", '"'):
        return text
    return _ESCAPED.sub(lambda found: _CONTROLS.get(found[1], found[1]), text[1:-1])
