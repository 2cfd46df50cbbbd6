"""Data that came in fragments: each in turn is the target, of which a few rows have labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from firecv.errors import DataError
from firecv.experiments.kinds.datasets import why_missing
from firecv.experiments.spec import Columns, in_columns

Model = Literal["linear", "boosting", "forest"]
MODELS: tuple[Model, ...] = ("linear", "boosting", "forest")
Method = Literal["majority", "erm", "pooled", "half", "share", "alone", "fire"]
METHODS: tuple[Method, ...] = ("majority", "erm", "pooled", "half", "share", "alone", "fire")
COSTS = {
    "heart_hospitals": 0.1,
    "wisdm_har": 12.0,
    "office_caltech_surf": 5.0,
    "gas_drift_8": 6.0,
    "electricity": 5.0,
}
"""CPU seconds of one linear model on every target."""
FITS = {"majority": 0.1, "alone": 0.2, "share": 15.0, "fire": 5.0}
"""How many fits of a model a method takes, about; one if not named."""


@dataclass(frozen=True)
class Natural:
    """A classifier evaluated on every fragment that can be the target.

    Attributes
    ----------
    dataset
        A data set that came in fragments.
    model
        "linear", "boosting" or "forest".
    method
        "majority": the most frequent class of the other fragments. "erm": trained on the other
        fragments. "pooled": and on V, every row alike. "half": V is half of the loss. "share":
        V's share of the loss is chosen by cross-validation on V. "alone": trained on V alone.
        "fire": weighted by influence.
    n_validation
        Rows of the target that make V.
    """

    dataset: str
    model: Model = "linear"
    method: Method = "erm"
    n_validation: int = 50

    kind: ClassVar[str] = "natural"

    @property
    def recipe(self) -> int:
        """Raised whenever the same settings come to mean something else."""
        return 1

    @property
    def at_once(self) -> int:
        """One seed a run."""
        return 1

    @property
    def cost(self) -> float:
        """CPU seconds per seed."""
        slower = {"linear": 1.0, "boosting": 4.0, "forest": 4.0}[self.model]
        return COSTS.get(self.dataset, 1.0) * FITS.get(self.method, 1.0) * slower

    def missing(self) -> str:
        """Return why it cannot be run here, or ""."""
        return why_missing(self.dataset)

    def check(self) -> None:
        """Raise `DataError` unless there are such a model and such a method."""
        for name, value, known in (
            ("model", self.model, MODELS),
            ("method", self.method, METHODS),
        ):
            if value not in known:
                raise DataError(f"{name} is {value!r}; expected one of {', '.join(known)}")

    def measure(self, seeds: Sequence[int]) -> Columns:
        """Return accuracy and log loss, means over all targets."""
        # Imported only now: scikit-learn takes seconds to load, and showing a table needs none.
        from firecv.experiments.kinds.natural_fits import scored

        self.check()
        settings = (self.dataset, self.model, self.method, self.n_validation)
        return in_columns(seeds, [scored(*settings, seed) for seed in seeds])
