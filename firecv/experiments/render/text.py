"""A table for the terminal: with bold and grey if rich is at hand, else plain."""

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

from firecv.experiments.render.layout import Layout, Shown, lay_out
from firecv.experiments.summary import TableSummary

if TYPE_CHECKING:
    from rich.table import Table as RichTable

GAP = 3
WINNER = "«"


def text(summary: TableSummary, width: int | None = None) -> str:
    """Return a table in plain text, its columns in blocks that fit the width.

    Parameters
    ----------
    summary
        What the table says.
    width
        How many characters a line may have; any number unless given.
    """
    layout = lay_out(summary)
    blocks = [_plain_block(layout, block) for block in _blocks(layout, width)]
    closing = "\n".join(_closing(layout, f"Bold is written {WINNER}."))
    return "\n\n".join([layout.title, *blocks, closing]) + "\n"


def show(summary: TableSummary) -> None:
    """Print a table to the terminal, in blocks that fit its width.

    Parameters
    ----------
    summary
        What the table says.
    """
    try:
        from rich.console import Console
    except ImportError:
        print(text(summary, shutil.get_terminal_size().columns))
        return
    console = Console(highlight=False, markup=False, emoji=False)
    layout = lay_out(summary)
    console.print(layout.title, style="bold")
    for block in _blocks(layout, console.width - GAP):
        console.print(_rich_block(layout, block))
    for line in _closing(layout, ""):
        console.print(line, style="dim")


def _blocks(layout: Layout, width: int | None) -> Iterator[list[int]]:
    """Yield groups of columns that fit the width beside the names of rows, one at the least."""
    names = max(len(row) for row, _ in layout.rows) if layout.rows else 0
    block: list[int] = []
    used = names
    for column in range(len(layout.columns)):
        wide = _width(layout, column) + GAP
        if block and width is not None and used + wide > width:
            yield block
            block, used = [], names
        block.append(column)
        used += wide
    if block:
        yield block


def _width(layout: Layout, column: int) -> int:
    shown = [line for _, cells in layout.rows for line in _lines(cells[column])]
    return max(map(len, [layout.columns[column], layout.regimes[column], *shown]))


def _lines(cell: Shown, bold: str = WINNER) -> list[str]:
    """Return what stands in a cell, line by line; an empty one has a line too."""
    notes = "".join(f"[{number}]" for number in cell.notes)
    first = " ".join(filter(None, [cell.ours + cell.marks + bold * cell.is_best, notes]))
    return [first, *filter(None, [cell.paper, cell.effect])]


def _plain_block(layout: Layout, block: list[int]) -> str:
    names = max(len(row) for row, _ in layout.rows)
    widths = [_width(layout, column) for column in block]
    heads = [[layout.columns[c] for c in block], [layout.regimes[c] for c in block]]
    lines = [_plain_line("", texts, names, widths) for texts in heads]
    lines.append("-" * (names + sum(widths) + GAP * len(widths)))
    for row, cells in layout.rows:
        shown = [_lines(cells[column]) for column in block]
        for turn in range(max(map(len, shown))):
            texts = [each[turn] if turn < len(each) else "" for each in shown]
            lines.append(_plain_line("" if turn else row, texts, names, widths))
    return "\n".join(lines)


def _plain_line(name: str, texts: list[str], names: int, widths: list[int]) -> str:
    padded = [each.ljust(width) for each, width in zip(texts, widths, strict=True)]
    return (" " * GAP).join([name.ljust(names), *padded]).rstrip()


def _rich_block(layout: Layout, block: list[int]) -> "RichTable":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("")
    for column in block:
        head = Text(layout.columns[column]).append("\n" + layout.regimes[column], "dim")
        table.add_column(head, no_wrap=True)
    for row, cells in layout.rows:
        texts: list[Text] = []
        for column in block:
            first, *others = _lines(cells[column], bold="")
            shown = Text(first, "bold" if cells[column].is_best else "")
            texts.append(shown.append("".join(f"\n{line}" for line in others), "not bold dim"))
        table.add_row(Text(row), *texts)
    return table


def _closing(layout: Layout, winner: str) -> list[str]:
    has_winner = any(cell.is_best for _, cells in layout.rows for cell in cells)
    said = [winner] if winner and has_winner else []
    notes = [f"[{number}] {note}" for number, note in enumerate(layout.footnotes, 1)]
    return [*layout.sentences, *said, *notes]
