"""An estimator as a folder: `estimator.json` with words and numbers, one file with arrays.

No pickle. The JSON names the file of arrays and its checksum and is written last, by rename, so a
folder always holds one whole estimator.
"""

import hashlib
import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from torch import nn

from firecv.errors import DataError, FileFormatError, FirecvError
from firecv.estimators.learning import Learned
from firecv.fire import Accumulated, Accumulation
from firecv.fire.shift_test import ShiftTest
from firecv.fire.state import known_from_state, known_to_state, read, write
from firecv.models import Task
from firecv.tree import Tree, check_match

FORMAT, VERSION = "firecv-estimator", 1
JSON = "estimator.json"


def write_folder(path: str | Path, facts: Mapping[str, object], learned: Learned) -> None:
    """Write what was learned, and facts beside it, to a folder.

    Parameters
    ----------
    path
        The folder; made if there is none, and an estimator in it replaced.
    facts
        What is written as JSON: plain values, NumPy scalars, tuples, mappings and arrays of labels.
    learned
        What training has left.
    """
    plain = {
        "format": FORMAT,
        "version": VERSION,
        **{name: _plain(value, name) for name, value in facts.items()},
        "n_trainings": learned.n_trainings,
        "losses": list(learned.losses),
        "regime": learned.regime,
        "weights": learned.weights,
        "shift_test": _plain(learned.shift_test, "shift_test"),
    }
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"arrays.part{os.getpid()}"
    write(
        {"network": dict(learned.network.state_dict()), "known": known_to_state(learned.known)},
        part,
    )
    digest = _digest(part)
    arrays = folder / f"arrays-{digest[:16]}.safetensors"
    os.replace(part, arrays)
    part = folder / f"{JSON}.part{os.getpid()}"
    part.write_text(json.dumps({**plain, "sha256": digest}, indent=1), encoding="utf-8")
    os.replace(part, folder / JSON)
    for old in folder.glob("arrays-*.safetensors"):
        if old != arrays:
            old.unlink()


def read_facts(path: str | Path) -> dict[str, Any]:
    """Return what `write_folder` wrote as JSON, of this version of the format."""
    file = Path(path) / JSON
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileFormatError(
            f"{str(path)!r} holds no estimator ({error}); expected a folder that save() wrote"
        ) from error
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise FileFormatError(f"{str(file)!r} is not of the format {FORMAT!r} that save() writes")
    if facts.get("version") != VERSION:
        raise FileFormatError(
            f"{str(file)!r} has version {facts.get('version')!r} of the format, this package reads "
            f"version {VERSION}; use the package version that wrote it"
        )
    return cast("dict[str, Any]", facts)


def read_learned(
    path: str | Path, facts: Mapping[str, Any], network: nn.Module, accumulation: Accumulation
) -> Learned:
    """Return what `write_folder` wrote, its weights put into `network`.

    Parameters
    ----------
    path
        The folder.
    facts
        What `read_facts` returned for it.
    network
        A network of the same architecture.
    accumulation
        How Fishers are accumulated from now on.
    """
    arrays = Path(path) / f"arrays-{str(facts['sha256'])[:16]}.safetensors"
    if not arrays.is_file() or _digest(arrays) != facts["sha256"]:
        raise FileFormatError(
            f"{str(arrays)!r} is missing or not the file that {JSON} names; copy the whole folder "
            f"again"
        )
    state = read(arrays)
    weights = cast("Tree", state["network"])
    check_match(dict(network.state_dict()), weights)
    network.load_state_dict(weights)
    like = Accumulated(accumulation)
    return Learned(
        network.eval(),
        known_from_state(state["known"], like, Task(network).parameters()),
        int(facts["n_trainings"]),
        tuple(map(float, facts["losses"])),
        facts["regime"],
        facts["weights"],
        None if facts["shift_test"] is None else ShiftTest(*facts["shift_test"]),
    )


@contextmanager
def damage_named(path: str | Path) -> Generator[None]:
    """Turn whatever goes wrong with a folder, its JSON changed by hand, into `FileFormatError`."""
    try:
        yield
    except FileFormatError:
        raise
    except (FirecvError, KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise FileFormatError(
            f"the estimator in {str(path)!r} is damaged ({error}); expected a folder as save() "
            f"wrote it"
        ) from error


def labels_from(plain: Mapping[str, Any]) -> NDArray[Any]:
    """Return an array of labels that `write_folder` wrote.

    Examples
    --------
    >>> labels_from({"dtype": "<U3", "values": ["no", "yes"]})
    array(['no', 'yes'], dtype='<U3')
    """
    return np.array(plain["values"], dtype=np.dtype(str(plain["dtype"])))


def settings_from(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an estimator's settings that `write_folder` wrote.

    Examples
    --------
    >>> settings_from([["hidden", [8, 4]], ["class_weight", [[0, 1.0], [1, 3.0]]]])
    {'hidden': (8, 4), 'class_weight': {0: 1.0, 1: 3.0}}
    """
    return {
        name: (dict(value) if name == "class_weight" else tuple(value))
        if isinstance(value, list)
        else value
        for name, value in pairs
    }


def _plain(value: object, name: str) -> Any:
    """Return a value as JSON has it; mappings as pairs, since their keys may be numbers."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [_plain(part, name) for part in cast("list[object]", value)]
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return [[_plain(key, name), _plain(part, name)] for key, part in pairs]
    if isinstance(value, np.ndarray):
        array = cast("NDArray[Any]", value)
        values = [_plain(part, name) for part in array.tolist()]
        return {"dtype": array.dtype.str, "values": values}
    raise DataError(
        f"{name} holds a {type(value).__name__}, which cannot be saved; expected numbers, text or "
        f"None (a random_state that is a generator can be set to a number)"
    )


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
