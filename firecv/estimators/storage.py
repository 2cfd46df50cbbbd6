"""An estimator as a folder: `estimator.json` with words and numbers, one file with arrays.

No pickle. The JSON names the file of arrays and its checksum and is written last, by rename, so a
folder always holds one whole estimator.
"""

import hashlib
import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from firecv.errors import DataError, FileFormatError
from firecv.estimators.rival_choice import listed_name, rival_from
from firecv.files import write_atomically
from firecv.fire.state import encoded, read
from firecv.locks import locked

VERSION = 1
JSON = "estimator.json"
LONGEST_LABEL = 1 << 16
"""Bytes; a label of 16,000 letters is none, and each label takes as much memory as the longest."""


def write_folder(
    path: str | Path, kind: str, facts: Mapping[str, object], arrays: Mapping[str, object]
) -> None:
    """Write facts and arrays to a folder.

    Parameters
    ----------
    path
        The folder; made if there is none, and an estimator in it replaced.
    kind
        Name of the format: what sort of estimator it is.
    facts
        What is written as JSON, in the way of JSON.
    arrays
        Nested dictionaries of tensors and numbers.
    """
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    data = encoded(dict(arrays))
    digest = hashlib.sha256(data).hexdigest()
    file = folder / f"arrays-{digest[:16]}.safetensors"
    whole = {"format": kind, "version": VERSION, **facts, "sha256": digest}
    with locked(folder / "estimator.lock"):
        write_atomically(file, data)
        write_atomically(folder / JSON, json.dumps(whole, indent=1))
        for old in folder.glob("arrays-*.safetensors"):
            if old != file:
                old.unlink()


def read_facts(path: str | Path, kind: str) -> dict[str, Any]:
    """Return what `write_folder` wrote as JSON, of this kind and version of the format."""
    file = Path(path) / JSON
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileFormatError(
            f"{str(path)!r} holds no estimator ({error}); expected a folder that save() wrote"
        ) from error
    if not isinstance(facts, dict) or facts.get("format") != kind:
        raise FileFormatError(
            f"{str(file)!r} is not of the format {kind!r} that save() writes; load it with the "
            f"class that saved it"
        )
    if facts.get("version") != VERSION:
        raise FileFormatError(
            f"{str(file)!r} has version {facts.get('version')!r} of the format, this package reads "
            f"version {VERSION}; use the package version that wrote it"
        )
    return cast("dict[str, Any]", facts)


def read_arrays(path: str | Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays that `write_folder` wrote.

    Parameters
    ----------
    path
        The folder.
    facts
        What `read_facts` returned for it.
    """
    file = Path(path) / f"arrays-{str(facts['sha256'])[:16]}.safetensors"
    if not file.is_file() or _digest(file) != facts["sha256"]:
        raise FileFormatError(
            f"{str(file)!r} is missing or not the file that {JSON} names; copy the whole folder "
            f"again"
        )
    return read(file)


@contextmanager
def damage_named(path: str | Path) -> Generator[None]:
    """Turn whatever goes wrong with a folder, its JSON changed by hand, into `FileFormatError`."""
    try:
        yield
    except FileFormatError:
        raise
    except Exception as error:  # what a changed value leads to cannot be listed
        raise FileFormatError(
            f"the estimator in {str(path)!r} is damaged ({type(error).__name__}: {error}); "
            f"expected a folder as save() wrote it"
        ) from error


def labels_from(plain: Mapping[str, Any]) -> NDArray[Any]:
    """Return an array of labels that `as_json` wrote.

    Examples
    --------
    >>> labels_from({"dtype": "<U3", "values": ["no", "yes"]})
    array(['no', 'yes'], dtype='<U3')
    """
    dtype = np.dtype(str(plain["dtype"]))
    if dtype.kind not in "biufOU" or dtype.itemsize > LONGEST_LABEL:
        raise DataError(
            f"labels are of type {plain['dtype']!r:.100}; expected numbers or text of at most "
            f"{LONGEST_LABEL} bytes"
        )
    return np.array(plain["values"], dtype)


def settings_from(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an estimator's settings that `as_json` wrote.

    Examples
    --------
    >>> settings_from([["hidden", [8, 4]], ["class_weight", [[0, 1.0], [1, 3.0]]]])
    {'hidden': (8, 4), 'class_weight': {0: 1.0, 1: 3.0}}
    """
    return {
        name: dict(value) if name == "class_weight" and isinstance(value, list) else _setting(value)
        for name, value in pairs
    }


def as_json(value: object, name: str) -> Any:
    """Return a value as JSON has it; mappings as pairs, since their keys may be numbers.

    Parameters
    ----------
    value
        A plain value, a NumPy scalar, a tuple, a mapping, an array of labels or a listed rival.
    name
        Of the value, for the message if it is none of these.

    Examples
    --------
    >>> as_json({0: 1.0, "b": (2, None)}, "class_weight")
    [[0, 1.0], ['b', [2, None]]]
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [as_json(part, name) for part in cast("list[object]", value)]
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return [[as_json(key, name), as_json(part, name)] for key, part in pairs]
    if isinstance(value, np.ndarray):
        array = cast("NDArray[Any]", value)
        values = [as_json(part, name) for part in array.tolist()]
        return {"dtype": array.dtype.str, "values": values}
    if is_dataclass(value) and not isinstance(value, type):
        rival = listed_name(value)
        own = {field.name: getattr(value, field.name) for field in fields(value)}
        return {"rival": rival, "fields": as_json(own, f"the method {rival!r}")}
    raise DataError(
        f"{name} holds a {type(value).__name__}, which cannot be saved; expected numbers, text or "
        f"None (a random_state that is a generator can be set to a number)"
    )


def _setting(value: Any) -> Any:
    """Return a setting: a list was a tuple, and a dictionary was a rival."""
    if isinstance(value, list):
        return tuple(_setting(part) for part in cast("list[object]", value))
    if isinstance(value, dict):
        plain = cast("dict[str, Any]", value)
        return rival_from(plain["rival"], settings_from(plain["fields"]))
    return value


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
