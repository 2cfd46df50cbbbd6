"""Settings written in one word: ``rotation:a=2,b=6`` names an entry of a registry and its settings.

What the command line takes, what a table of experiments lists, and what a caption prints are the
same text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from types import NoneType
from typing import Any, Literal, Protocol, TypeVar, cast, get_args, get_origin, get_type_hints

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
    return configured(name, [pair for pair in rest.split(",") if pair], registry, what)


def configured(
    name: str, pairs: Sequence[str], registry: Mapping[str, E], what: str
) -> tuple[E, Any]:
    """Return the entry of a name, and its settings with the given values.

    Parameters
    ----------
    name
        Of the entry.
    pairs
        Settings as ``"key=value"``; settings of settings as ``"key.part=value"``.
    registry
        The entries by name.
    what
        What an entry is called in messages.

    Examples
    --------
    >>> from firecv.data.shifts import SHIFTS
    >>> configured("rotation", ["a=2", "degrees=90"], SHIFTS, "shift")[1]
    Rotation(a=2.0, b=4.0, degrees=90.0)
    """
    if name not in registry:
        raise DataError(f"there is no {what} {name!r}; {suggestion(name, registry)}")
    kind, title = registry[name].settings, f"{what} {name!r}"
    flat, nested = _sorted(pairs, title)
    values = _values(kind, flat, title)
    needed = [field.name for field in fields(kind) if _has_no_default(field)]
    if lacking := [key for key in needed if key not in values]:
        raise DataError(f"the {title} needs {', '.join(lacking)}: write {name}:{lacking[0]}=...")
    settings: Any = kind(**values)
    for outer, parts in nested.items():
        settings = replace(settings, **{outer: _inner(settings, outer, parts, title)})
    return registry[name], settings


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


def _sorted(pairs: Sequence[str], title: str) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return plain settings by name, and settings of settings by the name of the outer."""
    flat: dict[str, str] = {}
    nested: dict[str, dict[str, str]] = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals:
            raise DataError(f"{pair!r} is not a setting of the {title}; write key=value")
        outer, dot, inner = key.partition(".")
        if dot:
            nested.setdefault(outer, {})[inner] = value
        else:
            flat[key] = value
    return flat, nested


def _values(kind: type[Any], texts: Mapping[str, str], title: str) -> dict[str, object]:
    """Return values with the types that the settings of a dataclass have."""
    types = get_type_hints(kind)
    known = [field.name for field in fields(kind)]
    for key in texts:
        if key not in known:
            raise DataError(f"the {title} has no setting {key!r}; {suggestion(key, known)}")
    return {key: _value(text, types[key], f"{key} of {title}") for key, text in texts.items()}


def _inner(settings: Any, name: str, texts: Mapping[str, str], title: str) -> object:
    """Return one of the settings with settings of its own changed."""
    known = [field.name for field in fields(settings)]
    if name not in known:
        raise DataError(f"the {title} has no setting {name!r}; {suggestion(name, known)}")
    old = getattr(settings, name)
    hint = get_type_hints(type(settings))[name]
    kinds = [kind for kind in (hint, *get_args(hint)) if is_dataclass(kind)]
    if not kinds:
        raise DataError(f"{name!r} is a plain setting; write {name}=..., without a dot")
    kind = cast("type[Any]", kinds[0])
    values = _values(kind, texts, f"setting {name!r}")
    return kind(**values) if old is None else replace(old, **values)


def _value(text: str, kind: Any, where: str) -> object:
    """Return a text as the type a setting has, or as one of its types."""
    kinds = (kind,) if get_origin(kind) in (Literal, tuple, Sequence) else get_args(kind) or (kind,)
    choices = [c for one in kinds if get_origin(one) is Literal for c in get_args(one)]
    if text in choices:
        return text
    if NoneType in kinds and text.lower() == "none":
        return None
    if bool in kinds:
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise DataError(f"{where} is true or false; got {text!r}")
    for number in (int, float):
        if number in kinds:
            try:
                return number(text)
            except ValueError:
                pass
    for one in kinds:
        if get_origin(one) in (tuple, Sequence):
            return tuple(_value(part.strip(), get_args(one)[0], where) for part in text.split(","))
    if str in kinds:
        return text
    raise DataError(f"{where} is {_expected(kinds, choices)}; got {text!r}")


def _expected(kinds: Sequence[Any], choices: Sequence[str]) -> str:
    """Return what a value may be, in words."""
    if any(is_dataclass(one) for one in kinds):
        return "not one value but has settings of its own, each given after a dot"
    words = [f"one of {', '.join(choices)}"] if choices else []
    if float in kinds or int in kinds:
        words.append("a number" if float in kinds else "a whole number")
    return " or ".join([*words, *(["none"] if NoneType in kinds else [])])
