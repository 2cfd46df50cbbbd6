"""Fragments at a glance: sizes, how well rows are told from those of V, and alarms."""

from collections.abc import Sequence
from typing import Literal

import pandas as pd

from firecv.charts import intervals
from firecv.diagnose.advice import MEDIUM
from firecv.report.drawing import Extra, figure
from firecv.report.fields import Fields
from firecv.report.markup import Markup
from firecv.report.numbers import count, decimals, p_value, percent, plural
from firecv.report.sections import bullets, paragraph, section
from firecv.report.tables import Cell, Column, Ids, known, number, table

Finding = Literal["shift", "no shift found", "too few rows to tell", "not tested"]

COLOURS: dict[Finding, str] = {
    "shift": "var(--series-1)",
    "no shift found": "var(--series-0)",
    "too few rows to tell": "var(--muted)",
}
MOST_DRAWN = 40
"""Fragments in a chart; tables hold all."""


def fragments_section(part: Fields, ids: Ids) -> Markup:
    """Return the section on fragments."""
    rows = by_auc(part)
    drawn = [row for row in rows if row.has("auc")]
    level = f"{100 * (part.number('level') or 0.0):g}\u00a0%"
    return section(
        "fragments",
        "Fragments at a glance",
        paragraph(
            "A classifier learned to tell the rows of a fragment from those of the validation set. "
            "AUC is how well it did on rows it had not seen: 0.5 is a coin toss, 1 tells every "
            "pair apart. “Shift” means an alarm: the classifier did better than chance by a test "
            f"that raises a false alarm in at most {level} of studies, over all fragments together "
            "(Holm's correction)."
        ),
        _chart(drawn[:MOST_DRAWN]) if drawn else Markup(""),
        paragraph(f"The chart shows the {MOST_DRAWN} fragments with the largest AUC.")
        if len(drawn) > MOST_DRAWN
        else Markup(""),
        _table(rows, ids),
        paragraph(together(part.inner("whole"))),
        bullets(part.texts("notes") if part.has("notes") else []),
    )


def by_auc(part: Fields) -> list[Fields]:
    """Return the fragments, those that are told from V best first, those not tested last."""
    rows = part.rows("fragments")
    return sorted(rows, key=lambda row: -auc if (auc := row.number("auc")) is not None else 1.0)


def finding(row: Fields) -> Finding:
    """Return what was found of a fragment, as `firecv.diagnose.advice` says it.

    Examples
    --------
    >>> finding(Fields("", {"alarm": False, "auc": 0.5, "detectable_auc": 0.8}))
    'too few rows to tell'
    """
    if row.flag("alarm"):
        return "shift"
    if row.number("auc") is None:
        return "not tested"
    detectable = row.number("detectable_auc")
    return (
        "no shift found"
        if detectable is not None and detectable <= MEDIUM
        else "too few rows to tell"
    )


def together(whole: Fields) -> str:
    """Return what was found of all fragments together."""
    start = "All fragments together against the validation set: "
    if whole.number("p_value") is None:
        why = whole.text("blank") if whole.has("blank") else ""
        return f"{start}not tested{f' ({why})' if why else ''}."
    said = "a difference" if whole.flag("alarm") else "no difference found"
    return (
        f"{start}{said} in what a network's predictions feel (p = "
        f"{p_value(whole.number('p_value'))}). Differences between fragments may cancel once all "
        f"are trained on together."
    )


def _chart(rows: Sequence[Fields]) -> Markup:
    frame = pd.DataFrame(
        [
            {
                "fragment": row.text("fragment"),
                "finding": finding(row),
                "mean": row.number("auc"),
                "low": row.number("auc_low"),
                "high": row.number("auc_high"),
            }
            for row in rows
        ]
    )
    label = "AUC with 95 % interval"
    chart = intervals(frame, title="", label=label, methods="fragment", colour="finding")
    found = [finding(row) for row in rows]
    words = (
        f"AUC of {plural(len(rows), 'fragment')} against the validation set; the largest is "
        f"{decimals(rows[0].number('auc'))} for {rows[0].text('fragment')}. "
        f"{plural(found.count('shift'), 'fragment')} raised an alarm. The table below has all "
        f"numbers."
    )
    caption = "Dots are AUCs, lines their 95 % intervals. The dashed line is chance."
    colours = {name: colour for name, colour in COLOURS.items() if name in found}
    return figure(chart, words, caption, Extra(line=0.5, colours=colours))


def _table(rows: Sequence[Fields], ids: Ids) -> Markup:
    columns = [
        Column("Fragment", "text"),
        Column("Finding", "text"),
        Column("AUC", note="95\u00a0% interval"),
        Column("Rows"),
        Column("p", note="Holm"),
        Column("Detectable", note="AUC, 4 in 5 times"),
        Column("KL", note="95\u00a0% interval"),
    ]
    # Rows in common are an accident, worth a column only where there is one.
    is_shared = any(row.number("shared_rate") for row in rows)
    columns += [Column("Shared", note="rows of V")] if is_shared else []
    return table(
        ids,
        "Every fragment against the validation set V",
        columns,
        [_row(row, is_shared=is_shared) for row in rows],
    )


def _row(row: Fields, *, is_shared: bool) -> list[Cell]:
    found: str = finding(row)
    if row.has("blank") and (why := row.text("blank")):
        found = f"{found}: {why}"
    return [
        Cell(row.text("fragment")),
        Cell(found),
        known(row, "auc"),
        number(row.number("n_rows"), count),
        number(row.number("adjusted_p_value"), p_value),
        number(row.number("detectable_auc"), decimals),
        known(row, "kl"),
        *([number(row.number("shared_rate"), percent)] if is_shared else []),
    ]
