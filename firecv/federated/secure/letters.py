"""What server and clients say to each other in the stages, as entries of bundles."""

from collections.abc import Collection
from typing import Final, Literal, NamedTuple

import torch
from torch import Tensor

from firecv.errors import DataError
from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.secure.keys import SIZE
from firecv.tree import Tree

Stage = Literal["keys", "shares", "masked", "unmask"]
LETTER: Final = "secure/"
"""What the names of entries begin with that are about masks."""


class Letter(NamedTuple):
    """What is sent to a client in a stage, and what the algorithm sends along."""

    masks: Bundle
    rest: Bundle


def addressed(masks: Bundle, rest: Bundle | None = None) -> Bundle:
    """Return what is sent: entries about masks by their names, and others.

    Examples
    --------
    >>> sent = addressed({"share": 0.5}, {"round": 3.0})
    >>> sent, split(sent).masks
    ({'round': 3.0, 'secure/share': 0.5}, {'share': 0.5})
    """
    return {**(rest or {}), **{LETTER + name: part for name, part in masks.items()}}


def split(sent: Bundle) -> Letter:
    """Return what `addressed` was called on."""
    masks: Bundle = {
        name.removeprefix(LETTER): sent[name] for name in sent if name.startswith(LETTER)
    }
    return Letter(masks, {name: sent[name] for name in sent if not name.startswith(LETTER)})


def to_tensor(data: bytes) -> Tensor:
    """Return bytes as an array.

    Examples
    --------
    >>> to_tensor(b"ab")
    tensor([97, 98], dtype=torch.uint8)
    """
    return torch.tensor(list(data), dtype=torch.uint8)


def to_bytes(value: Tensor, size: int | None = SIZE) -> bytes:
    """Return an array as bytes; DataError unless it is made of as many."""
    if value.dtype != torch.uint8 or value.ndim != 1 or (size is not None and len(value) != size):
        raise DataError(f"expected {size or 'some'} bytes, got {tuple(value.shape)} {value.dtype}")
    return bytes(value.tolist())


def to_tree(parts: dict[int, bytes]) -> Tree:
    """Return bytes by client as a tree."""
    return {str(client): to_tensor(data) for client, data in parts.items()}


def by_client(bundle: Bundle, name: str, size: int | None = SIZE) -> dict[int, bytes]:
    """Return the bytes by client that a bundle holds, in the order of their numbers.

    Examples
    --------
    >>> by_client({"sealed": to_tree({2: b"b", 0: b"a"})}, "sealed", 1)
    {0: b'a', 2: b'b'}
    """
    found: dict[int, bytes] = {}
    for client, data in tree_of(bundle, name).items():
        if not client.isdecimal():
            raise DataError(f"{client!r} in {name!r} is no number of a client")
        found[int(client)] = to_bytes(data, size)
    return dict(sorted(found.items()))


def to_list(clients: Collection[int]) -> Tree:
    """Return numbers of clients as a tree.

    Examples
    --------
    >>> to_list([2, 0]), of_list({"heard": to_list([2, 0])}, "heard")
    ({'clients': tensor([0, 2])}, {0, 2})
    """
    return {"clients": torch.tensor(sorted(clients), dtype=torch.int64)}


def of_list(bundle: Bundle, name: str) -> set[int]:
    """Return the numbers of clients that a bundle holds."""
    found = tree_of(bundle, name).get("clients", torch.zeros(0))
    if found.dtype != torch.int64 or found.ndim != 1:
        raise DataError(f"{name!r} is no list of clients but {found!r}")
    return set(found.tolist())
