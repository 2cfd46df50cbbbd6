"""Whether a fragment differs from the validation set V, and whether V differs from all fragments.

*Per fragment.* Rows of both samples are dealt into blocks. Classifiers are trained on the first
block, the first two and so on, and each scores the next block. Without shift the labels of a
block's rows, fragment or V, are in random order whatever the blocks before it hold, so that
block's rank sum has Mann and Whitney's law, and sums over blocks add their variances. The choice
of the classifier is made on the first block. Usual folds do not have this: their classifiers learn
from each other's rows, and the variance of a mean over folds is up to twice the sum.

Blocks are joined with van Elteren's weights. The p-value is one-sided, for a classifier better than
chance, by the normal law with variance corrected for ties and half a step for continuity; levels
are measured in ``tests/diagnose/test_alarms.py``. Fragments share V, so their p-values depend on
each other, which Holm's correction allows.

*All fragments.* The calibrated test of `firecv.fire.shift_test` on Fisher sketches of a network
that was trained on other rows of the fragments. It is cautious with few rows: with 60 of V and 60
in each of two fragments it raised no false alarm in 300 splits at level 0.05, and found a shift of
all four features by half a standard deviation in a third of 60; with 300, in 15 of 15.

Mann and Whitney, Annals of Mathematical Statistics 18 (1947); van Elteren, Bulletin of the
International Statistical Institute 37 (1960).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from firecv.diagnose.classifier import Kind, Pair, chosen, fitted
from firecv.diagnose.network import Network
from firecv.fire.weigh import SketchSummary, shift_test, sketch_rows
from firecv.seeding import derive

FIRST = 1 / 3
"""Share of the rows in the first block."""
N_BLOCKS = 4
"""Blocks after it, of equal size."""
POWER = 0.8


@dataclass(frozen=True)
class Alarm:
    """What the test of one fragment found.

    Attributes
    ----------
    kind
        The classifier, as chosen on the first block.
    auc
        Of the blocks tested; below the cross-fitted one as a rule, for classifiers with fewer rows.
    error
        Standard error of the AUC without shift.
    p_value
        One-sided.
    """

    kind: Kind
    auc: float
    error: float
    p_value: float

    def detectable(self, level: float) -> float:
        """Return the AUC that a test at this level finds four times in five, 1 at the most.

        Examples
        --------
        >>> round(Alarm("linear", 0.5, 0.04, 0.5).detectable(0.05), 2)
        0.6
        """
        return min(0.5 + float(ndtri(1 - level) + ndtri(POWER)) * self.error, 1.0)


def alarm(pair: Pair, rng: np.random.Generator) -> Alarm:
    """Return the test that a fragment's rows can be told from those of V.

    Parameters
    ----------
    pair
        Rows of both samples, ten or more of each.
    rng
        Deals rows into blocks.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> same, other = rng.normal(size=(100, 3)), rng.normal(0.5, 1, (100, 3))
    >>> v = rng.normal(size=(100, 3))
    >>> alarm(Pair.of(same, v), rng).p_value > 0.05, alarm(Pair.of(other, v), rng).p_value < 0.001
    (True, True)
    """
    cuts = [FIRST + (1 - FIRST) * block / N_BLOCKS for block in range(N_BLOCKS)]
    seen, *blocks = pair.parts(cuts, rng)
    first = pair.take(seen)
    kind = chosen(first, rng)[0] if first.allows_trees() else "linear"
    sums: list[RankSum] = []
    for block in blocks:
        scores = fitted(kind, pair.take(seen), rng).log_ratio(pair.rows[block])
        sums.append(rank_sum(scores, pair.is_fragment[block]))
        seen = np.concatenate([seen, block])
    return _joined(kind, sums)


@dataclass(frozen=True)
class RankSum:
    """Pairs of a fragment row and a row of V in the right order, less half of all pairs.

    Attributes
    ----------
    excess
        Mann and Whitney's U less its mean without shift.
    variance
        Of U without shift, corrected for ties.
    n_pairs, n_rows
        Sizes.
    """

    excess: float
    variance: float
    n_pairs: int
    n_rows: int


def rank_sum(scores: NDArray[np.float64], is_fragment: NDArray[np.bool_]) -> RankSum:
    """Return how far fragment rows score above rows of V, and the law of that without shift.

    Examples
    --------
    >>> rank_sum(np.array([1.0, 2.0, 3.0, 4.0]), np.array([False, False, True, True])).excess
    2.0
    """
    ranks = np.asarray(rankdata(scores), np.float64)
    n, n_fragment = len(scores), int(is_fragment.sum())
    n_pairs = n_fragment * (n - n_fragment)
    excess = float(ranks[is_fragment].sum()) - n_fragment * (n + 1) / 2
    # Labels in random order: a sum of n_fragment ranks drawn without replacement.
    variance = n_pairs * float(ranks.var()) / max(n - 1, 1)
    return RankSum(excess, variance, n_pairs, n)


def _joined(kind: Kind, sums: Sequence[RankSum]) -> Alarm:
    """Return the test of all blocks together."""
    weights = [1 / (each.n_rows + 1) for each in sums]
    pairs = sum(w * each.n_pairs for w, each in zip(weights, sums, strict=True))
    excess = sum(w * each.excess for w, each in zip(weights, sums, strict=True))
    deviation = math.sqrt(sum(w**2 * each.variance for w, each in zip(weights, sums, strict=True)))
    untied = sum(w**2 * s.n_pairs * (s.n_rows + 1) / 12 for w, s in zip(weights, sums, strict=True))
    above = excess - min(weights) / 2  # a rank sum comes in steps: from the middle of a step on
    p_value = float(ndtr(-above / deviation)) if deviation > 0 else 1.0  # all scores are equal
    return Alarm(kind, 0.5 + excess / pairs, math.sqrt(untied) / pairs, p_value)


@dataclass(frozen=True)
class GlobalTest:
    """Whether V differs from all fragments together in what a network's predictions feel.

    Attributes
    ----------
    statistic, degrees, p_value
        As `firecv.fire.shift_test.ShiftTest` has them; NaN if the test was not made.
    alarm
        Whether the p-value is at or below the level.
    blank
        Why the test was not made; empty if it was.
    """

    statistic: float = math.nan
    degrees: float = math.nan
    p_value: float = math.nan
    alarm: bool = False
    blank: str = ""


def global_test(network: Network, *, seed: int, level: float) -> GlobalTest:
    """Return the shift test of V against the pooled fragments, on rows the network has not seen.

    Parameters
    ----------
    network
        Trained on other rows of the fragments.
    seed
        Of the sketch.
    level
        Rate of false alarms to allow.
    """
    summaries: list[SketchSummary] = []
    for name, (x, _) in network.held.items():
        rows = sketch_rows(network.task, x, seed=seed, rng=derive(seed, "diagnose", "sketch", name))
        summaries.append(SketchSummary.of_rows(rows, max(network.sizes[name], len(rows))))
    rng = derive(seed, "diagnose", "sketch of V")
    x = network.validation
    rows = sketch_rows(network.task, x, seed=seed, rng=rng, at_most=len(x))
    return GlobalTest(*shift_test(rows, summaries, level=level))
