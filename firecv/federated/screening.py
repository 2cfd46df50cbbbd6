"""Which answers of clients are refused before they reach any mean."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

import torch

from firecv import tree
from firecv.errors import DataError, FirecvError, StructureError
from firecv.federated.bundles import Bundle
from firecv.federated.compression import unpacked
from firecv.federated.fleet import REPORT
from firecv.fisher.structures import STRUCTURES
from firecv.tree import Tree, check_match

FISHERS: Final = ("fisher", REPORT + "fisher")
"""Entries that hold Fishers."""
CLASSES: Final = REPORT + "classes"
ROUNDING: Final = 1e-3
"""By how much shares may miss one."""
COUNTS: Final = ("n", "used")
"""What a summary of samples has beside its numbers."""


@dataclass(frozen=True)
class Screen:
    """What an answer must be like.

    Every number is finite; what the server has under the same name has the same entries, shapes and
    types; all clients send entries of the same names; Fishers are Fishers of this model, none of
    their diagonal entries negative; a report states the client's size as the server knows it; and
    shares of classes are at or above zero and sum to one.

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


def is_bundle(answer: object) -> bool:
    """Return whether something is made of named arrays and numbers, and nothing else.

    Examples
    --------
    >>> is_bundle({"weights": {"a": torch.zeros(2)}, "loss": 1.0}), is_bundle({"weights": "a"})
    (True, False)
    """
    return isinstance(answer, dict) and all(
        isinstance(name, str) and (isinstance(part, int | float) or _is_tree(part))
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


def malformed(answer: Bundle, server: Bundle, n_samples: int) -> str | None:
    """Return what is wrong with the form of an answer; None if nothing is.

    Parameters
    ----------
    answer
        What a client sent.
    server
        What the server has.
    n_samples
        The client's size, as the server knows it.

    Examples
    --------
    >>> server = {"weights": {"a": torch.tensor([1.0, 2.0])}}
    >>> malformed({"weights": {"a": torch.zeros(3)}}, server, 10)[:49]
    "'weights': entry 'a' has shape (2,) in the first "
    >>> malformed({"weights": {"a": torch.zeros(2)}, "report/size": 9.0}, server, 10)
    "'report/size' says 9 samples, the client has 10"
    """
    if not isinstance(answer.get("weights"), dict):
        return f"there are no weights in it, only {sorted(answer)}"
    for name, part in answer.items():
        why = _unlike(name, part, server.get(name))
        if why is None and name in FISHERS:
            why = _no_fisher(name, part, server["weights"])
        if why is None and name.startswith(REPORT):
            why = _miscounted(name, part, n_samples) or _no_shares(name, part)
        if why is not None:
            return why
    return None


def median(values: Sequence[float]) -> float:
    """Return the median, the lower of the two middle values."""
    return sorted(values)[(len(values) - 1) // 2]


def _is_tree(part: object) -> bool:
    return isinstance(part, dict) and all(
        isinstance(name, str) and isinstance(value, torch.Tensor)
        for name, value in cast("dict[object, object]", part).items()
    )


def _unlike(name: str, part: Tree | float, own: Tree | float | None) -> str | None:
    """Return how an entry differs in form from what the server has under its name."""
    if own is None:
        return None
    if isinstance(part, dict) != isinstance(own, dict):
        return f"{name!r} is not what the server has under this name"
    if isinstance(part, dict) and isinstance(own, dict):
        try:
            check_match(own, part)
        except StructureError as error:
            return f"{name!r}: {error}"
        for key, value in part.items():
            if value.dtype != own[key].dtype:
                return f"{name!r}: {key!r} is {value.dtype}, expected {own[key].dtype}"
    return None


def _no_fisher(name: str, part: Tree | float, weights: Tree | float) -> str | None:
    """Return why an entry is no Fisher of the model with these weights."""
    assert isinstance(weights, dict)
    diagonal = _diagonal(part, weights) if isinstance(part, dict) else None
    if diagonal is None:
        return f"{name!r} is no Fisher of this model"
    if any(bool((entries < 0).any()) for entries in diagonal.values()):
        return f"{name!r} has negative entries on its diagonal, which no Fisher has"
    return None


def _diagonal(sent: Tree, weights: Tree) -> Tree | None:
    """Return the diagonal of a Fisher as it was sent, of whichever structure it is."""
    try:
        arrays = unpacked(sent)
    except FirecvError:
        return None
    for structure in STRUCTURES.values():
        try:
            found = structure.from_tree(arrays).diagonal()
        except (FirecvError, KeyError, RuntimeError, ValueError, IndexError, TypeError):
            continue
        if found and all(
            name in weights and entries.shape == weights[name].shape
            for name, entries in found.items()
        ):
            return found
    return None


def _miscounted(name: str, part: Tree | float, n_samples: int) -> str | None:
    """Return how a report contradicts what is known of the client's size."""
    if name == REPORT + "size":
        said = part
    elif isinstance(part, dict) and all(count in part for count in COUNTS):
        said = float(part["n"]) if part["n"].numel() == 1 else math.nan
        used = float(part["used"]) if part["used"].numel() == 1 else math.nan
        if not 1 <= used <= n_samples:
            return f"{name!r} is made of {used:g} samples, the client has {n_samples}"
    else:
        return None
    if said != n_samples:
        return f"{name!r} says {said:g} samples, the client has {n_samples}"
    return None


def _no_shares(name: str, part: Tree | float) -> str | None:
    """Return why a report's shares of classes are none."""
    if name != CLASSES:
        return None
    shares = part.get("shares") if isinstance(part, dict) else None
    if shares is None or shares.ndim != 1 or not shares.is_floating_point():
        return f"{name!r} holds no shares of classes"
    if bool((shares < 0).any()) or abs(float(shares.sum()) - 1) > ROUNDING:
        return f"{name!r} are no shares: they are below 0, or sum to {float(shares.sum()):g}"
    return None
