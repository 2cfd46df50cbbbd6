"""The validation set as a method is given it: nothing, labelled, unlabelled, or a summary."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

import torch
from torch import Tensor

from firecv.errors import DataError
from firecv.fisher import estimate, load
from firecv.fisher.base import Fisher, Structure
from firecv.fisher.laws import Law
from firecv.fisher.recorder import eval_mode
from firecv.models import Task, batches
from firecv.regimes import Regime

F = TypeVar("F", bound=Fisher)
Batches = Iterable[Tensor | Sequence[Tensor]]


@dataclass(frozen=True)
class Unlabelled:
    """A validation set of which only the inputs may be seen, whatever else it holds."""

    data: Tensor | Sequence[Tensor] | Batches


@dataclass(frozen=True)
class Summary:
    """A Fisher of a validation set that stays elsewhere.

    Attributes
    ----------
    fisher
        The Fisher, or the file it was saved to.
    law
        The law it was estimated with; ``"empirical"`` means that labels were used.
    """

    fisher: Fisher | str | Path
    law: Law


Given = Tensor | Sequence[Tensor] | Batches | Unlabelled | Summary | None


@dataclass(frozen=True)
class Validation:
    """What a method sees of V, and nothing more."""

    regime: Regime
    x: Tensor | None = None
    y: Tensor | None = None
    fisher: Fisher | None = None

    @property
    def law(self) -> Law:
        """The law of F_V: the labels where they may be seen, else the expectation over them."""
        return "empirical" if self.regime in ("labelled", "labelled_summary") else "exact"

    def estimate(self, structure: Structure[F], task: Task) -> F:
        """Return F_V at the model's weights, in eval mode."""
        assert self.x is not None
        with eval_mode(task.model):
            return estimate(structure, task, batches(self.x, self.y), law=self.law)

    def draw(self, n: int, rng: torch.Generator) -> tuple[Tensor, Tensor | None]:
        """Return at most `n` samples, each at most once."""
        assert self.x is not None
        rows = torch.randperm(len(self.x), generator=rng)[:n].to(self.x.device)
        return self.x[rows], None if self.y is None else self.y[rows]


def as_validation(given: Given) -> Validation:
    """Return what is given of a validation set, with the regime that follows from it.

    Parameters
    ----------
    given
        None; inputs ``x`` (unlabelled); ``(x, y)`` (labelled); a loader or list of batches ``x``,
        ``(x,)`` or ``(x, y)``, which is read once and kept; `Unlabelled` of any of these, which
        leaves labels aside; or a `Summary`.

    Examples
    --------
    >>> x, y = torch.zeros(4, 2), torch.tensor([0, 1, 0, 1])
    >>> [as_validation(v).regime for v in (None, x, (x, y), Unlabelled((x, y)))]
    ['none', 'unlabelled', 'labelled', 'unlabelled']
    """
    if given is None:
        return Validation("none")
    if isinstance(given, Summary):
        kept = given.fisher
        fisher = load(kept) if isinstance(kept, str | Path) else kept
        return Validation(
            "labelled_summary" if given.law == "empirical" else "summary", fisher=fisher
        )
    if isinstance(given, Unlabelled):
        x, _ = _arrays(given.data)
        return Validation("unlabelled", x)
    x, y = _arrays(given)
    return Validation("unlabelled" if y is None else "labelled", x, y)


def _arrays(given: Tensor | Sequence[Tensor] | Batches) -> tuple[Tensor, Tensor | None]:
    """Return all samples and, if every batch has them, all labels."""
    if isinstance(given, Tensor):
        given = [(given,)]
    elif isinstance(given, tuple) and all(isinstance(part, Tensor) for part in given):
        given = [cast("tuple[Tensor, ...]", given)]
    parts = [(part,) if isinstance(part, Tensor) else tuple(part) for part in given]
    if not parts or not sum(len(part[0]) for part in parts):
        raise DataError("the validation set is empty; give at least one sample, or None")
    widths = {len(part) for part in parts}
    if widths not in ({1}, {2}):
        raise DataError(
            f"batches of the validation set hold {sorted(widths)} tensors; expected (x, y) in "
            f"every batch, or x alone in every batch"
        )
    x, *rest = (torch.cat(list(column)) for column in zip(*parts, strict=True))
    y = rest[0] if rest else None
    if y is not None and len(x) != len(y):
        raise DataError(f"the validation set has {len(x)} samples and {len(y)} labels")
    if x.is_floating_point() and not bool(x.isfinite().all()):
        raise DataError("the validation set holds NaN or infinite values; clean or impute it")
    return x, y
