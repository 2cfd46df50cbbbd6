"""Which answers of clients are refused before they reach any mean."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, cast

import torch

from firecv import tree
from firecv.errors import DataError
from firecv.federated.bundles import Bundle, tree_of
from firecv.federated.schema import Schema, like
from firecv.tree import Tree

CPU: Final = torch.device("cpu")
LARGEST: Final = 1e19
"""The largest norm of an entry, about the root of the largest number of single precision: products
of two such numbers, as of an entry and a client's weight, stay finite."""
COUNTS: Final = ("n", "used")
"""What a summary of samples has beside its numbers."""


@dataclass(frozen=True)
class Screen:
    """What an answer must be like.

    Every number is finite, weights have the names, shapes and types of the server's, and all else
    is what the algorithm says it must be (`firecv.federated.schema`).

    Attributes
    ----------
    largest
        How many times larger than the server's own weights, in norm, those of a client may be.
    rise
        How many times larger than usual any other entry may be, in norm: than the median over
        clients in this round if it is the first with this entry, else in the rounds before.
    clip
        The longest update, in norm, of a client's weights from the server's; longer ones are
        shortened to it. None leaves them as they are.
    """

    largest: float = 10.0
    rise: float = 1000.0
    clip: float | None = None

    def __post_init__(self) -> None:
        """Check the bounds."""
        for name in ("largest", "rise"):
            if not getattr(self, name) >= 1:
                raise DataError(f"{name} is a factor from 1 on, got {getattr(self, name)}")
        if self.clip is not None and not self.clip > 0:
            raise DataError(f"clip is a norm above 0, or None, got {self.clip}")

    def clipped(self, weights: Tree, server: Tree) -> Tree:
        """Return weights at most `clip` away from the server's.

        Examples
        --------
        >>> far, here = {"a": torch.tensor([6.0, 8.0])}, {"a": torch.tensor([0.0, 0.0])}
        >>> Screen(clip=1.0).clipped(far, here)
        {'a': tensor([0.6000, 0.8000])}
        """
        if self.clip is None:
            return weights
        update = tree.sub(weights, server)
        length = norm(update)
        if length <= self.clip:
            return weights
        return tree.add(server, tree.scale(update, self.clip / length))


def is_bundle(answer: object, devices: Collection[torch.device] = (CPU,)) -> bool:
    """Return whether something is made of named arrays and numbers, and nothing else.

    Parameters
    ----------
    answer
        What a client sent.
    devices
        Where arrays may be; they must be dense, too, and have values.

    Examples
    --------
    >>> is_bundle({"weights": {"a": torch.zeros(2)}, "loss": 1.0}), is_bundle({"weights": "a"})
    (True, False)
    >>> is_bundle({"weights": {"a": torch.zeros(2, device="meta")}})
    False
    """
    return isinstance(answer, dict) and all(
        isinstance(name, str) and (_is_number(part) or _is_tree(part, devices))
        for name, part in cast("dict[object, object]", answer).items()
    )


def norm(part: Tree) -> float:
    """Return the Euclidean norm over all entries; not finite if any of them is not.

    Examples
    --------
    >>> norm({"a": torch.tensor([3.0]), "b": torch.tensor([4])})
    5.0
    """
    wide = (v if v.dtype in (torch.float32, torch.float64) else v.double() for v in part.values())
    return math.sqrt(sum(float(flat.dot(flat)) for flat in map(torch.flatten, wide)))


def size_of(part: Tree | float) -> float:
    """Return how large an entry is; of a summary, how large its numbers are."""
    if not isinstance(part, dict):
        return abs(part)
    is_summary = all(name in part for name in COUNTS)
    return norm({n: v for n, v in part.items() if n not in COUNTS} if is_summary else part)


def complaint(answer: Bundle, server: Bundle, schema: Schema, n_samples: int) -> str | None:
    """Return what is wrong with the form of an answer; None if nothing is.

    Parameters
    ----------
    answer
        What a client sent.
    server
        What the server has.
    schema
        What there must be beside the weights, as the algorithm states it.
    n_samples
        The client's size, as the server knows it.

    Examples
    --------
    >>> from firecv.federated.schema import number
    >>> server, schema = {"weights": {"a": torch.tensor([1.0, 2.0])}}, {"loss": number(least=0)}
    >>> complaint({"weights": {"a": torch.zeros(2)}}, server, schema, 10)
    "it holds 'weights', expected 'loss', 'weights'"
    >>> complaint({**server, "loss": -1.0}, server, schema, 10)
    "'loss' is -1, expected a number from 0 to inf"
    """
    return examined(answer, server, schema, n_samples)[0]


def examined(
    answer: Bundle, server: Bundle, schema: Schema, n_samples: int
) -> tuple[str | None, dict[str, float]]:
    """Return what is wrong with an answer, and how large each of its entries is if nothing is.

    Parameters
    ----------
    answer, server, schema, n_samples
        As for `complaint`.
    """
    checks = {"weights": like(tree_of(server, "weights")), **schema}
    if answer.keys() != checks.keys():
        return f"it holds {_listed(answer)}, expected {_listed(checks)}", {}
    sizes: dict[str, float] = {}
    for name, check in checks.items():
        if why := check(answer[name], n_samples):
            return f"{name!r} {why}", {}
        sizes[name] = size_of(answer[name])
        if not sizes[name] <= LARGEST:
            return f"{name!r} holds NaN, infinite or enormous values", {}
    return None, sizes


def median(values: Sequence[float]) -> float:
    """Return the median, the lower of the two middle values."""
    return sorted(values)[(len(values) - 1) // 2]


def _is_tree(part: object, devices: Collection[torch.device]) -> bool:
    return isinstance(part, dict) and all(
        isinstance(name, str) and _is_array(value, devices)
        for name, value in cast("dict[object, object]", part).items()
    )


def _is_array(value: object, devices: Collection[torch.device]) -> bool:
    """Return whether something is a tensor whose numbers are all there, one after the other."""
    return (
        type(value) in (torch.Tensor, torch.nn.Parameter)
        and (tensor := cast(torch.Tensor, value)).layout == torch.strided
        and not tensor.is_nested
        and tensor.device in devices
    )


def _is_number(part: object) -> bool:
    """Return whether something is a number that a float can hold."""
    return isinstance(part, float) or (isinstance(part, int) and abs(part) < 2**63)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, sorted(names))) or "nothing"
