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

PART_METRIC = "accuracy"
"""What the columns "fold 1" to "fold k", or "target 1" to "target k", hold for each seed."""
PARTS = {"folds": "fold", "targets": "target"}
"""How the columns of a pairing are called."""


@dataclass(frozen=True)
class Values:
    """What a cell holds of its metric.

    Attributes
    ----------
    by_seed
        The finite values.
    parts
        Of each of these seeds the values on its folds or targets, of equal number; empty unless
        these are what is paired.
    n_diverged
        How many seeds gave something else.
    overlapping
        Whether parts are folds, whose training sets overlap.
    """

    by_seed: Mapping[int, float]
    parts: Mapping[int, NDArray[np.float64]]
    n_diverged: int
    overlapping: bool = False

    @property
    def n_parts(self) -> int:
        """How many folds or targets a seed has; 0 unless these are paired."""
        return len(next(iter(self.parts.values()), ()))

    def interval(self) -> Interval:
        """Return mean and 95 % interval; over folds it allows for their overlap."""
        values = list(self.by_seed.values())
        if not values:
            return Interval(*[float("nan")] * 3)
        if self.n_parts < 2 or not self.overlapping:
            return mean_interval(values)
        each = np.concatenate(list(self.parts.values())).tolist()
        _, low, high = mean_interval(each, overlap=_overlap(self.n_parts))
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
        Of the paired test; None with fewer than ten shared seeds, or pairs of target and seed, or
        without folds where folds are paired.
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
        Whether the values on folds or targets are wanted too; they exist for accuracy only.
    """
    seeds = [int(seed) for seed in columns["seed"]]
    if len(set(seeds)) < len(seeds):
        raise DataError(f"a cell holds seeds {seeds}; give every seed once")
    values = dict(zip(seeds, (scale * float(value) for value in columns[metric]), strict=True))
    parts: dict[int, NDArray[np.float64]] = {}
    if pairing in PARTS and metric == PART_METRIC:
        parts = _parts(columns, PARTS[pairing], seeds, scale)
    fine = [
        seed
        for seed, value in values.items()
        if np.isfinite(value) and (not parts or np.isfinite(parts[seed]).all())
    ]
    return Values(
        {seed: values[seed] for seed in fine},
        {seed: parts[seed] for seed in fine if parts},
        len(seeds) - len(fine),
        pairing == "folds",
    )


def compare(a: Values, b: Values, pairing: Pairing) -> Comparison | None:
    """Return how a differs from b, or None if they share no seed.

    Seeds are tested by Wilcoxon's signed ranks. Folds are tested by the corrected t, with
    1 / (k - 1) for n_test / n_train whatever part of the fold is scored: the overlap of training
    sets is that of k folds. Targets are tested by Wilcoxon's signed ranks over all pairs of target
    and seed; the effect is that of the seeds' means.

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
    if pairing == "folds" and a.n_parts == b.n_parts > 1:
        first, second = _all_parts(a, shared), _all_parts(b, shared)
        overlap = _overlap(a.n_parts)
        found = effect(first.tolist(), second.tolist(), overlap=overlap)
        tested = corrected_t((first - second).tolist(), 1.0, overlap)
        p_value = tested.p_value if len(shared) >= FEWEST_PAIRS else None
        return Comparison(found, len(shared), p_value)
    ours, theirs = ([x.by_seed[seed] for seed in shared] for x in (a, b))
    tested = ours, theirs
    if pairing == "targets" and a.n_parts == b.n_parts > 0:
        tested = _all_parts(a, shared).tolist(), _all_parts(b, shared).tolist()
    can_test = pairing != "folds" and len(tested[0]) >= FEWEST_PAIRS
    p_value = paired_wilcoxon(*tested).p_value if can_test else None
    return Comparison(effect(ours, theirs), len(shared), p_value)


def _all_parts(values: Values, seeds: list[int]) -> NDArray[np.float64]:
    return np.concatenate([values.parts[seed] for seed in seeds])


def _parts(
    columns: Columns, word: str, seeds: list[int], scale: float
) -> dict[int, NDArray[np.float64]]:
    """Return each seed's values on "fold 1", "fold 2" and so on, or on targets."""
    names = [name for name in columns if name.startswith(f"{word} ")]
    each = [columns[f"{word} {number}"] for number in range(1, len(names) + 1)]
    table = scale * np.array(each, np.float64).reshape(len(each), len(seeds)).T
    return dict(zip(seeds, table, strict=True)) if names else {}


def _overlap(n_folds: int) -> float:
    """Return n_test / n_train of k folds."""
    return 1 / (n_folds - 1)
