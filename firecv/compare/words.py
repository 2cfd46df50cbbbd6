"""What a comparison says, in sentences and as a table of text."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from firecv.compare.entries import BASELINE, Entry
from firecv.compare.measure import Cell, Measured
from firecv.compare.prepare import Prepared, Protocol
from firecv.compare.summary import Winner, beyond_noise
from firecv.display import table
from firecv.models.scores import LOWER_IS_BETTER
from firecv.regimes import WORDS, sees_at_most
from firecv.statistics import FEWEST_PAIRS

PERCENT = frozenset({"accuracy", "balanced_accuracy"})
FEW_SCORED = 30
"""With fewer rows in T, what the interval can show is said."""


def amount(metric: str, value: float) -> str:
    """Return a score as a person writes it.

    Examples
    --------
    >>> amount("accuracy", 0.8125), amount("log_loss", 0.4321)
    ('81.2 %', '0.432')
    """
    if math.isnan(value):
        return "?"
    return f"{100 * value:.1f} %" if metric in PERCENT else f"{value:.3f}"


def gap(metric: str, value: float) -> str:
    """Return a difference of scores as a person writes it.

    Examples
    --------
    >>> gap("accuracy", 0.031), gap("auc", -0.02)
    ('3.1 points', '-0.020')
    """
    return f"{100 * value:.1f} points" if metric in PERCENT else f"{value:.3f}"


def winner_said(winner: Winner, entries: Sequence[Entry], table: pd.DataFrame, metric: str) -> str:
    """Return who wins a regime, or that nobody does, in a sentence or two.

    Parameters
    ----------
    winner
        The two best.
    entries
        All methods.
    table
        Their summary.
    metric
        What is scored.
    """
    means = dict(zip(table["method"], table["mean"], strict=True))
    best, second = (
        f"{entry.label} ({amount(metric, means[entry.name])})"
        for entry in (winner.best, winner.second)
    )
    among = f"Among methods that see at most {WORDS[winner.regime]}"
    if winner.regime == "none":
        among = f"Among methods that see {WORDS['none']}"
    if winner.adjusted_p_value is None:
        return f"{among}, {best} has the best mean, before {second}; no test was made."
    interval = winner.difference.interval
    near, far = sorted(map(abs, (interval.low, interval.high)))
    if winner.is_clear:
        span = f"{gap(metric, near).removesuffix(' points')} to {gap(metric, far)}"
        return (
            f"{among}, {best} is best: it is ahead of the second, {second}, by "
            f"{gap(metric, abs(interval.mean))} (95 % interval {span})."
        )
    allowed = [e.name for e in entries if sees_at_most(e.regime, winner.regime)]
    above = metric not in LOWER_IS_BETTER
    better = beyond_noise(table, allowed, above=above)
    worse = beyond_noise(table, allowed, above=not above)
    said = f"{among} there is no difference between the best beyond noise: {best} and {second}."
    said += f" Better than plain training: {', '.join(better)}." if better else ""
    said += f" Worse than plain training: {', '.join(worse)}." if worse else ""
    return said if better else f"{said} None is better than plain training beyond noise."


def remarks(
    prepared: Prepared,
    measured: Mapping[Cell, Measured],
    left_out: Sequence[Entry],
    protocol: Protocol,
) -> list[str]:
    """Return what a reader of the numbers must know besides.

    Parameters
    ----------
    prepared
        The data.
    measured
        What came of every training.
    left_out
        Methods that need labels of V that they may not see.
    protocol
        Which rows were scored.
    """
    n_seeds = len({cell.seed for cell in measured})
    seen, scored = prepared.rows(min(cell.seed for cell in measured), protocol)
    said = [_protocol_said(protocol, len(seen), len(scored), n_seeds)]
    if n_seeds < FEWEST_PAIRS:
        said.append(
            f"{_counted(n_seeds)} {'is' if n_seeds == 1 else 'are'} too few for a test; with "
            f"{FEWEST_PAIRS} or more there is one."
        )
    if len(scored) < FEW_SCORED:
        said.append(_few_said(len(scored), protocol))
    if len(np.unique(prepared.held_y)) == 1:
        said.append(
            "The validation set has one class only: accuracy is the share of it that is found, and "
            "a model that always names this class would be perfect."
        )
    return said + _data_said(prepared) + _methods_said(measured, left_out)


def text_table(summary: pd.DataFrame, metric: str) -> str:
    """Return the summary as aligned text.

    Parameters
    ----------
    summary
        What `summary_table` returned.
    metric
        What is scored.
    """
    wide = {
        "method": [str(label) for label in summary["label"]],
        "sees": [str(regime) for regime in summary["regime"]],
        "seeds": [str(n) for n in summary["n_seeds"]],
        metric.replace("_", " "): _spans(summary, ("mean", "low", "high"), metric),
        "above ERM": _spans(
            summary, ("difference", "difference_low", "difference_high"), metric, signed=True
        ),
        "p (Holm)": [
            "" if math.isnan(p) else f"{p:.2g}" for p in map(float, summary["adjusted_p_value"])
        ],
    }
    return table(wide)


def _spans(
    table: pd.DataFrame, names: tuple[str, str, str], metric: str, *, signed: bool = False
) -> list[str]:
    """Return means with their intervals, in percent or points where the metric is a share."""
    factor, digits = (100, 1) if metric in PERCENT else (1, 3)
    plus = "+" if signed else ""
    found: list[str] = []
    is_base = (signed & (table["method"] == BASELINE)).tolist()
    numbers = table[list(names)].astype(float).itertuples(index=False)
    for (mean, low, high), blank in zip(numbers, is_base, strict=True):
        span = f" [{factor * low:{plus}.{digits}f}, {factor * high:{plus}.{digits}f}]"
        known = "" if math.isnan(low) else span
        found.append(
            "" if math.isnan(mean) or blank else f"{factor * mean:{plus}.{digits}f}{known}"
        )
    return found


def _protocol_said(protocol: Protocol, n_seen: int, n_scored: int, n_seeds: int) -> str:
    if protocol == "paper":
        return (
            f"Methods were scored on the {n_scored} rows of the validation set that they may also "
            f"look at: scores of methods that do are optimistic, most of all with labels. "
            f"Intervals and tests are over seeds alone and say nothing of other rows."
        )
    return (
        f"Over {_counted(n_seeds)} the validation set was halved anew each time: {n_seen:,} rows "
        f"that methods look at as far as each may, and {n_scored:,} rows, which no method saw, "
        f"that are scored. Halves of different seeds share rows, and intervals and tests allow "
        f"for that."
    )


def _few_said(n_scored: int, protocol: Protocol) -> str:
    n_rows = n_scored if protocol == "paper" else 2 * n_scored
    half = 1.96 * math.sqrt(0.25 / n_rows)
    return (
        f"Only {n_scored} rows are scored at a time: one row is {100 / n_scored:.0f} points of "
        f"accuracy, and an accuracy near 50 % from all {n_rows} rows is known to about "
        f"{100 * half:.0f} points either way. Only large differences can be told; no difference "
        f"found does not mean that there is none."
    )


def _data_said(prepared: Prepared) -> list[str]:
    said: list[str] = []
    n_train, n_held = prepared.n_given
    if len(prepared.y) < n_train:
        said.append(
            f"Of {n_train:,} rows to train on {len(prepared.y):,} were drawn, the same share of "
            f"every class in every fragment."
        )
    if len(prepared.held_y) < n_held:
        said.append(
            f"Of {n_held:,} validation rows {len(prepared.held_y):,} were drawn, the same share of "
            f"every class."
        )
    if len(np.unique(prepared.fragments)) == 1:
        said.append(
            "There is one fragment, so that FIRE has none to weigh against another: 'fire' is "
            "plain training here."
        )
    return said


def _methods_said(measured: Mapping[Cell, Measured], left_out: Sequence[Entry]) -> list[str]:
    said: list[str] = []
    if left_out:
        names = ", ".join(entry.label for entry in left_out)
        said.append(f"Left out, since they need labels that methods may not see: {names}.")
    failures = Counter((c.entry.label, m.failed) for c, m in measured.items() if m.failed)
    said += [
        f"{label} failed at {_counted(n)}: {reason}" for (label, reason), n in failures.items()
    ]
    notices: dict[str, list[str]] = {}
    for cell, found in measured.items():
        notices.setdefault(cell.entry.label, []).extend(found.notices)
    said += [
        f"{label}, at {_counted(len(each))}: {each[0]}" for label, each in notices.items() if each
    ]
    return said


def _counted(n_seeds: int) -> str:
    return "1 seed" if n_seeds == 1 else f"{n_seeds} seeds"
