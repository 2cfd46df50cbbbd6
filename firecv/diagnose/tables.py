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
from firecv.display import table, visible
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
    lines: list[str] = []
    for name in advice.shifted:
        first, *others = [each for each in features if each.fragment == name][:MOST_SHOWN]
        top = [first, *(each for each in others if each.importance.low > 0)]
        lines.append(f"{name} differs in: {', '.join(map(_named, top))}")
    lines.append(_said(whole))
    if any(each.n_rows > each.n_used > 0 for each in fragments):
        lines.append(f"Classifiers looked at no more than {at_most:,} rows of a fragment and of V.")
    lines += ["", *str(advice).splitlines()]
    return "\n".join([f"Verdict: {advice.verdict}", "", _alarms(fragments), *map(visible, lines)])


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


def _alarms(fragments: Sequence[FragmentShift]) -> str:
    """Return the table of fragments, with the reason where one was not tested."""
    rows = [
        {"fragment": each.name, "rows": f"{each.n_rows:,}", **_tested(each)} for each in fragments
    ]
    return table({name: [row[name] for row in rows] for name in rows[0]})


def _tested(shift: FragmentShift) -> dict[str, str]:
    if shift.blank:
        return {"AUC (95 %)": "", "KL": "", "p (Holm)": "", "alarm": shift.blank}
    return {
        "AUC (95 %)": f"{shift.auc.mean:.2f} [{shift.auc.low:.2f}, {shift.auc.high:.2f}]",
        "KL": f"{shift.kl.mean:.2f}",
        "p (Holm)": f"{shift.adjusted_p_value:.2g}",
        "alarm": "yes" if shift.alarm else "no",
    }


def _named(shift: FeatureShift) -> str:
    most = f", most in {shift.column}" if shift.column != shift.feature else ""
    return f"{shift.feature} (AUC falls by {shift.importance.mean:.2f}{most})"


def _said(whole: GlobalTest) -> str:
    if whole.blank:
        return f"All fragments together against V: not tested, {whole.blank}"
    found = "differs" if whole.alarm else "not found to differ"
    degrees = "" if math.isnan(whole.degrees) else f", {whole.degrees:.1f} degrees of freedom"
    return f"V against all fragments together: {found} (p = {whole.p_value:.2g}{degrees})"
