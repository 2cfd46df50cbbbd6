"""Which answers of clients are refused before they reach any mean."""

import math
from dataclasses import dataclass

import torch

from firecv.errors import DataError, StructureError
from firecv.federated.bundles import Bundle
from firecv.tree import Tree, check_match


@dataclass(frozen=True)
class Screen:
    """What an answer must be like.

    Every number is finite, and what the server has under the same name has the same entries,
    shapes and types.

    Attributes
    ----------
    largest
        How many times larger than the server's own weights, in norm, those of a client may be.
    """

    largest: float = 10.0

    def __post_init__(self) -> None:
        """Check the bound."""
        if not self.largest >= 1:
            raise DataError(f"largest is a factor from 1 on, got {self.largest}")

    def complaint(self, answer: Bundle, server: Bundle) -> str | None:
        """Return why an answer is refused; None if it is not.

        Examples
        --------
        >>> server = {"weights": {"a": torch.tensor([1.0, 2.0])}}
        >>> Screen().complaint({"weights": {"a": torch.tensor([1.0, float("nan")])}}, server)
        "'weights' holds NaN or infinite values"
        >>> Screen().complaint({"weights": {"a": torch.tensor([1.0, 2.5])}}, server)
        """
        if "weights" not in answer:
            return f"there are no weights in it, only {sorted(answer)}"
        for name, part in answer.items():
            if why := _malformed(name, part, server.get(name)):
                return why
            size = norm(part) if isinstance(part, dict) else abs(part)
            if not math.isfinite(size):
                return f"{name!r} holds NaN or infinite values"
            own = server.get(name)
            if name == "weights" and isinstance(own, dict):
                limit = self.largest * (norm(own) + 1)
                if size > limit:
                    return f"its weights have norm {size:.3g}, more than {limit:.3g} is refused"
        return None


def norm(part: Tree) -> float:
    """Return the Euclidean norm over all entries; not finite if any of them is not.

    Examples
    --------
    >>> norm({"a": torch.tensor([3.0]), "b": torch.tensor([4])})
    5.0
    """
    squares = [
        float(torch.linalg.vector_norm(v if v.is_floating_point() else v.double())) ** 2
        for v in part.values()
    ]
    return math.sqrt(sum(squares))


def _malformed(name: str, part: Tree | float, own: Tree | float | None) -> str | None:
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
