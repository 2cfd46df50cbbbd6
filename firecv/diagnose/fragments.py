"""One fragment against the validation set V in numbers, each with a 95 % interval.

With r the cross-fitted ratio of the fragment's density to V's, over rows of the fragment:

- *auc*: how well rows can be told apart; interval as in `firecv.diagnose.auc`.
- *kl*: mean of log r, which estimates KL(P_i || P_V); Student's t interval. A classifier that has
  learned chance gives a mean below 0, a coarse one too small a mean.
- *gamma*: the 0.99 quantile of |r - 1|; interval from order statistics, which holds for any law.
  There is no upper bound to it below some 370 rows. Of small samples it is mostly noise of the
  classifier: about 1 without any shift for 300 rows, 200 of V and five features.

Intervals of kl and gamma are for the classifiers at hand: they count the rows these are evaluated
on, not how the classifiers would vary with others to learn from.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from firecv.diagnose.alarms import Alarm, alarm
from firecv.diagnose.auc import auc_interval
from firecv.diagnose.classifier import CrossFitted, Pair, cross_fit
from firecv.diagnose.inputs import FEWEST_ROWS, drawn
from firecv.ratios.kernels import Samples
from firecv.seeding import derive
from firecv.statistics import Interval, mean_interval

QUANTILE = 0.99

Vector = NDArray[np.float64]
UNKNOWN = Interval(math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class FragmentShift:
    """How far a fragment is from V.

    Attributes
    ----------
    name
        Of the fragment.
    n_rows, n_used
        Rows of the fragment, and rows of it that were looked at.
    n_validation_used
        Rows of V that were looked at.
    classifier
        "linear" or "trees"; empty if none was fitted.
    auc, kl, gamma
        See above; NaN if the fragment is too small.
    p_value, adjusted_p_value
        Of the test that rows can be told apart, by itself and by Holm over all fragments.
    alarm
        Whether the adjusted p-value is at or below the level.
    detectable_auc
        The AUC that the test finds four times in five, with as many fragments.
    shared_rate
        Share of the rows of V looked at that are also rows of the fragment.
    blank
        Why there are no numbers; empty if there are.
    """

    name: str
    n_rows: int
    n_used: int
    n_validation_used: int
    classifier: str = ""
    auc: Interval = UNKNOWN
    kl: Interval = UNKNOWN
    gamma: Interval = UNKNOWN
    p_value: float = math.nan
    adjusted_p_value: float = math.nan
    alarm: bool = False
    detectable_auc: float = math.nan
    shared_rate: float = math.nan
    blank: str = ""


@dataclass(frozen=True)
class Compared:
    """Rows of a fragment and of V, the test and the cross-fitted classifiers."""

    pair: Pair
    test: Alarm
    fits: CrossFitted


def compare(
    name: str, fragment: Samples, validation: Samples, *, seed: int, at_most: int
) -> Compared | None:
    """Return the comparison of a fragment with V; None if the fragment is too small.

    Parameters
    ----------
    name
        Of the fragment; keys what is drawn.
    fragment, validation
        Rows.
    seed
        Of rows, blocks and folds.
    at_most
        Rows of either that are looked at.
    """
    if len(fragment) < FEWEST_ROWS:
        return None
    rows = drawn(fragment, at_most, derive(seed, "diagnose", "rows", name))
    held = drawn(validation, at_most, derive(seed, "diagnose", "rows of V"))
    pair = Pair.of(rows, held)
    test = alarm(pair, derive(seed, "diagnose", "blocks", name))
    return Compared(pair, test, cross_fit(pair, test.kind, derive(seed, "diagnose", "folds", name)))


def fragment_shift(name: str, n_rows: int, found: Compared) -> FragmentShift:
    """Return the numbers of one fragment, its p-value not yet adjusted.

    Parameters
    ----------
    name
        Of the fragment.
    n_rows
        Rows of the fragment.
    found
        What `compare` returned.
    """
    pair, fits = found.pair, found.fits
    log_ratio = fits.log_ratio[pair.is_fragment]
    return FragmentShift(
        name,
        n_rows,
        n_used=len(log_ratio),
        n_validation_used=int((~pair.is_fragment).sum()),
        classifier=found.test.kind,
        auc=auc_interval(fits.log_ratio, pair.is_fragment, fits.folds),
        kl=mean_interval(log_ratio.tolist()),
        gamma=quantile_interval(np.abs(np.expm1(log_ratio)), QUANTILE),
        p_value=found.test.p_value,
        shared_rate=_shared(pair),
    )


def quantile_interval(values: Vector, quantile: float, level: float = 0.95) -> Interval:
    """Return a quantile with an interval between order statistics; infinite where there is none.

    Parameters
    ----------
    values
        Independent draws of any law.
    quantile
        Which one.
    level
        How often, at least, such intervals hold the quantile.

    Examples
    --------
    >>> quantile_interval(np.arange(1.0, 101.0), 0.5)
    Interval(mean=50.5, low=40.0, high=61.0)
    """
    ordered, n = np.sort(values), len(values)
    below = int(binom.ppf((1 - level) / 2, n, quantile))
    above = int(binom.ppf((1 + level) / 2, n, quantile)) + 1
    low = float(ordered[below - 1]) if below else 0.0
    high = float(ordered[above - 1]) if above <= n else math.inf
    return Interval(float(np.quantile(values, quantile)), low, high)


def too_small(name: str, n_rows: int) -> FragmentShift:
    """Return a fragment without numbers, for it has too few rows."""
    reason = f"{n_rows} {'row' if n_rows == 1 else 'rows'}; {FEWEST_ROWS} or more are needed"
    return FragmentShift(name, n_rows, n_used=0, n_validation_used=0, blank=reason)


def _shared(pair: Pair) -> float:
    """Return the share of V's rows that are also rows of the fragment."""
    rows = np.ascontiguousarray(pair.rows + 0.0)  # so that -0 is 0
    fragment = {row.tobytes() for row in rows[pair.is_fragment]}
    held = rows[~pair.is_fragment]
    return sum(row.tobytes() in fragment for row in held) / len(held)
