"""Stacks and results as numpy arrays, to send them to another process.

Torch would send its tensors as shared memory, which is scarce in containers and lives no longer
than its sender.
"""

from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, TypeVar, cast

import torch
from numpy.typing import NDArray
from torch import Tensor

T = TypeVar("T")


class _Tensor(NamedTuple):
    array: NDArray[Any]


class _Made(NamedTuple):
    kind: type[object]
    parts: dict[str, object]


def packed(value: object) -> object:
    """Return a dataclass, with all in it, such that no tensor is left.

    Examples
    --------
    >>> packed({"w": torch.ones(2)})
    {'w': _Tensor(array=array([1., 1.], dtype=float32))}
    """
    if isinstance(value, Tensor):
        return _Tensor(value.detach().numpy())
    if isinstance(value, dict):
        entries = cast("dict[str, object]", value)
        return {name: packed(entry) for name, entry in entries.items()}
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: packed(getattr(value, field.name)) for field in fields(value)}
        return _Made(type(value), parts)
    return value


def unpacked(value: object, kind: type[T]) -> T:
    """Return what `packed` was called on.

    Parameters
    ----------
    value
        What it returned.
    kind
        Its type.
    """
    found = _unpacked(value)
    assert isinstance(found, kind)
    return found


def _unpacked(value: object) -> object:
    if isinstance(value, _Tensor):
        return torch.from_numpy(value.array)
    if isinstance(value, dict):
        entries = cast("dict[str, object]", value)
        return {name: _unpacked(entry) for name, entry in entries.items()}
    if isinstance(value, _Made):
        return value.kind(**{name: _unpacked(part) for name, part in value.parts.items()})
    return value
