"""Tables with a caption, scoped headers and a box of their own to scroll in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from firecv.report.fields import Fields
from firecv.report.markup import Markup, joined, tag
from firecv.report.numbers import decimals, estimate

TALL, LONG = 12, 24
"""Rows beyond which a table scrolls in a box, and characters beyond which a header wraps."""


@dataclass(frozen=True)
class Cell:
    """What a field of a table shows, and what rows are sorted by.

    Attributes
    ----------
    text
        Shown.
    order
        Sorted by; the text if it is None, and last if `is_blank`.
    is_blank
        Whether nothing is known.
    """

    text: str
    order: float | None = None
    is_blank: bool = False


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    label
        Its header.
    kind
        "number" stands to the right, "text" to the left.
    note
        A few words below the header, such as the unit.
    """

    label: str
    kind: Literal["number", "text"] = "number"
    note: str = ""


@dataclass
class Ids:
    """Ids that occur once on a page."""

    used: dict[str, int] = field(default_factory=dict[str, int])

    def new(self, word: str) -> str:
        """Return an id that starts with this word of ours."""
        self.used[word] = self.used.get(word, 0) + 1
        return f"{word}-{self.used[word]}"


def number(value: float | None, write: Callable[[float | None], str]) -> Cell:
    """Return a field with a number in it."""
    return Cell(write(value), value, is_blank=value is None)


def known(
    row: Fields,
    name: str,
    write: Callable[[float | None], str] = decimals,
    ends: tuple[str, str] | None = None,
) -> Cell:
    """Return a field with a number and its interval, under "name_low" and "name_high" if not said.

    Examples
    --------
    >>> known(Fields("", {"auc": 0.8, "auc_low": 0.7, "auc_high": 0.9}), "auc").text
    '0.80 (0.70 to 0.90)'
    """
    value, (low, high) = row.number(name), ends or (f"{name}_low", f"{name}_high")
    text = estimate(value, (row.number(low), row.number(high)), write)
    return Cell(text, value, is_blank=value is None)


def table(
    ids: Ids, caption: str, columns: Sequence[Column], rows: Sequence[Sequence[Cell]]
) -> Markup:
    """Return a table; the first field of a row names it.

    Parameters
    ----------
    ids
        Of the page.
    caption
        What the table shows.
    columns
        Headers.
    rows
        As many fields each as there are columns.

    Examples
    --------
    >>> found = table(Ids(), "Sizes", [Column("Site", "text"), Column("Rows")],
    ...               [[Cell("Kiel"), Cell("1,200", 1200)]])
    >>> '<th scope="row">Kiel</th><td class="number" data-order="1200">1,200</td>' in found
    True
    """
    name = ids.new("table")
    is_sortable = len(rows) > 1 and any(column.kind == "number" for column in columns[1:])
    head = [_header(column) for column in columns]
    body = [_row(columns, row) for row in rows]
    whole = tag(
        "table",
        {"class": "sortable" if is_sortable else "plain"},
        tag("caption", {"id": name}, caption),
        tag("thead", {}, tag("tr", {}, *head)),
        tag("tbody", {}, *body),
    )
    # Whoever has no mouse scrolls the box with the arrow keys, so it can be focused.
    scroll = "scroll tall" if len(rows) > TALL else "scroll"
    box = {"class": scroll, "role": "region", "aria-labelledby": name, "tabindex": "0"}
    return tag("div", box, whole)


def _header(column: Column) -> Markup:
    note = [tag("small", {}, column.note)] if column.note else []
    is_long = len(column.label) > LONG
    label = tag("span", {"class": "label long" if is_long else "label"}, column.label)
    return tag("th", {"scope": "col", "class": column.kind}, label, *note)


def _row(columns: Sequence[Column], row: Sequence[Cell]) -> Markup:
    first, *others = row
    kind = {"class": "number"} if columns[0].kind == "number" else {}
    cells = [tag("th", {"scope": "row", **kind, **_sorted_by(first)}, first.text)]
    for column, cell in zip(columns[1:], others, strict=True):
        cells.append(tag("td", {"class": column.kind, **_sorted_by(cell)}, cell.text))
    return tag("tr", {}, joined(cells))


def _sorted_by(cell: Cell) -> dict[str, str]:
    if cell.is_blank:
        return {"data-blank": ""}
    return {} if cell.order is None else {"data-order": f"{cell.order:.12g}"}
