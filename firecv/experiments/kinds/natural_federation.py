"""A federation that came as one: fragments are clients, one in turn is the target and gives V."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from firecv.errors import DataError
from firecv.experiments.kinds.datasets import why_missing
from firecv.experiments.kinds.federated_methods import FederatedMethod
from firecv.experiments.spec import Columns, in_columns

COSTS = {"heart_hospitals": 0.25, "wisdm_har": 15.0, "office_caltech_surf": 1.1}
"""CPU seconds of 12 rounds of 5 epochs of FedAvg on every target, as measured."""


@dataclass(frozen=True)
class NaturalFederation:
    """A federated algorithm evaluated on every fragment that can be the target.

    The other fragments are the clients. Targets, V and the test set are those of `Natural` at the
    same seed; inputs are standardized with the rows of all clients together.

    Attributes
    ----------
    dataset
        A data set that came in fragments.
    method
        What clients and server do.
    n_validation
        Rows of the target that make V.
    every
        Take only every so many targets; None for all.
    n_rounds, n_epochs, batch_size
        Rounds, and local training.
    hidden
        Units of the hidden layers, such as "64"; None for a linear model.
    """

    dataset: str
    method: FederatedMethod = FederatedMethod()
    n_validation: int = 50
    every: int | None = None
    n_rounds: int = 12
    n_epochs: int = 5
    batch_size: int = 64
    hidden: str | None = None

    kind: ClassVar[str] = "natural_federation"

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
        each = COSTS.get(self.dataset, 1.0) / (self.every or 1)
        n_steps = self.n_rounds * self.n_epochs / 60 * max(1.0, 64 / self.batch_size)
        return each * self.method.cost_ratio * n_steps

    def missing(self) -> str:
        """Return why it cannot be run here, or ""."""
        return why_missing(self.dataset)

    def check(self) -> None:
        """Raise `DataError` unless the data came in fragments and there is such a method."""
        from firecv.data import DATASETS

        if self.dataset not in DATASETS or DATASETS[self.dataset].fragments is None:
            raise DataError(f"dataset is {self.dataset!r}; expected one that came in fragments")
        self.method.check()

    def measure(self, seeds: Sequence[int]) -> Columns:
        """Return the scores, means over all targets, and accuracy on each target."""
        self.check()
        return in_columns(seeds, [self._measured(seed) for seed in seeds])

    def _measured(self, seed: int) -> dict[str, float]:
        # Imported only now: torch takes seconds to load, and showing a table needs none of it.
        from firecv.experiments.kinds.federated_run import measured
        from firecv.experiments.kinds.natural_worlds import natural_worlds
        from firecv.experiments.kinds.worlds import task_of

        each = [
            measured(
                made,
                task_of(made, self.hidden or "", seed),
                self.method,
                seed,
                n_rounds=self.n_rounds,
                n_epochs=self.n_epochs,
                batch_size=self.batch_size,
            )
            for made in natural_worlds(self.dataset, self.n_validation, self.every, seed)
        ]
        means = {name: fmean(one[name] for one in each) for name in each[0]}
        return means | {f"target {k}": one["accuracy"] for k, one in enumerate(each, 1)}
