"""Fragments against each other."""

from collections.abc import Sequence

import pandas as pd

from firecv.charts.matrix import matrix
from firecv.report.drawing import Extra, figure
from firecv.report.fields import Fields
from firecv.report.fragments import by_auc
from firecv.report.markup import Markup
from firecv.report.numbers import decimals, plural
from firecv.report.sections import paragraph, section
from firecv.report.tables import Cell, Column, Ids, number, table


def pairs_section(part: Fields, ids: Ids) -> Markup:
    """Return the section on pairs of fragments."""
    title = "Fragments against each other"
    known = [row for row in part.rows("pairs") if row.has("auc")]
    if not known:
        why = (
            "Fragments were not compared with each other: there is one only, there are more than "
            "40, or they have too few rows."
        )
        return section("pairs", title, paragraph(why))
    known.sort(key=lambda row: -(row.number("auc") or 0.0))
    return section(
        "pairs",
        title,
        paragraph(
            "How well rows of two fragments are told apart, by the same kind of classifier. "
            "Fragments that are like each other but unlike the rest may have a cause in common, "
            "such as a device. These numbers are described, not tested."
        ),
        _chart(known, [row.text("fragment") for row in by_auc(part)]),
        table(
            ids,
            "AUC of every pair of fragments",
            [Column("Pair", "text"), Column("AUC")],
            [
                [
                    Cell(f"{row.text('first')} and {row.text('second')}"),
                    number(row.number("auc"), decimals),
                ]
                for row in known
            ],
        ),
    )


def _chart(rows: Sequence[Fields], order: Sequence[str]) -> Markup:
    values = {(row.text("first"), row.text("second")): row.number("auc") for row in rows}
    values |= {(second, first): auc for (first, second), auc in values.items()}
    names = [name for name in order if any(name in pair for pair in values)]
    frame = pd.DataFrame(
        [
            {"fragment": first, "other fragment": second, "AUC": values.get((first, second))}
            for first in names
            for second in names
        ]
    )
    chart = matrix(
        frame,
        x="other fragment",
        y="fragment",
        value="AUC",
        domain=(0.5, 1.0),
        title="",
        x_label="fragment",
        label="AUC",
    )
    first = rows[0]
    words = (
        f"AUC of {plural(len(rows), 'pair')} of fragments; the largest is "
        f"{decimals(first.number('auc'))} between {first.text('first')} and "
        f"{first.text('second')}. The table below has all numbers."
    )
    caption = "Deeper is further apart: 0.5 is alike, 1 is told apart without fail."
    return figure(chart, words, caption, Extra(min_width=120 + 40 * len(names)))
