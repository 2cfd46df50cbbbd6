"""An algorithm and its settings as JSON text, so that they can travel in a message.

Only the types named here can come back, whoever wrote the text.
"""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Final, TypeVar, cast

from firecv.errors import DataError
from firecv.federated.algorithms import ALGORITHMS
from firecv.federated.algorithms.weighed import Weighed
from firecv.federated.contract import Algorithm, SitePolicy
from firecv.federated.controls import ClassesAlone, MatchedMeans
from firecv.federated.privacy import Private
from firecv.federated.screening import Screen
from firecv.fire.accumulate import Accumulation
from firecv.fire.weigh.settings import Weighing
from firecv.training import Training

S = TypeVar("S")
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

WRAPPERS: Final[dict[str, type[Algorithm]]] = {"private": Private, "weighed": Weighed}
SETTINGS: Final = {
    kind.__name__.lower(): kind
    for kind in (
        Accumulation,
        ClassesAlone,
        MatchedMeans,
        Screen,
        SitePolicy,
        Training,
        Weighing,
    )
}


def to_text(described: Algorithm | Screen | SitePolicy) -> str:
    """Return an algorithm, or other settings, as JSON text.

    Examples
    --------
    >>> from firecv.federated.algorithms import FedAvg
    >>> text = to_text(Private(FedAvg(), clip=1.0))
    >>> text[:60]
    '{"type": "private", "base": {"type": "fedavg", "local": {"ty'
    >>> to_algorithm(text) == Private(FedAvg(), clip=1.0)
    True
    """
    return json.dumps(_described(described))


def to_algorithm(text: str) -> Algorithm:
    """Return the algorithm that a text describes.

    Parameters
    ----------
    text
        A key of `ALGORITHMS`; or JSON with the key as ``type`` and settings, of which those left
        out keep their defaults.

    Examples
    --------
    >>> to_algorithm("fedavg").local.rate
    0.01
    >>> to_algorithm('{"type": "fedavg", "local": {"rate": 0.1}}').local.rate
    0.1
    """
    if text.strip() in ALGORITHMS:
        return ALGORITHMS[text.strip()]()
    found = _built(_read(text, ", ".join([*ALGORITHMS, *WRAPPERS])), "the algorithm")
    if type(found) not in (*ALGORITHMS.values(), *WRAPPERS.values()):
        raise DataError(
            f"a {type(found).__name__} is no algorithm; expected one of "
            f"{', '.join([*ALGORITHMS, *WRAPPERS])}"
        )
    return cast("Algorithm", found)


def to_settings(text: str, kind: type[S]) -> S:
    """Return the settings of one type that a text describes.

    Parameters
    ----------
    text
        JSON; settings left out keep their defaults.
    kind
        The type.

    Examples
    --------
    >>> to_settings('{"largest": 3.0}', Screen).largest
    3.0
    """
    name = kind.__name__.lower()
    found = _built({"type": name, **_read(text, name)}, name)
    if not isinstance(found, kind):
        raise DataError(f"expected {name!r}, got {text!r}")
    return found


def _read(text: str, expected: str) -> dict[str, Json]:
    try:
        given = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{text!r} is neither JSON ({error}) nor one of {expected}") from error
    if not isinstance(given, dict):
        raise DataError(f'expected {{"type": ...}} with one of {expected}, got {text!r}')
    return cast("dict[str, Json]", given)


def _types() -> dict[str, type[Any]]:
    return cast("dict[str, type[Any]]", {**ALGORITHMS, **WRAPPERS, **SETTINGS})


def _described(value: object) -> Json:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = {kind: name for name, kind in _types().items()}
        if type(value) not in names:
            raise DataError(
                f"a {type(value).__name__} cannot be described in a message; expected one of "
                f"{', '.join(_types())}"
            )
        kept = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {"type": names[type(value)], **{k: _described(v) for k, v in kept.items()}}
    if isinstance(value, list | tuple):
        return [_described(each) for each in cast("list[object]", value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise DataError(f"{value!r} cannot be described in a message; it is a {type(value).__name__}")


def _built(given: Mapping[str, Json], where: str) -> object:
    """Return the object that a mapping with a type describes."""
    name = given.get("type")
    types = _types()
    if not isinstance(name, str) or name not in types:
        raise DataError(f"the type of {where} is {name!r}; expected one of {', '.join(types)}")
    kind = types[name]
    fields = {field.name: field for field in dataclasses.fields(kind)}
    values: dict[str, object] = {}
    for key, value in given.items():
        if key == "type":
            continue
        if key not in fields:
            raise DataError(f"{name!r} has no setting {key!r}; it has {', '.join(fields)}")
        values[key] = _value(value, fields[key], f"{key} of {name!r}")
    try:
        return kind(**values)
    except TypeError as error:
        raise DataError(f"{name!r} cannot be made of {sorted(values)}: {error}") from error


def _value(value: Json, field: "dataclasses.Field[Any]", where: str) -> object:
    default = _default(field)
    if isinstance(value, dict):
        if "type" in value or not dataclasses.is_dataclass(default) or isinstance(default, type):
            return _built(value, where)
        described = cast("dict[str, Json]", _described(default))
        return _built({**described, **value}, where)  # what is left out stays at the default
    return tuple(value) if isinstance(value, list) else value


def _default(field: "dataclasses.Field[Any]") -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default
