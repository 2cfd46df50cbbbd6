"""Accumulation of Fisher information over fragments (Algorithm 1 of the paper).

I_i = mu F_B + (1 - mu) F_V mixes a fragment with the validation set, and
I_G <- alpha I_G + (1 - alpha) I_i remembers fragments that are gone, from I_G = 0.

Symbols: mu is `mix`, alpha is `decay`, I_G is `carried`.

Departures: by default F_B is the running mean over a fragment's mini-batches and I_G takes one step
per finished fragment, so that knowledge of earlier fragments survives; the paper takes one step per
mini-batch, after 50 of which nothing of an earlier fragment is left (`PAPER`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Generic, Literal, TypeVar

import torch

from firecv.errors import StructureError
from firecv.fire.forms import Form, unit
from firecv.fisher.base import Fisher

F = TypeVar("F", bound=Fisher)

SMALLEST: Final = torch.finfo(torch.float32).tiny
"""Fishers below it stay as they are: one over them is infinite in single precision."""


@dataclass(frozen=True)
class Accumulation:
    """How Fishers are mixed and averaged.

    Attributes
    ----------
    mix
        Share of the fragment against the validation set; without one it is all.
    decay
        What is kept of earlier fragments at each step of the average.
    step
        What one step of the average is: a finished fragment, or every mini-batch.
    debias
        Divide by 1 - decay^t, which makes up for the start from zero.
    normalize
        Divide by the unit of the form that uses the Fisher (`firecv.fire.forms.unit`), so that a
        strength means the same for every model: the largest eigenvalue for `precondition`, the
        mean of the diagonal for `quadratic`.
    """

    mix: float = 0.5
    decay: float = 0.9
    step: Literal["fragment", "batch"] = "fragment"
    debias: bool = True
    normalize: bool = True

    def __post_init__(self) -> None:
        """Check the two shares."""
        for name in ("mix", "decay"):
            value = getattr(self, name)
            if not 0 <= value <= 1 or (name == "decay" and value == 1):
                raise StructureError(f"{name} is a share from 0 to 1 (decay below 1), got {value}")


PAPER = Accumulation(step="batch", debias=False, normalize=False)
"""Algorithm 1 to the letter."""


@dataclass(frozen=True)
class Accumulated(Generic[F]):
    """What is known so far; every change makes a new one.

    Attributes
    ----------
    settings
        How it is accumulated.
    carried
        I_G: the average over finished steps, not debiased; None before the first.
    n_steps
        How many steps it took.
    total
        Sum of the Fishers of the current fragment's mini-batches.
    n_batches
        How many those are.
    validation
        F_V as of its last refresh; None without a validation set.
    """

    settings: Accumulation = Accumulation()
    carried: F | None = None
    n_steps: int = 0
    total: F | None = None
    n_batches: int = 0
    validation: F | None = None

    def with_batch(self, fisher: F) -> "Accumulated[F]":
        """Return what is known after another mini-batch with this Fisher.

        Examples
        --------
        >>> import torch
        >>> from firecv.fisher import Diagonal
        >>> known = Accumulated(Accumulation(normalize=False))
        >>> for x in (1.0, 3.0):
        ...     known = known.with_batch(Diagonal({"w": torch.tensor([x])}))
        >>> known.current("quadratic").diagonal()
        {'w': tensor([2.])}
        """
        if self.settings.step == "batch":
            return self._step(self._mixed(fisher))
        return self.with_total(fisher if self.total is None else self.total + fisher)

    def with_total(self, total: F) -> "Accumulated[F]":
        """Return what is known after another mini-batch whose Fisher is in `total` already."""
        known = replace(self, total=total, n_batches=self.n_batches + 1)
        known.__dict__["_base"] = self._base  # which a batch does not change
        return known

    def with_validation(self, fisher: F) -> "Accumulated[F]":
        """Return what is known after a refresh of F_V."""
        return replace(self, validation=fisher)

    def finished(self) -> "Accumulated[F]":
        """Return what is known once the current fragment has ended."""
        if self.total is None:
            return self
        mixed = self._mixed(self.total * (1 / self.n_batches))
        return replace(self._step(mixed), total=None, n_batches=0)

    def current(self, form: Form) -> F | None:
        """Return the Fisher that a form uses now; None while nothing is known."""
        return _sum(self.terms(form))

    def remembered(self, form: Form) -> F | None:
        """Return what finished steps have left to a form, the fragment under way not included."""
        return _sum(replace(self, total=None, n_batches=0).terms(form))

    def terms(self, form: Form) -> list[tuple[float, F]]:
        """Return the Fisher that a form uses now as factors and Fishers to be summed.

        The second of two does not change until a fragment ends or F_V is refreshed, so the product
        with a vector costs two products and no sum of matrices. The unit of the sum is the sum of
        the units: the largest eigenvalue of two terms is at most the sum of theirs, and at least
        half of it.

        Parameters
        ----------
        form
            Which form; it decides what a normalized Fisher is divided by.
        """
        if self.total is None:
            found = [] if self.carried is None else [(1.0, self.carried)]
            n_steps = self.n_steps
        else:
            mix, decay = self.settings.mix, self.settings.decay
            share = 1.0 if self.validation is None else mix
            found = [((1 - decay) * share / self.n_batches, self.total)]
            found += [] if self._base is None else [(1.0, self._base)]
            n_steps = self.n_steps + 1
        factor = 1.0
        if found and self.settings.debias:
            factor /= 1 - self.settings.decay**n_steps
        if found and self.settings.normalize:
            size = sum(part * unit(form, fisher) for part, fisher in found)
            factor = 1 / size if size > SMALLEST else factor
        return [(part * factor, fisher) for part, fisher in found]

    @cached_property
    def _base(self) -> F | None:
        """What the fragment under way is added to: earlier steps and the validation set."""
        mix, decay = self.settings.mix, self.settings.decay
        parts = [(decay, self.carried), ((1 - decay) * (1 - mix), self.validation)]
        return _sum([(part, fisher) for part, fisher in parts if fisher is not None])

    def _mixed(self, fragment: F) -> F:
        if self.validation is None:
            return fragment
        return fragment * self.settings.mix + self.validation * (1 - self.settings.mix)

    def _step(self, mixed: F) -> "Accumulated[F]":
        decay = self.settings.decay
        new = mixed * (1 - decay)
        carried = new if self.carried is None else self.carried * decay + new
        return replace(self, carried=carried, n_steps=self.n_steps + 1)


def _sum(terms: Sequence[tuple[float, F]]) -> F | None:
    result = None
    for factor, fisher in terms:
        scaled = fisher if factor == 1 else fisher * factor
        result = scaled if result is None else result + scaled
    return result
