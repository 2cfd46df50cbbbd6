"""Data that came in fragments: each in turn is the target, of which a few rows have labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from firecv.errors import DataError
from firecv.experiments.kinds.datasets import why_missing
from firecv.experiments.spec import Columns, in_columns

Model = Literal["linear", "boosting", "forest", "network"]
MODELS: tuple[Model, ...] = ("linear", "boosting", "forest", "network")
Method = Literal["majority", "erm", "pooled", "half", "share", "alone", "fire"]
METHODS: tuple[Method, ...] = ("majority", "erm", "pooled", "half", "share", "alone", "fire")
NetworkMethod = Literal["sequence", "diw", "giw", "trace", "align"]
NETWORK_METHODS: tuple[NetworkMethod, ...] = ("sequence", "diw", "giw", "trace", "align")
COSTS = {
    "heart_hospitals": 0.1,
    "wisdm_har": 4.0,
    "office_caltech_surf": 0.5,
    "gas_drift_8": 6.0,
    "electricity": 1.0,
}
"""CPU seconds of one linear model on every target."""
FITS = {"majority": 0.1, "alone": 0.2, "share": 4.0, "fire": 20.0, "diw": 20.0, "giw": 20.0}
"""How many fits of a model a method takes, about; one if not named."""
SLOWER = {"linear": 1.0, "boosting": 10.0, "forest": 10.0, "network": 4.0}
"""How many fits of a linear model a fit takes, about."""


@dataclass(frozen=True)
class Natural:
    """A classifier evaluated on every fragment that can be the target.

    Attributes
    ----------
    dataset
        A data set that came in fragments.
    model
        "linear", "boosting", "forest" or "network".
    method
        "majority": the most frequent class of the other fragments. "erm": trained on the other
        fragments. "pooled": and on V, every row alike. "half": V is half of the loss. "share":
        V's share of the loss is chosen by cross-validation on V with a linear model. "alone":
        trained on V alone. "fire": weighted by influence. Of the network alone also "sequence",
        trained on one fragment after the other, "diw" and "giw", and the forms "trace" and "align".
    n_validation
        Rows of the target that make V.
    every
        Take only every so many targets; None for all.
    """

    dataset: str
    model: Model = "linear"
    method: Method | NetworkMethod = "erm"
    n_validation: int = 50
    every: int | None = None

    kind: ClassVar[str] = "natural"

    @property
    def recipe(self) -> int:
        """Raised whenever the same settings come to mean something else."""
        tries_model = self.method == "fire" and self.model in ("boosting", "forest")
        return 3 if tries_model else 2  # `FIREWeighted` tries its weights by cross-validation

    @property
    def at_once(self) -> int:
        """One seed a run."""
        return 1

    @property
    def cost(self) -> float:
        """CPU seconds per seed."""
        fits = (
            SLOWER[self.model] + FITS[self.method] - 1
            if self.method in ("share", "fire")
            else (SLOWER[self.model] * FITS.get(self.method, 1.0))
        )
        return COSTS.get(self.dataset, 1.0) * fits / (self.every or 1)

    def missing(self) -> str:
        """Return why it cannot be run here, or ""."""
        return why_missing(self.dataset)

    def check(self) -> None:
        """Raise `DataError` unless there are such a model and such a method."""
        methods = METHODS + NETWORK_METHODS if self.model == "network" else METHODS
        for name, value, known in (("model", self.model, MODELS), ("method", self.method, methods)):
            if value not in known:
                raise DataError(f"{name} is {value!r}; expected one of {', '.join(known)}")

    def measure(self, seeds: Sequence[int]) -> Columns:
        """Return accuracy and log loss, means over all targets, and accuracy on each target."""
        # Imported only now: scikit-learn takes seconds to load, and showing a table needs none.
        from firecv.experiments.kinds.natural_fits import scored

        self.check()
        return in_columns(seeds, [scored(self, seed) for seed in seeds])
