"""Repeated cross-validation of one table: the held-out fold is what the others are shifted from.

One seed is one repeat: all folds, each with a network trained on the other folds together. In the
protocol "paper" folds are stratified, whatever the inputs, and the held-out fold is V and scored.
In "clean" samples of equal inputs stay together, and the held-out fold is cut into stratified
halves: V, of which the method sees what its regime allows, and T, which is scored.

One fold stands for the paper's "Baseline": the first of five folds is held out and stays the same
for all seeds, so 80 % of the rows train and seeds differ in initial weights only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from firecv.data.datasets import find
from firecv.errors import DataError
from firecv.experiments.kinds.datasets import check_table, why_missing
from firecv.experiments.kinds.treatment import Treatment, check_stacked
from firecv.experiments.spec import Columns, ProtocolName
from firecv.regimes import Regime

LARGE = 1500
"""Rows from which on a hundred repeats are more than one run should take."""


@dataclass(frozen=True)
class Folds:
    """A method in repeated cross-validation of a table.

    Attributes
    ----------
    dataset
        A table of the catalogue.
    n_folds
        How many folds; 1 holds out one fixed fifth.
    method, regime, strength, n_epochs
        As for `Treatment`.
    protocol
        Whether T is a half of the held-out fold, or V itself.

    Examples
    --------
    >>> found = Folds("wine", 2, "erm", "none", n_epochs=800).measure([0])
    >>> list(found)[:3], list(found)[-2:]
    (['seed', 'accuracy', 'balanced_accuracy'], ['fold 1', 'fold 2'])
    >>> min(found["accuracy"]) > 0.9
    True
    """

    dataset: str
    n_folds: int
    method: str
    regime: Regime
    strength: float | None = None
    protocol: ProtocolName = "clean"
    n_epochs: int = 1500

    kind: ClassVar[str] = "folds"

    def __post_init__(self) -> None:
        """Check the settings."""
        check_table(self.dataset)
        if self.n_folds < 1:
            raise DataError(f"n_folds is {self.n_folds}; expected a whole number from 1 on")
        if self.protocol not in ("clean", "paper"):
            raise DataError(f"protocol is {self.protocol!r}; expected 'clean' or 'paper'")
        check_stacked(self.method)
        _ = self.treatment  # which checks what else can be told without the method

    @property
    def recipe(self) -> int:
        """Raised whenever the same settings come to mean something else: the unit of a strength."""
        return 2 if self.method == "fire-precondition" else 1

    @property
    def treatment(self) -> Treatment:
        """What the networks are trained by."""
        return Treatment(self.method, self.regime, self.strength, self.n_epochs)

    @property
    def at_once(self) -> int:
        """How many repeats one run takes: such that it fills the engine's chunks of networks."""
        n_rows = find(self.dataset).n_train or 0
        many = 100 if n_rows < LARGE else max(25, 100 // self.n_folds)
        return many if self.treatment.n_networks == 1 else many // 4

    @property
    def cost(self) -> float:
        """CPU seconds per repeat, guessed."""
        return self.n_folds * self.treatment.seconds(self.dataset)

    def missing(self) -> str:
        """Return why it cannot be run here, or ""."""
        return why_missing(self.dataset)

    def check(self) -> None:
        """Raise `DataError` or `RegimeError` unless the method is given what it makes use of."""
        self.treatment.check()

    def measure(self, seeds: Sequence[int]) -> Columns:
        """Return scores averaged over folds, and the accuracy of each fold."""
        # Imported only now: torch takes seconds to load, and showing a table needs none of it.
        from firecv.experiments.kinds.fold_trials import fold_trials, mean_over_folds
        from firecv.experiments.kinds.stacks import encoded, score_trials
        from firecv.models.scores import SCORES

        self.check()
        each = [fold_trials(self.dataset, self.n_folds, self.protocol, seed) for seed in seeds]
        trials = [trial for trials in each for trial in trials]
        found = score_trials(encoded(self.dataset), trials, self.treatment)
        repeats = [found[i : i + self.n_folds] for i in range(0, len(found), self.n_folds)]
        columns: dict[str, list[float]] = {"seed": [float(seed) for seed in seeds]}
        for name in SCORES:
            columns[name] = [round(mean_over_folds(repeat, name), 5) for repeat in repeats]
        for fold in range(self.n_folds):
            accuracies = [round(repeat[fold]["accuracy"], 5) for repeat in repeats]
            columns[f"fold {fold + 1}"] = accuracies
        return columns
