"""Which features a fragment differs in.

- *importance*: by how much the AUC of rows out of fold falls when a feature's values are shuffled
  among them; one value per fold, each the mean of three shuffles, and a t interval over folds that
  allows for their overlap (`firecv.statistics.mean_interval`). Features that carry the same shift
  stand in for each other, so that each alone may seem to matter little.
- *difference*: standardised mean difference, (mean of the fragment - mean of V) / common standard
  deviation, with the usual normal interval (Hedges and Olkin, 1985). Sees shifted means only.
- *ks*: Kolmogorov and Smirnov's largest gap between the two distribution functions, from 0 to 1.
  Sees any change of the one feature, none of the dependence between two.

A feature of several columns, such as a category with one column for each value, is shuffled as a
whole; its difference and its gap are those of the column in which they are largest.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from firecv.diagnose.auc import mean_auc
from firecv.diagnose.classifier import Fitted, Pair
from firecv.diagnose.fragments import UNKNOWN, Compared
from firecv.diagnose.inputs import Feature
from firecv.statistics import Interval, mean_interval

AT_MOST = 400
"""Rows of a fold that are shuffled; with more the AUC is hardly better known."""
N_SHUFFLES = 3
MOST_FEATURES = 100
"""Features that are shuffled, those with the largest `ks`; the others get no importance."""
BLOCK = 2**22
"""Numbers of shuffled rows held at once, 32 MiB."""

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class FeatureShift:
    """How far a fragment is from V in one feature.

    Attributes
    ----------
    fragment, feature
        Names.
    column
        The column of the feature with the largest `ks`.
    importance, difference, ks
        See above. The difference is infinite for two different constants; the importance is NaN
        for features that were not shuffled.
    """

    fragment: str
    feature: str
    column: str
    importance: Interval
    difference: Interval
    ks: float


def feature_shifts(
    name: str, features: Sequence[Feature], found: Compared, rng: np.random.Generator
) -> list[FeatureShift]:
    """Return all features of a fragment, the most important first.

    Parameters
    ----------
    name
        Of the fragment.
    features
        Names and columns of the features.
    found
        The fragment compared with V.
    rng
        Draws rows and shuffles them.
    """
    pair = found.pair
    sides = pair.rows[pair.is_fragment], pair.rows[~pair.is_fragment]
    gaps = np.array([ks(a, b) for a, b in zip(sides[0].T, sides[1].T, strict=True)])
    differences = mean_differences(*sides)
    largest = np.array([gaps[list(feature.columns)].max() for feature in features])
    shuffled = np.argsort(-largest, kind="stable")[:MOST_FEATURES]
    importances = _importances(found, [features[at].columns for at in shuffled], rng)
    of = dict(zip(shuffled.tolist(), importances, strict=True))
    shifts = [
        _shift(name, feature, of.get(at, UNKNOWN), differences, gaps)
        for at, feature in enumerate(features)
    ]
    return sorted(shifts, key=_order)


def ks(a: Vector, b: Vector) -> float:
    """Return the largest gap between the distribution functions of two samples.

    Examples
    --------
    >>> ks(np.array([1.0, 2.0, 3.0, 4.0]), np.array([3.0, 4.0, 5.0, 6.0]))
    0.5
    """
    values = np.sort(np.concatenate([a, b]))  # in order they are looked up several times as fast
    below = [
        np.searchsorted(np.sort(sample), values, side="right") / len(sample) for sample in (a, b)
    ]
    return float(np.abs(below[0] - below[1]).max())


def mean_differences(a: Matrix, b: Matrix) -> list[Interval]:
    """Return the standardised mean difference a - b of each column, with 95 % intervals.

    Examples
    --------
    >>> a, b = np.array([[1.0], [3.0]]), np.array([[0.0], [2.0]])
    >>> round(mean_differences(a, b)[0].mean, 4)  # 1 / sqrt(2)
    0.7071
    """
    n, m = len(a), len(b)
    gap = a.mean(0) - b.mean(0)
    degrees = max(n + m - 2, 1)
    spread = np.sqrt(((n - 1) * a.var(0, ddof=1) + (m - 1) * b.var(0, ddof=1)) / degrees)
    # Rounding gives a constant column some spread of its own.
    grain = 1e-12 * np.maximum(np.abs(a).max(0), np.abs(b).max(0))
    found: list[Interval] = []
    for difference, deviation, small in zip(gap, spread, grain, strict=True):
        if deviation <= small:
            d = 0.0 if abs(difference) <= small else math.copysign(math.inf, difference)
            found.append(Interval(d, d, d))
            continue
        d = float(difference / deviation)
        half = 1.96 * math.sqrt((n + m) / (n * m) + d**2 / (2 * (n + m)))
        found.append(Interval(d, d - half, d + half))
    return found


def _shift(
    name: str,
    feature: Feature,
    importance: Interval,
    differences: Sequence[Interval],
    gaps: Vector,
) -> FeatureShift:
    """Return one feature, with the numbers of the column in which they are largest."""
    at = max(range(len(feature.columns)), key=lambda place: gaps[feature.columns[place]])
    difference = max((differences[c] for c in feature.columns), key=lambda each: abs(each.mean))
    gap = float(gaps[feature.columns[at]])
    return FeatureShift(name, feature.name, feature.labels[at], importance, difference, gap)


def _importances(
    found: Compared, features: Sequence[tuple[int, ...]], rng: np.random.Generator
) -> list[Interval]:
    """Return the fall of the AUC for each feature, given by its columns."""
    folds = found.fits.folds
    drops = np.empty((len(folds), len(features)))
    for at, (held, model) in enumerate(zip(folds, found.fits.classifiers, strict=True)):
        used = found.pair.take(held)
        if len(held) > AT_MOST:
            share = AT_MOST / len(held)
            used = used.take(used.parts([share], rng)[0])
        drops[at] = _drops(used, model, features, rng)
    overlap = 1 / (len(folds) - 1)
    return [mean_interval(values.tolist(), overlap=overlap) for values in drops.T]


def _drops(
    pair: Pair, model: Fitted, features: Sequence[tuple[int, ...]], rng: np.random.Generator
) -> Vector:
    """Return the fall of one classifier's AUC, the mean of some shuffles, feature by feature."""
    everything = [np.arange(len(pair.rows))]
    whole = mean_auc(model.log_ratio(pair.rows), pair.is_fragment, everything)
    total = np.zeros(len(features))
    for _ in range(N_SHUFFLES):
        at = 0
        for block in _shuffled(pair.rows, features, rng):
            scores = model.log_ratio(block).reshape(-1, len(pair.rows))
            for row in scores:
                total[at] += whole - mean_auc(row, pair.is_fragment, everything)
                at += 1
    return total / N_SHUFFLES


def _shuffled(
    rows: Matrix, features: Sequence[tuple[int, ...]], rng: np.random.Generator
) -> Iterator[Matrix]:
    """Yield copies of all rows below each other, in each copy one feature shuffled."""
    per_block = max(BLOCK // rows.size, 1)
    for start in range(0, len(features), per_block):
        some = features[start : start + per_block]
        copies = np.repeat(rows[None], len(some), axis=0)
        for copy, columns in zip(copies, some, strict=True):
            copy[:, columns] = rows[rng.permutation(len(rows))][:, columns]
        yield copies.reshape(-1, rows.shape[1])


def _order(shift: FeatureShift) -> tuple[float, float]:
    """Return the key that puts the most important feature first."""
    drop = shift.importance.mean
    return (math.inf if math.isnan(drop) else -drop, -shift.ks)
