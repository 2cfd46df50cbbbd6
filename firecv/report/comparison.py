"""Methods side by side on the user's data."""

from collections.abc import Sequence

import pandas as pd

from firecv.charts import intervals
from firecv.report.drawing import Extra, figure
from firecv.report.fields import Fields
from firecv.report.markup import Markup, tag
from firecv.report.numbers import METRICS, Metric, count, metric, p_value, plural
from firecv.report.regime import ORDER, regime_cell, shown
from firecv.report.sections import bullets, paragraph, section
from firecv.report.tables import Cell, Column, Ids, known, number, table

REGIME_COLOURS = {name: f"var(--series-{at})" for at, name in enumerate(ORDER)}


def comparison_section(part: Fields, ids: Ids) -> Markup:
    """Return the section on methods."""
    how, baseline = metric(part.text("metric")), part.text("baseline")
    rows = _ordered(part.rows("summary"), how)
    title = "Which method does best"
    if not rows:
        return section("methods", title, paragraph("No method was compared."))
    names = _names(rows)
    control = next(
        (name for row, name in zip(rows, names, strict=True) if row.text("method") == baseline),
        None,
    )
    better = "less is better" if how.is_loss else "more is better"
    return section(
        "methods",
        title,
        _winners(part),
        bullets(remarks(part)),
        tag("h3", {}, f"Each method's {how.label}"),
        _means(rows, names, how, control),
        _summary(rows, names, how, control or baseline, ids),
        tag("h3", {}, f"Difference to {control or baseline}"),
        _differences(rows, names, how, control or baseline),
        tag("h3", {}, "All scores"),
        _scores(part, f"Means over seeds; the methods are judged by {how.label}, {better}", ids),
    )


def _ordered(rows: Sequence[Fields], how: Metric) -> list[Fields]:
    """Return methods by regime, the best of each first."""
    sign = 1 if how.is_loss else -1

    def place(row: Fields) -> tuple[int, float]:
        mean = row.number("mean")
        return ORDER.get(row.text("regime"), len(ORDER)), 1e300 if mean is None else sign * mean

    return sorted(rows, key=place)


def _names(rows: Sequence[Fields]) -> list[str]:
    """Return the labels of methods, with the regime where one occurs twice."""
    labels = [row.text("label") for row in rows]
    return [
        label if labels.count(label) == 1 else f"{label} ({shown(row.text('regime'))})"
        for label, row in zip(labels, rows, strict=True)
    ]


def conclusions(part: Fields) -> list[str]:
    """Return who wins each regime, or that nobody does."""
    return list(dict.fromkeys(row.text("said") for row in part.rows("winners")))


def remarks(part: Fields) -> list[str]:
    """Return what has to be known besides."""
    winners = conclusions(part)
    return [sentence for sentence in part.texts("said") if sentence not in winners]


def _winners(part: Fields) -> Markup:
    said = [
        tag("li", {}, tag("strong", {}, f"{shown(row.text('regime'))}: "), row.text("said"))
        for row in part.rows("winners")
    ]
    return tag("ul", {"class": "winners"}, *said) if said else Markup("")


def _means(
    rows: Sequence[Fields], names: Sequence[str], how: Metric, control: str | None
) -> Markup:
    frame = _frame(rows, names, ("mean", "low", "high"), how.factor)
    chart = intervals(
        frame, title="", label=how.axis, methods="method", colour="regime", baseline=control
    )
    first = min(zip(rows, names, strict=True), key=lambda each: _badness(each[0], how))
    words = (
        f"{how.label} of {plural(len(rows), 'method')} with 95 % intervals; the best mean is "
        f"{how.write(first[0].number('mean'))} of {first[1]}. The table below has all numbers."
    )
    caption = "Dots are means over seeds, lines 95 % intervals, colours what a method may see."
    if control is not None:
        caption += f" The dashed line is {control}."
    return figure(chart, words, caption, Extra(colours=_colours(rows)))


