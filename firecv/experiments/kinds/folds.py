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
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from firecv.data.datasets import find
from firecv.data.folds import Folds as Cut
from firecv.data.folds import folds
from firecv.errors import DataError
from firecv.experiments.kinds.images import why_missing
from firecv.experiments.kinds.stacks import (
    Scores,
    Trial,
    check_table,
    encoded,
    score_trials,
)
from firecv.experiments.kinds.treatment import Treatment, check_stacked
from firecv.experiments.scores import SCORES
from firecv.experiments.spec import Columns, ProtocolName
from firecv.regimes import Regime
from firecv.seeding import derive

HOLD_OUT = 5
"""Parts of the table of which one is held out where there is one fold only."""
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
    recipe: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Check the settings."""
        check_table(self.dataset)
        if self.n_folds < 1:
            raise DataError(f"n_folds is {self.n_folds}; expected a whole number from 1 on")
        if self.protocol not in ("clean", "paper"):
            raise DataError(f"protocol is {self.protocol!r}; expected 'clean' or 'paper'")
        check_stacked(self.method)
        _ = self.treatment  # which checks the rest

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

    def measure(self, seeds: Sequence[int]) -> Columns:
        """Return scores averaged over folds, and the accuracy of each fold."""
        trials = [trial for seed in seeds for trial in fold_trials(self, seed)]
        found = score_trials(encoded(self.dataset), trials, self.treatment)
        repeats = [found[i : i + self.n_folds] for i in range(0, len(found), self.n_folds)]
        columns: dict[str, list[float]] = {"seed": [float(seed) for seed in seeds]}
        for name in SCORES:
            columns[name] = [round(_mean(repeat, name), 5) for repeat in repeats]
        for fold in range(self.n_folds):
            accuracies = [round(repeat[fold]["accuracy"], 5) for repeat in repeats]
            columns[f"fold {fold + 1}"] = accuracies
        return columns


def fold_trials(setting: Folds, seed: int) -> list[Trial]:
    """Return the networks of one repeat; they depend on table, folds, protocol and seed only."""
    is_clean = setting.protocol == "clean"
    fold, is_test = _places(setting.dataset, setting.n_folds, is_clean, seed)
    return [
        Trial(
            train=np.flatnonzero(fold != held),
            validation=np.flatnonzero((fold == held) & ~(is_test & is_clean)),
            test=np.flatnonzero((fold == held) & is_test),
            seed=seed,
            place=held,
        )
        for held in range(setting.n_folds)
    ]


@lru_cache(maxsize=1024)
def _places(
    dataset: str, n_folds: int, is_clean: bool, seed: int
) -> tuple[NDArray[np.int16], NDArray[np.bool_]]:
    """Return the fold of each row, and whether it may be scored there.

    Kept, as all methods share it and keeping equal inputs together takes seconds in large tables.
    """
    arrays = encoded(dataset).arrays
    n, first = (n_folds, seed) if n_folds > 1 else (HOLD_OUT, 0)
    fold = np.zeros(len(arrays), np.int16)
    is_test = np.full(len(arrays), not is_clean)
    cut = folds(arrays, derive(first, "folds", n), Cut(n, keep_duplicates_together=is_clean))
    for number, rows in enumerate(cut.values()):
        fold[rows] = number
        if is_clean and number < n_folds:
            _, tested = folds(
                arrays.take(rows), derive(first, "halves", n, number), Cut(2)
            ).values()
            is_test[rows[tested]] = True
    return fold, is_test


def _mean(repeat: Sequence[Scores], name: str) -> float:
    """Return the mean over folds; of the AUC over those folds in which it is defined."""
    values = np.array([found[name] for found in repeat])
    is_trained = np.isfinite([found["accuracy"] for found in repeat]).all()
    if name == "auc" and is_trained:  # undefined where all of T is of one class
        values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else float("nan")
