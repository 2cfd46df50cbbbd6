"""Bundles: named trees and numbers, all that clients and servers say, remember and save."""

from typing import Final

from firecv.errors import DataError
from firecv.tree import Tree

Bundle = dict[str, Tree | float]
"""What does not fit in here cannot be sent."""

NUMBER_BYTES: Final = 8


def n_bytes(bundle: Bundle) -> int:
    """Return how many bytes the arrays and numbers of a bundle take.

    Examples
    --------
    >>> import torch
    >>> n_bytes({"weights": {"a": torch.zeros(3)}, "loss": 0.5})
    20
    """
    return sum(
        sum(value.numel() * value.element_size() for value in part.values())
        if isinstance(part, dict)
        else NUMBER_BYTES
        for part in bundle.values()
    )


def tree_of(bundle: Bundle, name: str) -> Tree:
    """Return a tree of a bundle.

    Examples
    --------
    >>> import torch
    >>> tree_of({"weights": {"a": torch.zeros(2)}}, "weights")
    {'a': tensor([0., 0.])}
    """
    found = bundle.get(name)
    if not isinstance(found, dict):
        raise DataError(f"{name!r} is {found!r}; expected a tree among {sorted(bundle)}")
    return found


def number_of(bundle: Bundle, name: str, default: float = 0.0) -> float:
    """Return a number of a bundle, or `default` if there is none.

    Examples
    --------
    >>> number_of({"round": 3.0}, "round"), number_of({}, "round")
    (3.0, 0.0)
    """
    found = bundle.get(name, default)
    if isinstance(found, dict):
        raise DataError(f"{name!r} is a tree; expected a number")
    return found
