"""Values out of JSON, checked when they are asked for, so that errors say where they stand."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from firecv.errors import FileFormatError


@dataclass(frozen=True)
class Fields:
    """An object of JSON.

    Attributes
    ----------
    where
        What it is, for messages: "comparison.json" or "comparison.json, summary 3".
    values
        What it holds.

    Examples
    --------
    >>> fields = Fields("diagnosis.json", {"level": 0.05, "shifted": ["Kiel"]})
    >>> fields.number("level"), fields.number("elsewhere"), fields.texts("shifted")
    (0.05, None, ['Kiel'])
    >>> fields.flag("level")
    Traceback (most recent call last):
        ...
    firecv.errors.FileFormatError: diagnosis.json holds 0.05 as 'level' where true or false ...
    """

    where: str
    values: Mapping[str, object]

    def has(self, name: str) -> bool:
        """Return whether something is there that is not null."""
        return self.values.get(name) is not None

    def text(self, name: str) -> str:
        """Return a text that has to be there."""
        value = self.values.get(name)
        if not isinstance(value, str):
            raise self._error(name, "a text")
        return shown_text(value)

    def number(self, name: str) -> float | None:
        """Return a number; None if it is null, not finite or not there."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._error(name, "a number or null")
        try:
            number = float(value)
        except OverflowError:  # an integer of hundreds of digits
            return None
        return number if math.isfinite(number) else None

    def count(self, name: str) -> int:
        """Return a whole number of 0 or more that has to be there."""
        value = self.number(name)
        if value is None or value < 0 or value != int(value):
            raise self._error(name, "a count")
        return int(value)

    def flag(self, name: str) -> bool:
        """Return whether something is so; what is not there is not so."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, bool):
            raise self._error(name, "true or false")
        return bool(value)

    def texts(self, name: str) -> list[str]:
        """Return a list of texts that has to be there."""
        value = self._list(name)
        if not all(isinstance(each, str) for each in value):
            raise self._error(name, "a list of texts")
        return [shown_text(str(each)) for each in value]

    def numbers(self, name: str) -> list[float | None]:
        """Return a list of numbers; empty if it is not there."""
        value = self._list(name) if self.has(name) else []
        one_by_one = Fields(f"{self.where}, {name}", {str(at): v for at, v in enumerate(value)})
        return [one_by_one.number(at) for at in one_by_one.values]

    def inner(self, name: str) -> "Fields":
        """Return an object in this one; an empty one if it is not there."""
        value = self.values.get(name)
        if value is None:
            return Fields(f"{self.where}, {name}", {})
        if not isinstance(value, Mapping):
            raise self._error(name, "an object")
        return Fields(f"{self.where}, {name}", cast("Mapping[str, object]", value))

    def rows(self, name: str) -> "list[Fields]":
        """Return a list of objects that has to be there."""
        rows: list[Fields] = []
        for at, value in enumerate(self._list(name), start=1):
            if not isinstance(value, Mapping):
                raise self._error(name, "a list of objects")
            found = cast("Mapping[str, object]", value)
            rows.append(Fields(f"{self.where}, {name} {at}", found))
        return rows

    def _list(self, name: str) -> Sequence[object]:
        value = self.values.get(name)
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise self._error(name, "a list")
        return cast("Sequence[object]", value)

    def _error(self, name: str, expected: str) -> FileFormatError:
        given = repr(self.values.get(name))
        short = given if len(given) <= 60 else f"{given[:57]}..."
        found = f"holds {short} as {name!r}" if name in self.values else f"has no {name!r}"
        return FileFormatError(
            f"{self.where} {found} where {expected} is expected; run the command that wrote it "
            f"again"
        )


LINE_ENDS = "\t\r\n\u2028\u2029"
"""Characters that become spaces; charts take the last two for errors."""


def shown_text(text: str) -> str:
    r"""Return a text with what no page can hold made visible, and line ends as spaces.

    Examples
    --------
    >>> shown_text("a\0b") == "a\ufffdb", shown_text("Ulm")
    (True, 'Ulm')
    """
    return "".join(
        " " if char in LINE_ENDS else "\ufffd" if _is_unfit(ord(char)) else char for char in text
    )


def _is_unfit(code: int) -> bool:
    """Return whether a character is a control, half of a pair, or none at all."""
    return code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 or code & 0xFFFE == 0xFFFE
