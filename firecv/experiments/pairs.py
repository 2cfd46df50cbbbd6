"""Two methods at the same seeds: what each measured, and how they differ.

Seeds are paired by their number, never by their place. What is not finite has diverged: it is
counted, means are over the other seeds, and pairs are those where neither side has diverged.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from firecv.errors import DataError
from firecv.experiments.spec import Columns, Pairing
from firecv.statistics import (
    FEWEST_PAIRS,
    Effect,
    Interval,
    corrected_t,
    effect,
    mean_interval,
    paired_wilcoxon,
)

FOLD_METRIC = "accuracy"
"""What the columns "fold 1" to "fold k" hold for each repeat."""


@dataclass(frozen=True)
class Values:
    """What a cell holds of its metric.

    Attributes
    ----------
    by_seed
        The finite values.
    folds
        Of each of these seeds the values on its folds, of equal number; empty unless folds are
        what is paired.
    n_diverged
        How many seeds gave something else.
    """

    by_seed: Mapping[int, float]
    folds: Mapping[int, NDArray[np.float64]]
    n_diverged: int

    @property
    def n_folds(self) -> int:
        """How many folds a repeat has; 0 unless folds are paired."""
        return len(next(iter(self.folds.values()), ()))

    def interval(self) -> Interval:
        """Return mean and 95 % interval; over folds it allows for their overlap."""
        values = list(self.by_seed.values())
        if not values:
            return Interval(*[float("nan")] * 3)
        if self.n_folds < 2:
            return mean_interval(values)
        each = np.concatenate(list(self.folds.values())).tolist()
        _, low, high = mean_interval(each, overlap=_overlap(self.n_folds))
        return Interval(float(np.mean(values)), low, high)

    def sd(self) -> float:
        """Return the standard deviation over seeds; NaN for fewer than two."""
        values = list(self.by_seed.values())
        return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


class Comparison(NamedTuple):
    """How one cell differs from another at the seeds they share.

    Attributes
    ----------
    effect
        In the table's unit and in percent.
    n_pairs
        How many seeds they share.
    p_value
        Of the paired test; None with fewer than ten shared seeds, or without folds where folds
        are paired.
    """

    effect: Effect
    n_pairs: int
    p_value: float | None


def read_values(columns: Columns, metric: str, scale: float, pairing: Pairing) -> Values:
    """Return the values of a metric by seed, times `scale`.

    Parameters
    ----------
    columns
        What is stored for a cell, "seed" among it.
    metric
        One of its names.
    scale
        100 to have shares in percent.
    pairing
        Whether the values on folds are wanted too; they exist for accuracy only.
    """
    seeds = [int(seed) for seed in columns["seed"]]
    if len(set(seeds)) < len(seeds):
        raise DataError(f"a cell holds seeds {seeds}; give every seed once")
    values = dict(zip(seeds, (scale * float(value) for value in columns[metric]), strict=True))
    folds = _folds(columns, seeds, scale) if pairing == "folds" and metric == FOLD_METRIC else {}
    fine = [
        seed
        for seed, value in values.items()
        if np.isfinite(value) and (not folds or np.isfinite(folds[seed]).all())
    ]
    return Values(
        {seed: values[seed] for seed in fine},
        {seed: folds[seed] for seed in fine if folds},
        len(seeds) - len(fine),
    )


def compare(a: Values, b: Values, pairing: Pairing) -> Comparison | None:
    """Return how a differs from b, or None if they share no seed.

    Seeds are tested by Wilcoxon's signed ranks. Folds are tested by the corrected t, with
    1 / (k - 1) for n_test / n_train whatever part of the fold is scored: the overlap of training
    sets is that of k folds.

    Parameters
    ----------
    a, b
        Values in the same unit.
    pairing
        What they have in common.
    """
    shared = sorted(a.by_seed.keys() & b.by_seed.keys())
    if not shared:
        return None
    if pairing == "folds" and a.n_folds == b.n_folds > 1:
        first, second = (np.concatenate([x.folds[seed] for seed in shared]) for x in (a, b))
        overlap = _overlap(a.n_folds)
        found = effect(first.tolist(), second.tolist(), overlap=overlap)
        tested = corrected_t((first - second).tolist(), 1.0, overlap)
        p_value = tested.p_value if len(shared) >= FEWEST_PAIRS else None
        return Comparison(found, len(shared), p_value)
    ours, theirs = ([x.by_seed[seed] for seed in shared] for x in (a, b))
    can_test = pairing == "seeds" and len(shared) >= FEWEST_PAIRS
    p_value = paired_wilcoxon(ours, theirs).p_value if can_test else None
    return Comparison(effect(ours, theirs), len(shared), p_value)


def _folds(columns: Columns, seeds: list[int], scale: float) -> dict[int, NDArray[np.float64]]:
    """Return each seed's values on "fold 1", "fold 2" and so on."""
    names = [name for name in columns if name.startswith("fold ")]
    each = [columns[f"fold {number}"] for number in range(1, len(names) + 1)]
    table = scale * np.array(each, np.float64).reshape(len(each), len(seeds)).T
    return dict(zip(seeds, table, strict=True)) if names else {}


def _overlap(n_folds: int) -> float:
    """Return n_test / n_train of k folds."""
    return 1 / (n_folds - 1)
