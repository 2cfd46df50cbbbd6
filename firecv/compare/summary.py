"""Means, differences from plain training, and who wins among methods that see no more of V.

Test parts T of different seeds are drawn from one validation set and share rows, so that seeds are
not independent. With n_T rows scored and n_V not, the mean of a score over r seeds has the variance
1/r + n_T/n_V times that between seeds, if rows alone differ; that is Nadeau and Bengio's correction
(Machine Learning 52, 2003) with n_V as the rows trained on. What training itself adds to the
variance between seeds makes it larger than needed, never smaller.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from firecv.compare.entries import BASELINE, Entry
from firecv.models.scores import LOWER_IS_BETTER
from firecv.regimes import REGIMES, Regime, sees_at_most
from firecv.statistics import FEWEST_PAIRS, Interval, corrected_t, holm, mean_interval

LEVEL = 0.05
UNKNOWN = Interval(*[math.nan] * 3)
BySeed = Mapping[int, float]


class Difference(NamedTuple):
    """How a method differs from another at the seeds they share; no p-value below ten seeds."""

    interval: Interval
    p_value: float | None


@dataclass(frozen=True)
class Winner:
    """The best two methods among those that see at most as much as a regime allows.

    Attributes
    ----------
    regime
        What may be seen of V at most.
    best, second
        The two best means.
    difference
        Best minus second.
    adjusted_p_value
        Corrected by Holm for all such pairs; None without a test.
    """

    regime: Regime
    best: Entry
    second: Entry
    difference: Difference
    adjusted_p_value: float | None

    @property
    def is_clear(self) -> bool:
        """Whether the best differs from the second at 5 %."""
        return self.adjusted_p_value is not None and self.adjusted_p_value < LEVEL


def summary_table(values: Mapping[Entry, BySeed], overlap: float) -> pd.DataFrame:
    """Return one row per method: its mean, and how it differs from plain training.

    Intervals are of 95 %, each on its own; p-values are adjusted by Holm over all methods.

    Parameters
    ----------
    values
        The score of each method by seed, finite; a method that always failed has none.
    overlap
        n_T / n_V; 0 if seeds are all that differs.

    Examples
    --------
    >>> erm, fire = {0: 0.70, 1: 0.72}, {0: 0.75, 1: 0.77}
    >>> both = {Entry("erm", "none"): erm, Entry("fire", "unlabelled"): fire}
    >>> summary_table(both, overlap=1.0)[["method", "n_seeds", "mean", "difference"]].round(2)
      method  n_seeds  mean  difference
    0    erm        2  0.71        0.00
    1   fire        2  0.76        0.05
    """
    base = next((found for entry, found in values.items() if entry.name == BASELINE), {})
    apart = {
        entry: Difference(UNKNOWN, None) if entry.name == BASELINE else compared(x, base, overlap)
        for entry, x in values.items()
    }
    adjusted = holm([found.p_value for found in apart.values()])
    rows = [
        _row(entry, values[entry], apart[entry], p, overlap)
        for entry, p in zip(apart, adjusted, strict=True)
    ]
    return pd.DataFrame(rows).astype({"p_value": float, "adjusted_p_value": float})


def find_winners(values: Mapping[Entry, BySeed], metric: str, overlap: float) -> list[Winner]:
    """Return the two best methods of each regime in which two or more may compete.

    That the two are chosen by their means makes the test no more lenient: the first two of many lie
    closer together than any two named before.

    Parameters
    ----------
    values, overlap
        As for `summary_table`.
    metric
        Says whether more or less is better.

    Examples
    --------
    >>> erm, pooled = Entry("erm", "none"), Entry("pooled", "labelled")
    >>> values = {erm: {s: 0.7 + s / 1000 for s in range(10)}}
    >>> values[pooled] = {s: 0.8 - s / 1000 for s in range(10)}
    >>> [(w.regime, w.best.name, w.is_clear) for w in find_winners(values, "accuracy", 1.0)]
    [('labelled', 'pooled', True)]
    """
    sign = -1 if metric in LOWER_IS_BETTER else 1
    means = {e: sign * float(np.mean(list(found.values()))) for e, found in values.items() if found}
    first_two: dict[Regime, tuple[Entry, Entry]] = {}
    for regime in REGIMES:
        allowed = [entry for entry in means if sees_at_most(entry.regime, regime)]
        if len(allowed) > 1 and any(entry.regime == regime for entry in allowed):
            best, second, *_ = sorted(allowed, key=lambda entry: -means[entry])
            first_two[regime] = best, second
    pairs = {
        pair: compared(values[pair[0]], values[pair[1]], overlap)
        for pair in dict.fromkeys(first_two.values())
    }
    adjusted = dict(zip(pairs, holm([found.p_value for found in pairs.values()]), strict=True))
    return [
        Winner(regime, *pair, pairs[pair], adjusted[pair]) for regime, pair in first_two.items()
    ]


def compared(a: BySeed, b: BySeed, overlap: float) -> Difference:
    """Return how a differs from b at the seeds they share.

    Parameters
    ----------
    a, b
        Scores by seed.
    overlap
        n_T / n_V.
    """
    differences = [a[seed] - b[seed] for seed in sorted(a.keys() & b.keys())]
    if not differences:
        return Difference(UNKNOWN, None)
    p = None
    if len(differences) >= FEWEST_PAIRS:
        p = corrected_t(differences, 1.0, overlap).p_value
    return Difference(mean_interval(differences, overlap=overlap), p)


def beyond_noise(table: pd.DataFrame, names: Sequence[str], *, above: bool) -> list[str]:
    """Return the labels of those methods whose difference from plain training is beyond noise.

    Parameters
    ----------
    table
        What `summary_table` returned.
    names
        Methods to look at.
    above
        Whether those above plain training are asked for, or those below.
    """
    clear = table[table["method"].isin(names) & (table["adjusted_p_value"] < LEVEL)]
    side = clear["difference"] > 0 if above else clear["difference"] < 0
    return [str(label) for label in clear["label"][side]]


def _row(
    entry: Entry, found: BySeed, apart: Difference, adjusted: float | None, overlap: float
) -> dict[str, object]:
    each = list(found.values())
    mean = mean_interval(each, overlap=overlap) if each else UNKNOWN
    interval = Interval(0.0, 0.0, 0.0) if entry.name == BASELINE and each else apart.interval
    return {
        "method": entry.name,
        "label": entry.label,
        "regime": entry.regime,
        "n_seeds": len(each),
        "mean": mean.mean,
        "sd": float(np.std(each, ddof=1)) if len(each) > 1 else math.nan,
        "low": mean.low,
        "high": mean.high,
        "difference": interval.mean,
        "difference_low": interval.low,
        "difference_high": interval.high,
        "p_value": apart.p_value,
        "adjusted_p_value": adjusted,
    }
