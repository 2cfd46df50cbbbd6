"""What FIRE has learned, as arrays and numbers: for checkpoints, and for coming back next month."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor

from firecv.errors import FileFormatError, StructureError
from firecv.files import write_atomically
from firecv.fire.accumulate import Accumulated
from firecv.fisher.base import Fisher
from firecv.fisher.storage import encoded as to_bytes
from firecv.fisher.structures import STRUCTURES
from firecv.tree import Tree, check_match

FORMAT, VERSION = "firecv-fire", "1"
FISHERS = ("carried", "total", "validation")


def known_to_state(known: Accumulated[Fisher]) -> dict[str, Any]:
    """Return an accumulated Fisher as a dictionary of numbers, words and tensors."""
    state: dict[str, Any] = {"n_steps": known.n_steps, "n_batches": known.n_batches}
    for part in FISHERS:
        fisher: Fisher | None = getattr(known, part)
        if fisher is not None:
            arrays = {name: value.detach().clone() for name, value in fisher.to_tree().items()}
            state[part] = {"structure": fisher.name, "arrays": arrays}
    return state


def known_from_state(
    state: dict[str, Any], like: Accumulated[Fisher], params: Tree
) -> Accumulated[Fisher]:
    """Return what `known_to_state` was called on, with the settings of `like`.

    Parameters
    ----------
    state
        What it returned.
    like
        Gives the settings.
    params
        The trainable parameters the Fishers must belong to.
    """
    found: dict[str, Fisher] = {}
    for part in FISHERS:
        if part in state:
            structure = STRUCTURES.get(state[part]["structure"])
            if structure is None:
                raise StructureError(
                    f"the state holds the unknown structure {state[part]['structure']!r}; known "
                    f"are {sorted(STRUCTURES)}"
                )
            found[part] = structure.from_tree(dict(state[part]["arrays"]))
            check_match(params, found[part].diagonal())
    counts = {name: int(state[name]) for name in ("n_steps", "n_batches")}
    return replace(Accumulated(like.settings), **counts, **found)


def write(state: dict[str, Any], path: str | Path) -> None:
    """Write a state to one file; an existing file is replaced only once the new one is whole."""
    write_atomically(path, encoded(state))


def encoded(state: dict[str, Any]) -> bytes:
    """Return the content of a file that `read` reads."""
    arrays: Tree = {}
    plain = _flatten(state, "", arrays)
    metadata = {"format": FORMAT, "version": VERSION, "state": json.dumps(plain)}
    tensors = {name: value.cpu().contiguous() for name, value in arrays.items()}
    return to_bytes(tensors, metadata)


def read(path: str | Path) -> dict[str, Any]:
    """Return the state in a file that `write` wrote."""
    path = Path(path)
    if not path.is_file():
        raise FileFormatError(f"there is no file {str(path)!r}; expected one that save() wrote")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            arrays: Tree = {name: file.get_tensor(name) for name in file.keys()}
        if (metadata.get("format"), metadata.get("version")) != (FORMAT, VERSION):
            raise ValueError(f"its format is {metadata.get('format')!r}, expected {FORMAT!r}")
        return _restore(json.loads(metadata["state"]), "", arrays)
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise FileFormatError(
            f"{str(path)!r} is truncated or holds no state of FIRE ({error}); expected a file that "
            f"save() wrote"
        ) from error


def _flatten(value: Any, path: str, arrays: Tree) -> Any:
    """Return nested dictionaries with tensors moved into `arrays`, under the path they had."""
    if isinstance(value, Tensor):
        arrays[path] = value
        return {"tensor": path}
    if isinstance(value, dict):
        items: dict[str, Any] = value
        return {key: _flatten(part, f"{path}/{key}", arrays) for key, part in items.items()}
    return value


def _restore(value: Any, path: str, arrays: Tree) -> Any:
    if isinstance(value, dict):
        items: dict[str, Any] = value
        if items.keys() == {"tensor"} and path in arrays:
            return arrays[path]
        return {key: _restore(part, f"{path}/{key}", arrays) for key, part in items.items()}
    return value
