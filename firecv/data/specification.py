"""Settings written in one word: ``rotation:a=2,b=6`` names an entry of a registry and its settings.

What the command line takes, what a table of experiments lists, and what a caption prints are the
same text.
"""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, Literal, Protocol, TypeVar, get_args, get_origin, get_type_hints

from firecv.data.labels import suggestion
from firecv.errors import DataError


class Entry(Protocol):
    """An entry of a registry such as `SHIFTS` or `FRAGMENTERS`."""

    @property
    def settings(self) -> type[Any]:
        """The frozen dataclass of its settings."""
        ...


E = TypeVar("E", bound=Entry)


def parse(text: str, registry: Mapping[str, E], what: str) -> tuple[E, Any]:
    """Return the entry a text names, and its settings with the given values.

    Parameters
    ----------
    text
        A name, or a name, a colon and ``key=value`` pairs with commas between them.
    registry
        The entries by name.
    what
        What an entry is called in messages: "shift", "fragmenter".

    Examples
    --------
    >>> from firecv.data.shifts import SHIFTS
    >>> parse("rotation:a=2,b=6", SHIFTS, "shift")[1]
    Rotation(a=2.0, b=6.0, degrees=180.0)
    """
    name, _, rest = text.strip().partition(":")
    if name not in registry:
        raise DataError(f"there is no {what} {name!r}; {suggestion(name, registry)}")
    entry = registry[name]
    types = get_type_hints(entry.settings)
    values: dict[str, object] = {}
    for pair in filter(None, rest.split(",")):
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals:
            raise DataError(f"in {text!r}, {pair!r} is not a setting; write key=value")
        if key not in types:
            raise DataError(f"the {what} {name!r} has no setting {key!r}; {suggestion(key, types)}")
        values[key] = _value(value, types[key], f"{key} of {what} {name!r}")
    needed = [field.name for field in fields(entry.settings) if _has_no_default(field)]
    if lacking := [key for key in needed if key not in values]:
        raise DataError(
            f"the {what} {name!r} needs {', '.join(lacking)}: write {name}:{lacking[0]}=..."
        )
    return entry, entry.settings(**values)


def usage(registry: Mapping[str, Entry]) -> str:
    """Return every entry with its settings and their defaults, a line each."""
    lines: list[str] = []
    for name, entry in registry.items():
        parts = [
            f"{field.name}=..." if _has_no_default(field) else f"{field.name}={field.default}"
            for field in fields(entry.settings)
        ]
        lines.append(f"{name}:{','.join(parts)}" if parts else name)
    return "\n".join(lines)


def _has_no_default(field: Any) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _value(text: str, kind: Any, where: str) -> object:
    """Return a text as the type a setting has."""
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    if choices:
        if text in choices:
            return text
        raise DataError(f"{where} is one of {', '.join(map(str, choices))}; got {text!r}")
    if kind is bool:
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise DataError(f"{where} is true or false; got {text!r}")
    for number in (int, float):
        if kind is number or number in get_args(kind):
            try:
                return number(text)
            except ValueError:
                if str not in get_args(kind) and not (number is int and float in get_args(kind)):
                    word = "a whole number" if kind is int else "a number"
                    raise DataError(f"{where} is {word}; got {text!r}") from None
    return text
