"""Which features tell a fragment from the validation set, and how far they are off."""

from collections.abc import Mapping, Sequence

import pandas as pd

from firecv.charts import bars
from firecv.charts.matrix import matrix
from firecv.report.drawing import Extra, figure
from firecv.report.fields import Fields
from firecv.report.fragments import by_auc, finding
from firecv.report.markup import Markup, tag
from firecv.report.numbers import UNKNOWN, decimals, plural
from firecv.report.sections import paragraph, section
from firecv.report.tables import Cell, Column, Ids, known, number, table

MOST_FRAGMENTS = 40
MOST_LISTED, MOST_DRAWN, MOST_IN_OVERVIEW = 30, 12, 20
"""Features of a fragment in its table and in its chart, and features in the overview."""

Grouped = Mapping[str, Sequence[Fields]]


def features_section(part: Fields, ids: Ids) -> Markup:
    """Return the section on features."""
    found = {row.text("fragment"): finding(row) for row in by_auc(part)}
    grouped: dict[str, list[Fields]] = {name: [] for name in found}
    for row in part.rows("features"):
        grouped.setdefault(row.text("fragment"), []).append(row)
    shown = {name: rows for name, rows in grouped.items() if rows}
    left_out = max(len(shown) - MOST_FRAGMENTS, 0)
    shown = dict(list(shown.items())[:MOST_FRAGMENTS])
    title = "Which features drive it"
    if not shown:
        return section("features", title, paragraph("No fragment had enough rows to say."))
    return section(
        "features",
        title,
        paragraph(
            "A feature drives the shift of a fragment if the classifier does worse once that "
            "feature is shuffled: its importance is the fall of the AUC. The difference says how "
            "far the fragment's mean lies from that of the validation set, in standard deviations; "
            "0.2 is small, 0.5 medium, 0.8 large."
        ),
        paragraph(_least(left_out)) if left_out else Markup(""),
        _overview(shown),
        tag("h3", {}, "One fragment at a time"),
        _choice(shown, found),
        *[_panel(at, name, rows, ids) for at, (name, rows) in enumerate(shown.items(), start=1)],
    )


def _least(left_out: int) -> str:
    return (
        f"The {MOST_FRAGMENTS} fragments with the largest AUC are shown; {left_out} more are in "
        f"diagnosis.json."
    )


def _overview(grouped: Grouped) -> Markup:
    """Return the importance of features in all fragments."""
    values = {
        (fragment, row.text("feature")): row.number("importance")
        for fragment, rows in grouped.items()
        for row in rows
    }
    best = _largest(values)
    if not best:
        return Markup("")
    frame = pd.DataFrame(
        [
            {"fragment": name, "feature": feature, "importance": values.get((name, feature))}
            for feature in best
            for name in grouped
        ]
    )
    first, most = next(iter(best.items()))
    chart = matrix(
        frame,
        x="fragment",
        y="feature",
        value="importance",
        domain=(0.0, max(0.1, most)),
        title="",
        x_label="fragment",
        label="importance",
    )
    words = (
        f"Importance of {plural(len(best), 'feature')} in {plural(len(grouped), 'fragment')}; the "
        f"largest is {decimals(most)} for {first}. The tables of the fragments below have all "
        f"numbers."
    )
    caption = (
        "Importance of a feature (beside) for a fragment (below): the fall of the AUC once the "
        "feature is shuffled. Deeper is more; about 0 is nothing."
    )
    return figure(chart, words, caption, Extra(min_width=150 + 40 * len(grouped)))


def _largest(values: Mapping[tuple[str, str], float | None]) -> dict[str, float]:
    """Return the features to show with their largest importance in any fragment, in its order."""
    best: dict[str, float] = {}
    for (_, feature), importance in values.items():
        if importance is not None:
            best[feature] = max(best.get(feature, importance), importance)
    ordered = sorted(best.items(), key=lambda each: -each[1])
    return dict(ordered[:MOST_IN_OVERVIEW])


def _choice(grouped: Grouped, found: Mapping[str, str]) -> Markup:
    """Return the control that picks a fragment; without JavaScript all are shown."""
    options = [
        tag("option", {"value": f"features-{at}"}, f"{name}: {found.get(name, UNKNOWN)}")
        for at, name in enumerate(grouped, start=1)
    ]
    return tag(
        "p",
        {"class": "control"},
        tag("label", {"for": "choose-fragment"}, "Fragment"),
        tag("select", {"id": "choose-fragment"}, *options),
    )


def _panel(at: int, name: str, rows: Sequence[Fields], ids: Ids) -> Markup:
    drawn = [row for row in rows[:MOST_DRAWN] if row.has("difference")]
    rest = len(rows) - MOST_LISTED
    more = f" ({MOST_LISTED} of {len(rows)}; the others are in diagnosis.json)" if rest > 0 else ""
    return tag(
        "div",
        {"class": "fragment", "id": f"features-{at}"},
        tag("h4", {}, name),
        _chart(name, drawn) if drawn else Markup(""),
        table(
            ids,
            f"Features of {name}, those that drive it most first{more}",
            [
                Column("Feature", "text"),
                Column("Importance", note="fall of AUC, 95\u00a0% interval"),
                Column("Difference", note="standard deviations, 95\u00a0% interval"),
                Column("KS", note="largest gap, 0 to 1"),
            ],
            [_row(row) for row in rows[:MOST_LISTED]],
        ),
    )


def _chart(name: str, rows: Sequence[Fields]) -> Markup:
    ends = ("difference", "difference_low", "difference_high")
    frame = pd.DataFrame(
        [{"feature": row.text("feature"), **{end: row.number(end) for end in ends}} for row in rows]
    )
    label = "difference in standard deviations"
    chart = bars(frame, title="", label=label, row="feature", value="difference")
    most = max(rows, key=lambda row: abs(row.number("difference") or 0.0))
    words = (
        f"Standardised differences of {plural(len(rows), 'feature')} between {name} and the "
        f"validation set; the largest is {decimals(most.number('difference'))} for "
        f"{most.text('feature')}. The table below has all numbers."
    )
    caption = (
        f"Mean of {name} less mean of the validation set, with 95 % intervals. Features with the "
        f"largest importance are on top."
    )
    return figure(chart, words, caption)


def _row(row: Fields) -> list[Cell]:
    return [
        Cell(row.text("feature")),
        known(row, "importance"),
        known(row, "difference"),
        number(row.number("ks"), decimals),
    ]
