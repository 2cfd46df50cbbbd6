"""Memory that several processes see, for arrays that would take longer through a pipe.

It has no name in any file system, so nothing is left behind however a process ends, and no limit
but the machine's memory.
"""

import mmap
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing import reduction
from typing import NamedTuple

import torch
from torch import Tensor

from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.contract import Client
from firecv.fire.validation import Validation
from firecv.models import Batch
from firecv.tree import Tree

ALIGNED = 64
"""Arrays begin at multiples of so many bytes."""


class Place(NamedTuple):
    """Where an array lies."""

    start: int
    dtype: torch.dtype
    shape: tuple[int, ...]

    @property
    def n_bytes(self) -> int:
        """Its length."""
        return self.dtype.itemsize * int(torch.Size(self.shape).numel())


Layout = dict[str, dict[str, Place] | float]
"""A bundle with places instead of arrays."""


class Block:
    """Shared memory that grows as it is written to.

    One process writes and others read what they are told the places of. A block can be handed to a
    process that is being started.

    Examples
    --------
    >>> block = Block()
    >>> layout, end = block.write({"weights": {"a": torch.tensor([1.0, 2.0])}, "loss": 0.5})
    >>> block.read(layout)
    {'weights': {'a': tensor([1., 2.])}, 'loss': 0.5}
    """

    def __init__(self) -> None:
        self._descriptor = _anonymous_file()
        self._bytes = torch.empty(0, dtype=torch.uint8)

    def write(self, bundle: Bundle, start: int = 0) -> tuple[Layout, int]:
        """Write a bundle and return where its arrays lie, and where the next may begin.

        Parameters
        ----------
        bundle
            What to write.
        start
            Where; what lies behind is lost.
        """
        layout: Layout = {}
        copies: list[tuple[Place, Tensor]] = []
        for name, part in bundle.items():
            if not isinstance(part, dict):
                layout[name] = part
                continue
            places: dict[str, Place] = {}
            for key, value in part.items():
                places[key] = Place(start, value.dtype, tuple(value.shape))
                copies.append((places[key], value))
                start = _aligned(start + places[key].n_bytes)
            layout[name] = places
        if start > len(self._bytes):
            os.ftruncate(self._descriptor, 2 * start)  # growing is rare this way
            self._map()
        for place, value in copies:
            self.view(place).copy_(value.detach())
        return layout, start

    def read(self, layout: Layout, *, copy: bool = True) -> Bundle:
        """Return a bundle that was written.

        Parameters
        ----------
        layout
            Where its arrays lie.
        copy
            Whether to return copies, which stay as they are when the block is written to again.
        """

        def array(place: Place) -> Tensor:
            return self.view(place).clone() if copy else self.view(place)

        return {
            name: {key: array(place) for key, place in places.items()}
            if isinstance(places, dict)
            else places
            for name, places in layout.items()
        }

    def view(self, place: Place) -> Tensor:
        """Return the array at a place, which is the memory itself."""
        end = place.start + place.n_bytes
        if end > len(self._bytes):
            self._map()
        return self._bytes[place.start : end].view(place.dtype).view(place.shape)

    def close(self) -> None:
        """Give the memory back, once no array that `view` returned is used any more."""
        self._bytes = torch.empty(0, dtype=torch.uint8)
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _map(self) -> None:
        size = os.fstat(self._descriptor).st_size
        self._bytes = torch.frombuffer(mmap.mmap(self._descriptor, size), dtype=torch.uint8)

    def __getstate__(self) -> object:
        """Return what a process that is being started gets."""
        return reduction.DupFd(self._descriptor)

    def __setstate__(self, state: object) -> None:
        """Take over what `__getstate__` returned."""
        self._descriptor = int(state.detach())  # pyright: ignore
        self._bytes = torch.empty(0, dtype=torch.uint8)


class SharedClients(Sequence[Client]):
    """Clients whose samples lie in memory that all processes see, once for all of them.

    Parameters
    ----------
    clients
        The clients.
    """

    def __init__(self, clients: Sequence[Client]) -> None:
        self._block, end = Block(), 0
        self._layouts: list[Layout] = []
        self._policies = [client.policy for client in clients]
        self._validation_of: list[int] = []
        self._validations: list[tuple[Validation, Layout]] = []
        known: dict[int, int] = {}
        for client in clients:
            layout, end = self._block.write(_arrays(client), end)
            self._layouts.append(layout)
            given = client.validation
            if id(given) not in known:  # clients that are given V share it, as a rule
                known[id(given)] = len(self._validations)
                layout, end = self._block.write({"v": _present(x=given.x, y=given.y)}, end)
                self._validations.append((replace(given, x=None, y=None), layout))
            self._validation_of.append(known[id(given)])

    def __len__(self) -> int:
        """Return the number of clients."""
        return len(self._layouts)

    def __getitem__(self, client: int) -> Client:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return a client."""
        arrays = self._block.read(self._layouts[client], copy=False)
        validation, layout = self._validations[self._validation_of[client]]
        v = tree_of(self._block.read(layout, copy=False), "v")
        validation = replace(validation, x=v.get("x"), y=v.get("y"))
        test = _batch(tree_of(arrays, "test")) if "test" in arrays else None
        policy = self._policies[client]
        return Client(_batch(tree_of(arrays, "data")), validation, test, policy)

    def close(self) -> None:
        """Give the memory back."""
        self._block.close()


def _arrays(client: Client) -> Bundle:
    x, y = client.data
    arrays: Bundle = {"data": _present(x=x, y=y)}
    if client.test is not None:
        x, y = client.test
        arrays["test"] = _present(x=x, y=y)
    return arrays


def _present(**arrays: Tensor | None) -> Tree:
    return {name: array for name, array in arrays.items() if array is not None}


def _batch(part: Tree) -> Batch:
    return part["x"], part["y"]


def _aligned(place: int) -> int:
    return -(-place // ALIGNED) * ALIGNED


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("firecv")
    with tempfile.TemporaryFile() as file:  # unlinked at once, it lives as long as it is open
        return os.dup(file.fileno())
