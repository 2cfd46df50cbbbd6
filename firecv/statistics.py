"""How sure a number is: intervals, paired tests, corrections, effects.

Values are plain sequences of finite numbers. What diverged is left out, and counted, by the caller.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.stats import rankdata

from firecv.errors import DataError

FEWEST_PAIRS = 10
"""The fewest pairs of a signed-rank test: five cannot give a two-sided p below 0.0625."""
N_EXACT = 50
"""The most pairs whose signed-rank distribution is counted out rather than approximated."""

Vector = NDArray[np.float64]


class Interval(NamedTuple):
    """A mean with the interval it is known to lie in; NaN bounds for a single value."""

    mean: float
    low: float
    high: float


class Verdict(NamedTuple):
    """What a two-sided test found."""

    statistic: float
    p_value: float


class Effect(NamedTuple):
    """How much a exceeds b, each with a 95 % interval.

    Attributes
    ----------
    points, points_low, points_high
        Mean of a - b, in the unit of the values: points where they are percent.
    relative, relative_low, relative_high
        Mean of a over mean of b, less one, in percent; NaN where the mean of b is not positive.
    """

    points: float
    points_low: float
    points_high: float
    relative: float
    relative_low: float
    relative_high: float


def mean_interval(
    values: Sequence[float], level: float = 0.95, *, overlap: float = 0.0
) -> Interval:
    """Return the mean with its Student t interval.

    Parameters
    ----------
    values
        Any number of them but none.
    level
        How often such intervals hold the true mean.
    overlap
        What values have in common, as `corrected_t` reckons it: n_test / n_train for the folds
        of repeated cross-validation, 0 for independent values.

    Examples
    --------
    Hours of sleep that a drug adds in ten patients (Student, 1908):

    >>> extra = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
    >>> ["%.2f" % bound for bound in mean_interval(extra)]
    ['1.58', '0.70', '2.46']
    """
    checked = _finite(values, "values", fewest=1)
    if not 0 < level < 1:
        raise DataError(f"level is {level}; give a number between 0 and 1, such as 0.95")
    mean = float(checked.mean())
    half = _half_width(checked, level, overlap)
    return Interval(mean, mean - half, mean + half)


def paired_wilcoxon(a: Sequence[float], b: Sequence[float]) -> Verdict:
    """Return the two-sided Wilcoxon signed-rank test of paired values.

    Differences of zero are ranked and then left out (Pratt, 1959), ties get their mean rank, and
    differences that agree to twelve digits count as tied. Up to 50 pairs the distribution of the
    statistic given these ranks is counted out; beyond, it is taken to be normal.

    Parameters
    ----------
    a, b
        At least ten pairs.

    Examples
    --------
    Heights of cross- and self-fertilised maize, in eighths of an inch (Darwin, 1876):

    >>> gain = [6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]
    >>> paired_wilcoxon(gain, [0] * 15)
    Verdict(statistic=24.0, p_value=0.041259765625)
    """
    first, second = _pairs(a, b, FEWEST_PAIRS)
    difference = _without_rounding(first - second, max(np.abs(first).max(), np.abs(second).max()))
    ranks = np.where(difference == 0, 0.0, rankdata(np.abs(difference)))
    up, down = float(ranks[difference > 0].sum()), float(ranks[difference < 0].sum())
    if up == down:
        return Verdict(up, 1.0)
    if len(difference) > N_EXACT:
        z = (up - down) / np.sqrt((ranks**2).sum())  # signs by coin: mean 0, variance of each rank²
        return Verdict(min(up, down), float(2 * special.ndtr(-abs(z))))
    return Verdict(min(up, down), _signed_rank_p(ranks, min(up, down)))


def corrected_t(differences: Sequence[float], n_train: float, n_test: float) -> Verdict:
    """Return the corrected resampled t test of differences over r repeats of k folds.

    Training sets overlap, so that differences are not independent: their variance counts
    1/(rk) + n_test/n_train times instead of 1/(rk) (Nadeau and Bengio, Machine Learning 52, 2003;
    for repeated folds Bouckaert and Frank, 2004).

    Parameters
    ----------
    differences
        One of two methods' scores on each fold of each repeat; at least two.
    n_train, n_test
        Samples that a model is trained on and scored on; only their ratio matters.

    Examples
    --------
    What ten independent numbers would make significant, ten folds do not:

    >>> gains = [1.0, 2.0, 0.5, -1.0, 3.0, 1.5, 0.0, 2.5, 1.0, -0.5]
    >>> "%.3f" % corrected_t(gains, 9, 0).p_value, "%.3f" % corrected_t(gains, 9, 1).p_value
    ('0.037', '0.126')
    """
    checked = _finite(differences, "differences", fewest=2)
    if not n_train > 0 or not n_test >= 0:
        raise DataError(
            f"n_train is {n_train} and n_test {n_test}; give the number of samples trained on, "
            f"above 0, and of those scored on"
        )
    mean = float(checked.mean())
    error = _standard_error(checked, n_test / n_train)
    if error <= 1e-12 * abs(mean):  # all the same but for rounding
        return Verdict(0.0, 1.0) if mean == 0 else Verdict(float(np.copysign(np.inf, mean)), 0.0)
    statistic = mean / error
    return Verdict(statistic, float(2 * special.stdtr(len(checked) - 1, -abs(statistic))))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values corrected for their number by Holm's step-down rule.

    None and NaN stand for tests that were not made; they stay and do not count.

    Parameters
    ----------
    p_values
        Of all tests of one family, in any order.

    Examples
    --------
    >>> holm([0.01, 0.04, None, 0.03, 0.005])
    [0.03, 0.06, None, 0.06, 0.02]
    """
    made = [(p, place) for place, p in enumerate(p_values) if p is not None and not np.isnan(p)]
    if wrong := [p for p, _ in made if not 0 <= p <= 1]:
        raise DataError(f"a p-value is {wrong[0]}; give numbers from 0 to 1, or None")
    corrected, least = list(p_values), 0.0
    for rank, (p, place) in enumerate(sorted(made)):
        least = max(least, min(1.0, (len(made) - rank) * p))
        corrected[place] = least
    return corrected


