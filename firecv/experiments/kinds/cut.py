"""Tables under sample selection bias, cut into fragments: how far FIRE's weights can be trusted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from firecv.errors import DataError
from firecv.experiments.kinds.datasets import why_missing
from firecv.experiments.kinds.natural import METHODS, MODELS, Method, Model
from firecv.experiments.spec import Columns, in_columns

SECONDS = {"phoneme": 1.0, "spambase": 4.0}
"""CPU seconds of FIRE's weights; the other tables take a tenth."""


@dataclass(frozen=True)
class Cut:
    """A classifier on a table whose training rows are cut into fragments along the selection.

    Attributes
    ----------
    dataset
        A table.
    model, method
        As for `firecv.experiments.kinds.natural.Natural`; not the network.
    n_validation
        Rows of the target that make V.
    n_fragments
        Fragments of equal size that the training rows are cut into, from the rows farthest from the
        target to the nearest.
    n_garbage
        How many of them have their labels shuffled, every other one from the first on.
    n_copies
        How often each fragment occurs.
    strength, n_folds, n_axes
        Of the weights by influence; None for the defaults. FIRE alone has these.
    """

    dataset: str
    model: Model = "linear"
    method: Method = "erm"
    n_validation: int = 50
    n_fragments: int = 5
    n_garbage: int = 0
    n_copies: int = 1
    strength: float | None = None
    n_folds: int | None = None
    n_axes: int | None = None

    kind: ClassVar[str] = "cut"

    @property
    def recipe(self) -> int:
        """Raised whenever the same settings come to mean something else."""
        return 1

    @property
    def at_once(self) -> int:
        """Ten seeds a run: each takes a second or less."""
        return 10

    @property
    def cost(self) -> float:
        """CPU seconds per seed."""
        return SECONDS.get(self.dataset, 0.1) * (1.0 if self.method == "fire" else 0.3)

    def missing(self) -> str:
        """Return why it cannot be run here, or ""."""
        return why_missing(self.dataset)

    def check(self) -> None:
        """Raise `DataError` unless the settings go together."""
        for name, value, known in (
            ("model", self.model, MODELS[:-1]),
            ("method", self.method, METHODS),
        ):
            if value not in known:
                raise DataError(f"{name} is {value!r}; expected one of {', '.join(known)}")
        if not 0 <= 2 * self.n_garbage <= self.n_fragments or self.n_copies < 1:
            raise DataError(
                f"at most half of the fragments are garbage and each occurs at least once, got "
                f"{self.n_garbage} of {self.n_fragments}, {self.n_copies} times"
            )
        own = (self.strength, self.n_folds, self.n_axes)
        if any(own) and (self.method, self.model) != ("fire", "linear"):
            raise DataError(f"only FIRE with the linear model has the settings {own}; leave them")

    def measure(self, seeds: Sequence[int]) -> Columns:
        """Return accuracy and log loss, and what garbage weighs beside its share of the rows."""
        # Imported only now: scikit-learn takes seconds to load, and showing a table needs none.
        from firecv.experiments.kinds.cut_fits import scored

        self.check()
        return in_columns(seeds, [scored(self, seed) for seed in seeds])
