"""A rival method as an estimator is given it: by its name, or as an instance with settings."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from firecv.errors import DataError, FileFormatError, ModelError
from firecv.rivals import RIVALS
from firecv.rivals.contract import Rival


def chosen_rival(method: str | Rival) -> Rival:
    """Return the method to train with; a name stands for its default settings.

    Parameters
    ----------
    method
        A name in `firecv.rivals.RIVALS`, or an instance.

    Examples
    --------
    >>> chosen_rival("erm").regime
    'none'
    """
    if isinstance(method, str):
        check_name("method", method, RIVALS)
        return RIVALS[method]()
    given = cast("object", method)
    if isinstance(given, type):
        raise ModelError(
            f"method is the class {given.__name__}; give an instance, such as {given.__name__}()"
        )
    if not is_dataclass(given) or not all(hasattr(given, n) for n in ("label", "regime", "fit")):
        raise ModelError(
            f"method is a {type(given).__name__}; expected one of the names {list(RIVALS)}, or an "
            f"instance of a class in firecv.rivals"
        )
    return method


def check_name(what: str, name: str, known: Iterable[str]) -> None:
    """Raise `ModelError`, with the nearest name, unless a name is known.

    Examples
    --------
    >>> check_name("method", "earm", ["erm", "dann"])
    Traceback (most recent call last):
        ...
    firecv.errors.ModelError: method is 'earm'; did you mean 'erm'? Expected one of ['erm', 'dann']
    """
    names = list(known)
    if name not in names:
        near = get_close_matches(str(name).lower(), names, n=1)
        hint = f"did you mean {near[0]!r}? Expected" if near else "expected"
        raise ModelError(f"{what} is {name!r}; {hint} one of {names}")


def listed_name(rival: object) -> str:
    """Return the name under which `firecv.rivals.RIVALS` lists the class of a method.

    Examples
    --------
    >>> listed_name(RIVALS["erm"]())
    'erm'
    """
    for name, kind in RIVALS.items():
        if type(rival) is kind:
            return name
    raise DataError(
        f"settings holds a {type(rival).__name__}, which cannot be saved; expected a method that "
        f"firecv.rivals.RIVALS lists, so that it can be found again"
    )


def rival_from(name: str, values: Mapping[str, object]) -> Rival:
    """Return the method of a name with settings that were read from a file.

    Parameters
    ----------
    name
        Its name in `firecv.rivals.RIVALS`.
    values
        Its settings; every value must be of the type that the class declares.

    Examples
    --------
    >>> rival_from("erm", {})
    ERM()
    """
    kind = RIVALS[name]
    hints, names = get_type_hints(kind), {field.name for field in fields(cast("Any", kind))}
    for field, value in values.items():
        if field not in names or not _fits(value, hints[field]):
            raise FileFormatError(
                f"the saved method {name!r} has {field}={value!r}, which is no setting of it; "
                f"expected a folder as save() wrote it, by this version of the package"
            )
    return cast("Callable[..., Rival]", kind)(**values)


def _fits(value: object, hint: Any) -> bool:
    """Return whether a value that JSON held, lists as tuples, is of a declared type."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in inner)
    if origin is Literal:
        return value in inner
    if origin is tuple:  # of any length, `tuple[float, ...]`
        return isinstance(value, tuple) and all(
            _fits(part, inner[0]) for part in cast("tuple[object, ...]", value)
        )
    return type(value) in ((int, float) if hint is float else (hint,))
