"""Fishers on disk: safetensors with the structure's name beside the arrays; no pickle."""

import json
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes

from firecv.errors import FileFormatError
from firecv.files import write_atomically
from firecv.fisher.base import Fisher
from firecv.fisher.structures import STRUCTURES
from firecv.tree import Tree

FORMAT = "firecv-fisher"
VERSION = "1"
LENGTH_BYTES = 8
"""In front of a safetensors file, the length of its header."""


def save(fisher: Fisher, path: str | Path) -> None:
    """Write a Fisher to one file; an existing file is replaced only once the new one is whole.

    Examples
    --------
    >>> import tempfile, torch
    >>> from firecv.fisher import Diagonal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Diagonal({"w": torch.tensor([1.0, 2.0])}), Path(folder) / "site-a.fisher")
    ...     load(Path(folder) / "site-a.fisher").diagonal()
    {'w': tensor([1., 2.])}
    """
    arrays = {n: v.detach().cpu().clone().contiguous() for n, v in fisher.to_tree().items()}
    metadata = {"format": FORMAT, "version": VERSION, "structure": fisher.name}
    write_atomically(path, encoded(arrays, metadata))


def encoded(arrays: Tree, metadata: Mapping[str, str]) -> bytes:
    """Return arrays and metadata as safetensors, always the same bytes for the same content.

    Parameters
    ----------
    arrays
        On the CPU, contiguous, none sharing memory with another.
    metadata
        Its entries are put in the order of their names; safetensors itself puts them in any order.

    Examples
    --------
    >>> import torch
    >>> arrays = {"w": torch.ones(2)}
    >>> encoded(arrays, {"b": "1", "a": "2"}) == encoded(arrays, {"a": "2", "b": "1"})
    True
    """
    data = to_bytes(arrays, dict(metadata))
    body = LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "little")
    header = json.loads(data[LENGTH_BYTES:body])
    header["__metadata__"] = dict(sorted(metadata.items()))
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % LENGTH_BYTES)  # arrays begin at a multiple of eight bytes
    return len(text).to_bytes(LENGTH_BYTES, "little") + text + data[body:]


def load(path: str | Path) -> Fisher:
    """Return the Fisher saved in a file, on the CPU.

    Parameters
    ----------
    path
        A file written by `save`.
    """
    path = Path(path)
    if not path.is_file():
        raise FileFormatError(
            f"there is no file {str(path)!r}; expected a Fisher written by save()"
        )
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            arrays: Tree = {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, OSError, ValueError) as error:
        raise FileFormatError(
            f"{str(path)!r} is truncated or not a safetensors file ({error}); expected a Fisher "
            f"written by save()"
        ) from error
    if metadata.get("format") != FORMAT:
        raise FileFormatError(
            f"{str(path)!r} is a safetensors file but not a Fisher of ours: its format is "
            f"{metadata.get('format')!r}, expected {FORMAT!r}"
        )
    if metadata.get("version") != VERSION:
        raise FileFormatError(
            f"{str(path)!r} has version {metadata.get('version')!r} of the format, this package "
            f"reads version {VERSION!r}; use the package version that wrote it"
        )
    structure = STRUCTURES.get(metadata.get("structure", ""))
    if structure is None:
        raise FileFormatError(
            f"{str(path)!r} holds the unknown structure {metadata.get('structure')!r}; known are "
            f"{sorted(STRUCTURES)}"
        )
    try:
        return structure.from_tree(arrays)
    except (KeyError, RuntimeError, ValueError) as error:
        raise FileFormatError(
            f"{str(path)!r} lacks arrays of a {structure.name} Fisher ({error}); it was damaged or "
            f"written by something else"
        ) from error