def effect(a: Sequence[float], b: Sequence[float], *, overlap: float = 0.0) -> Effect:
    """Return how much a exceeds b: in points and in percent of b, with 95 % intervals.

    The interval of the ratio of means is that of its linearisation, a - ratio * b.

    Parameters
    ----------
    a, b
        Paired values, such as scores of two methods at the same seeds.
    overlap
        As in `mean_interval`.

    Examples
    --------
    >>> found = effect([78.0, 79.0, 77.9], [74.5, 74.1, 74.9])
    >>> "%.1f points, %.1f %%" % (found.points, found.relative)
    '3.8 points, 5.1 %'
    """
    first, second = _pairs(a, b, 1)
    points = mean_interval((first - second).tolist(), overlap=overlap)
    base = float(second.mean())
    if base <= 0:
        return Effect(*points, *[float("nan")] * 3)
    ratio = float(first.mean()) / base
    half = _half_width(first - ratio * second, 0.95, overlap) / base
    return Effect(*points, *[100 * (bound - 1) for bound in (ratio, ratio - half, ratio + half)])


def _half_width(values: Vector, level: float, overlap: float) -> float:
    """Return half the width of the t interval of a mean."""
    if len(values) < 2:
        return float("nan")
    quantile = float(special.stdtrit(len(values) - 1, (1 + level) / 2))
    return quantile * _standard_error(values, overlap)


def _standard_error(values: Vector, overlap: float) -> float:
    return float(values.std(ddof=1) * np.sqrt(1 / len(values) + overlap))


def _signed_rank_p(ranks: Vector, statistic: float) -> float:
    """Return twice the chance that signs drawn by coin give at most this sum of ranks."""
    doubled = np.rint(2 * ranks[ranks > 0]).astype(np.int64)  # mean ranks of ties are halves
    chances = np.zeros(int(doubled.sum()) + 1)
    chances[0] = 1.0
    for rank in doubled:
        chances[rank:] = (chances[rank:] + chances[:-rank]) / 2
        chances[:rank] /= 2
    return min(1.0, float(2 * chances[: round(2 * statistic) + 1].sum()))


def _without_rounding(differences: Vector, largest: float) -> Vector:
    """Return differences to twelve digits of the values, so that 0.9 - 0.8 ties with 0.8 - 0.7."""
    if largest == 0:
        return differences
    grain = 1e-12 * largest
    return np.rint(differences / grain) * grain


def _pairs(a: Sequence[float], b: Sequence[float], fewest: int) -> tuple[Vector, Vector]:
    if len(a) != len(b):
        raise DataError(
            f"there are {len(a)} values of a and {len(b)} of b; give one of each for every pair"
        )
    return _finite(a, "pairs", fewest), _finite(b, "pairs", fewest)


def _finite(values: Sequence[float], what: str, fewest: int) -> Vector:
    checked = np.asarray(values, np.float64)
    if checked.ndim != 1:
        raise DataError(f"{what} have shape {checked.shape}; give a plain sequence of numbers")
    if len(checked) < fewest:
        raise DataError(f"there are {len(checked)} {what}; give at least {fewest}")
    if n_wrong := int((~np.isfinite(checked)).sum()):
        raise DataError(
            f"{n_wrong} of {len(checked)} {what} are NaN or infinite; leave out what diverged and "
            f"say how many"
        )
    return checked
