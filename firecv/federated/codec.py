"""Bundles as bytes, in the safetensors format; no pickle.

The header says which entries are numbers and in which order trees and their entries come, since
sums over a tree are rounded in that order and a resumed run has to repeat them to the last bit.
"""

import json
from typing import Final, cast

from safetensors.torch import load, save
from torch import Tensor

from firecv.errors import FileFormatError
from firecv.federated.bundles import Bundle
from firecv.tree import Tree

FORMAT: Final = "firecv-bundle-1"
HEADER_BYTES: Final = 8
"""In front of a safetensors file, the length of its header."""


def encode(bundle: Bundle) -> bytes:
    """Return a bundle as bytes, whatever device its arrays are on.

    Examples
    --------
    >>> import torch
    >>> sent = encode({"weights": {"a": torch.tensor([1.5, -0.0])}, "loss": 0.1})
    >>> decode(sent)
    {'weights': {'a': tensor([1.5000, -0.0000])}, 'loss': 0.1}
    """
    layout: dict[str, str | list[str]] = {}
    arrays: Tree = {}
    for place, (name, part) in enumerate(bundle.items()):
        if isinstance(part, dict):
            layout[name] = list(part)
            arrays |= {f"{place}/{key}": _plain(value) for key, value in part.items()}
        else:
            layout[name] = float(part).hex()
    return save(arrays, {FORMAT: json.dumps(layout)})  # of two entries the order would be random


def decode(data: bytes) -> Bundle:
    """Return the bundle that `encode` was called on, its arrays on the CPU.

    Examples
    --------
    >>> decode(b"something else")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    firecv.errors.FileFormatError: these 14 bytes are no bundle, ...
    """
    try:
        length = int.from_bytes(data[:HEADER_BYTES], "little")
        header = json.loads(data[HEADER_BYTES : HEADER_BYTES + length])["__metadata__"]
        if FORMAT not in header:
            raise ValueError(f"the format is one of {list(header)}, expected {FORMAT!r}")
        layout = cast("dict[str, str | list[str]]", json.loads(header[FORMAT]))
        arrays = load(data)
        return {
            name: float.fromhex(keys)
            if isinstance(keys, str)
            else {key: arrays[f"{place}/{key}"] for key in keys}
            for place, (name, keys) in enumerate(layout.items())
        }
    except Exception as error:  # what changed bytes lead to cannot be listed
        raise FileFormatError(
            f"these {len(data)} bytes are no bundle, or not a whole one ({error}); expected what "
            f"encode() returned"
        ) from error


def _plain(value: Tensor) -> Tensor:
    """Return a copy that shares memory with nothing, which the format demands."""
    return value.detach().cpu().clone().contiguous()
