"""A diagnosis as tidy data frames and as text."""

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from firecv.diagnose.advice import Advice
from firecv.diagnose.alarms import GlobalTest
from firecv.diagnose.bound import KLBound
from firecv.diagnose.features import FeatureShift
from firecv.diagnose.fisher_distance import FisherDistance
from firecv.diagnose.fragments import FragmentShift
from firecv.statistics import Interval

MOST_SHOWN = 3
"""Features of a fragment that the text names."""


def fragment_table(
    fragments: Sequence[FragmentShift],
    distances: Mapping[str, FisherDistance],
    bounds: Mapping[str, KLBound],
) -> pd.DataFrame:
    """Return one row per fragment; what is not known is NaN, and the columns blank_ say why."""
    return pd.DataFrame(
        [_fragment_row(each, distances[each.name], bounds[each.name]) for each in fragments]
    )


def feature_table(features: Sequence[FeatureShift]) -> pd.DataFrame:
    """Return one row per feature of a fragment, the most important of a fragment first.

    Examples
    --------
    >>> known = Interval(0.2, 0.1, 0.3)
    >>> list(feature_table([FeatureShift("A", "age", "age", known, known, 0.4)]).columns)[:5]
    ['fragment', 'feature', 'column', 'rank', 'importance']
    """
    ranks: dict[str, int] = {}
    rows: list[dict[str, str | float]] = []
    for each in features:
        ranks[each.fragment] = ranks.get(each.fragment, 0) + 1
        rows.append(
            {
                "fragment": each.fragment,
                "feature": each.feature,
                "column": each.column,
                "rank": ranks[each.fragment],
                **_spread("importance", each.importance),
                **_spread("difference", each.difference),
                "ks": each.ks,
            }
        )
    return pd.DataFrame(rows)


def text(
    fragments: Sequence[FragmentShift],
    features: Sequence[FeatureShift],
    whole: GlobalTest,
    advice: Advice,
    at_most: int,
) -> str:
    """Return the alarms, the features behind them, the global test and the advice."""
    width = max(len(each.name) for each in fragments)
    width = max(width, len("fragment"))
    lines = [f"{'fragment':<{width}}  {'rows':>9}  {'AUC (95 %)':<17}  {'KL':>6}  p (Holm)  alarm"]
    lines += [_line(each, width) for each in fragments]
    for name in advice.shifted:
        first, *others = [each for each in features if each.fragment == name][:MOST_SHOWN]
        top = [first, *(each for each in others if each.importance.low > 0)]
        lines.append(f"{name} differs in: {', '.join(map(_named, top))}")
    lines.append(_said(whole))
    if any(each.n_rows > each.n_used > 0 for each in fragments):
        lines.append(f"Classifiers looked at no more than {at_most:,} rows of a fragment and of V.")
    return "\n".join([f"Verdict: {advice.verdict}", "", *lines, "", str(advice)])


def _fragment_row(
    shift: FragmentShift, apart: FisherDistance, bound: KLBound
) -> dict[str, str | float]:
    return {
        "fragment": shift.name,
        "n_rows": shift.n_rows,
        "n_used": shift.n_used,
        "n_validation_used": shift.n_validation_used,
        "classifier": shift.classifier,
        **_spread("auc", shift.auc),
        **_spread("kl", shift.kl),
        **_spread("gamma", shift.gamma),
        "p_value": shift.p_value,
        "adjusted_p_value": shift.adjusted_p_value,
        "alarm": shift.alarm,
        "detectable_auc": shift.detectable_auc,
        "shared_rate": shift.shared_rate,
        "fisher_q": apart.q,
        "fisher_delta": apart.delta,
        "weight_distance": apart.distance,
        "gamma_below_one": bound.gamma_below_one,
        **{f"bound_{name}": value for name, value in bound.printed._asdict().items()},
        "bound_total": bound.total,
        **{f"proven_{name}": value for name, value in bound.proven._asdict().items()},
        "score_norm": bound.score,
        "beta": bound.beta,
        "blank": shift.blank,
        "blank_fisher": apart.blank,
    }


def _spread(name: str, interval: Interval) -> dict[str, float]:
    return {name: interval.mean, f"{name}_low": interval.low, f"{name}_high": interval.high}


def _line(shift: FragmentShift, width: int) -> str:
    start = f"{shift.name:<{width}}  {shift.n_rows:>9,}  "
    if shift.blank:
        return start + shift.blank
    auc = f"{shift.auc.mean:.2f} [{shift.auc.low:.2f}, {shift.auc.high:.2f}]"
    found = f"{shift.kl.mean:>6.2f}  {shift.adjusted_p_value:<8.2g}"
    return f"{start}{auc:<17}  {found}  {'yes' if shift.alarm else 'no'}"


def _named(shift: FeatureShift) -> str:
    most = f", most in {shift.column}" if shift.column != shift.feature else ""
    return f"{shift.feature} (AUC falls by {shift.importance.mean:.2f}{most})"


def _said(whole: GlobalTest) -> str:
    if whole.blank:
        return f"All fragments together against V: not tested, {whole.blank}"
    found = "differs" if whole.alarm else "not found to differ"
    degrees = "" if math.isnan(whole.degrees) else f", {whole.degrees:.1f} degrees of freedom"
    return f"V against all fragments together: {found} (p = {whole.p_value:.2g}{degrees})"
