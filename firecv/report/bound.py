"""Whether the assumptions of FIRE's bound hold for these fragments, and what it would say."""

from firecv.report.fields import Fields
from firecv.report.fragments import by_auc
from firecv.report.markup import Markup
from firecv.report.numbers import decimals, named
from firecv.report.sections import paragraph, section
from firecv.report.tables import Cell, Column, Ids, known, number, table

TERMS = {
    "gamma_squared": "γ² term",
    "gamma_cubed": "γ³ term",
    "mixed": "γδ² term",
    "cubic": "δ³ term",
}
"""Terms of the bound by their names in the file; δ is the distance of the weights."""


def bound_section(part: Fields, ids: Ids) -> Markup:
    """Return the section on the bound."""
    rows = [row for row in by_auc(part) if row.has("gamma")]
    title = "Do the bound's assumptions hold?"
    if not rows:
        return section("bound", title, paragraph("No fragment had enough rows to say."))
    return section(
        "bound",
        title,
        paragraph(_verdict(rows)),
        paragraph(
            "FIRE's bound limits the distance (KL) between a fragment and the validation set V. As "
            "printed it asks that hardly any row be twice as likely in the fragment as in V: γ, "
            "the 0.99 quantile of |ratio − 1|, has to be below 1. The constants that can be proven "
            "hold for any γ. All of it is estimated, most of it too small rather than too large, "
            "so the bound is no certificate; with few rows γ is mostly noise of the classifier."
        ),
        *_why_blank(rows),
        _printed(rows, ids),
        _proven(rows, ids),
    )


def _verdict(rows: list[Fields]) -> str:
    holds = [row.text("fragment") for row in rows if row.flag("gamma_below_one")]
    fails = [row.text("fragment") for row in rows if not row.flag("gamma_below_one")]
    if not fails:
        return f"γ is below 1 for every fragment tested ({len(rows)}): the printed bound is finite."
    start = f"γ is below 1 for {len(holds)} of {len(rows)} fragments tested"
    return f"{start}. For {named(fails)} it is not, and the printed bound says nothing there."


def _why_blank(rows: list[Fields]) -> list[Markup]:
    reasons = [row.text("blank_fisher") for row in rows if row.has("blank_fisher")]
    found = next((reason for reason in reasons if reason), "")
    return [paragraph(f"Some terms are not known: {found}.")] if found else []


def _printed(rows: list[Fields], ids: Ids) -> Markup:
    columns = [
        Column("Fragment", "text"),
        Column("γ below 1", "text"),
        Column("γ", note="95\u00a0% interval"),
        Column("Q", note="Fisher quadratic"),
        *[Column(term) for term in TERMS.values()],
        Column("Bound", note="with Q"),
    ]
    return table(
        ids, "The bound as printed, fragment by fragment", columns, [_row(r) for r in rows]
    )


def _proven(rows: list[Fields], ids: Ids) -> Markup:
    columns = [Column("Fragment", "text"), *[Column(term) for term in TERMS.values()]]
    body = [
        [
            Cell(row.text("fragment")),
            *[number(row.number(f"proven_{term}"), decimals) for term in TERMS],
        ]
        for row in rows
    ]
    return table(ids, "What is added to Q with constants that are proven", columns, body)


def _row(row: Fields) -> list[Cell]:
    is_below = row.flag("gamma_below_one")
    endless = set() if is_below else {"bound_gamma_squared", "bound_gamma_cubed", "bound_total"}
    names = [*[f"bound_{term}" for term in TERMS], "bound_total"]
    return [
        Cell(row.text("fragment")),
        Cell("yes" if is_below else "no"),
        known(row, "gamma"),
        number(row.number("fisher_q"), lambda value: decimals(value, 3)),
        *[
            Cell("infinite", 1e300) if name in endless else number(row.number(name), decimals)
            for name in names
        ],
    ]