def _differences(rows: Sequence[Fields], names: Sequence[str], how: Metric, control: str) -> Markup:
    others = [
        (row, name)
        for row, name in zip(rows, names, strict=True)
        if row.has("difference") and name != control
    ]
    if not others:
        return paragraph("No differences are known.")
    chosen, labels = [row for row, _ in others], [name for _, name in others]
    ends = ("difference", "difference_low", "difference_high")
    frame = _frame(chosen, labels, ends, how.factor)
    label = f"difference in {how.points}"
    chart = intervals(frame, title="", label=label, methods="method", colour="regime")
    apart = [name for row, name in others if _is_apart(row)]
    clear = f"{len(apart)} of {len(others)} intervals leave out 0"
    words = f"Differences in {how.label} to {control}: {clear}. The table above has all numbers."
    side = "left" if how.is_loss else "right"
    caption = (
        f"Paired by seed, with 95 % intervals; to the {side} of the dashed line is better than "
        f"{control}. {clear}."
    )
    return figure(chart, words, caption, Extra(line=0.0, colours=_colours(chosen)))


def _summary(
    rows: Sequence[Fields], names: Sequence[str], how: Metric, control: str, ids: Ids
) -> Markup:
    columns = [
        Column("Method", "text"),
        Column(how.header, note=f"{'percent, ' if how.is_percent else ''}95\u00a0% interval"),
        Column("Difference", note=f"to {control}, {how.points}"),
        Column("p", note="by itself"),
        Column("p", note="Holm"),
        Column("Regime", "text"),
        Column("Seeds"),
    ]
    is_tested = any(row.has("p_value") for row in rows)
    note = "" if is_tested else " (without a test, which needs 10 seeds or more)"
    body = [_row(row, name, how) for row, name in zip(rows, names, strict=True)]
    return table(ids, f"Methods by regime, the best of each first{note}", columns, body)


def _row(row: Fields, name: str, how: Metric) -> list[Cell]:
    return [
        Cell(name),
        known(row, "mean", how.write_plain, ends=("low", "high")),
        known(row, "difference", how.write_difference),
        number(row.number("p_value"), p_value),
        number(row.number("adjusted_p_value"), p_value),
        regime_cell(row.text("regime")),
        number(row.number("n_seeds"), count),
    ]


def _scores(part: Fields, caption: str, ids: Ids) -> Markup:
    """Return the means of all metrics over seeds."""
    found: dict[tuple[str, str], list[Fields]] = {}
    for row in part.rows("scores"):
        found.setdefault((row.text("label"), row.text("regime")), []).append(row)
    columns = [Column("Method", "text"), *[Column(how.header) for how in METRICS.values()]]
    columns += [Column("Regime", "text"), Column("Seeds")]
    body: list[list[Cell]] = []
    for (label, regime), rows in found.items():
        cells = [number(_mean(rows, name), how.write) for name, how in METRICS.items()]
        body.append([Cell(label), *cells, regime_cell(regime), number(len(rows), count)])
    return table(ids, caption, columns, body)


def _mean(rows: Sequence[Fields], name: str) -> float | None:
    """Return the mean of what is known."""
    found = [value for row in rows if (value := row.number(name)) is not None]
    return sum(found) / len(found) if found else None


def _frame(
    rows: Sequence[Fields], names: Sequence[str], ends: tuple[str, str, str], factor: float
) -> pd.DataFrame:
    """Return what `intervals` draws; a mean without an interval is a dot alone."""
    lines: list[dict[str, str | float | None]] = []
    for row, name in zip(rows, names, strict=True):
        mean, low, high = (row.number(end) for end in ends)
        if mean is None:
            continue
        numbers = (mean, mean if low is None else low, mean if high is None else high)
        named = zip(("mean", "low", "high"), (factor * value for value in numbers), strict=True)
        lines.append({"method": name, "regime": shown(row.text("regime")), **dict(named)})
    return pd.DataFrame(lines)


def _colours(rows: Sequence[Fields]) -> dict[str, str]:
    seen = {row.text("regime") for row in rows}
    usual = {name: colour for name, colour in REGIME_COLOURS.items() if name in seen}
    found = {**usual, **{name: "var(--muted)" for name in sorted(seen - set(usual))}}
    return {shown(name): colour for name, colour in found.items()}


def _badness(row: Fields, how: Metric) -> float:
    mean = row.number("mean")
    return 1e300 if mean is None else mean if how.is_loss else -mean


def _is_apart(row: Fields) -> bool:
    """Return whether the interval of a difference leaves out 0."""
    low, high = row.number("difference_low"), row.number("difference_high")
    return low is not None and high is not None and (low > 0 or high < 0)
