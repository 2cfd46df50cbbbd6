"""A table for the terminal: with bold and grey if rich is at hand, else plain."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from firecv.display import WIDTH, display_width, terminal_width, visible, wrapped
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
    layout = _visible(lay_out(summary))
    blocks = [_plain_block(layout, block, width) for block in _blocks(layout, width)]
    title, closing = [layout.title], _closing(layout, f"Bold is written {WINNER}.")
    if width is not None:
        title, closing = (
            [part for line in lines for part in wrapped(line, width)] for lines in (title, closing)
        )
    return "\n\n".join(["\n".join(title), *blocks, "\n".join(closing)]) + "\n"


def show(summary: TableSummary) -> None:
    """Print a table in blocks that fit the width of the terminal, or `WIDTH` if there is none.

    Parameters
    ----------
    summary
        What the table says.
    """
    width = terminal_width() or WIDTH
    try:
        from rich.console import Console
    except ImportError:
        print(text(summary, width))
        return
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    layout = _visible(lay_out(summary))
    console.print(layout.title, style="bold")
    for block in _blocks(layout, console.width - GAP):
        console.print(_rich_block(layout, block))
    for line in _closing(layout, ""):
        console.print(line, style="dim")


def _blocks(layout: Layout, width: int | None) -> Iterator[list[int]]:
    """Yield groups of columns that fit the width beside the names of rows, one at the least."""
    names = _names(layout, width)
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


def _visible(layout: Layout) -> Layout:
    """Return a layout whose names and remarks cannot steer a terminal."""
    return replace(
        layout,
        title=visible(layout.title),
        columns=tuple(map(visible, layout.columns)),
        rows=tuple((visible(row), cells) for row, cells in layout.rows),
        sentences=tuple(map(visible, layout.sentences)),
        footnotes=tuple(map(visible, layout.footnotes)),
    )


def _names(layout: Layout, width: int | None) -> int:
    """Return how wide the names of rows are: what columns leave, a third of the width at least."""
    longest = max((display_width(row) for row, _ in layout.rows), default=0)
    if width is None:
        return longest
    widest = max((_width(layout, column) for column in range(len(layout.columns))), default=0)
    return min(longest, max(width - GAP - widest, width // 3))


def _width(layout: Layout, column: int) -> int:
    shown = [line for _, cells in layout.rows for line in _lines(cells[column])]
    return max(map(display_width, [layout.columns[column], layout.regimes[column], *shown]))


def _lines(cell: Shown, bold: str = WINNER) -> list[str]:
    """Return what stands in a cell, line by line; an empty one has a line too."""
    notes = "".join(f"[{number}]" for number in cell.notes)
    first = " ".join(filter(None, [cell.ours + cell.marks + bold * cell.is_best, notes]))
    return [first, *filter(None, [cell.paper, cell.effect])]


def _plain_block(layout: Layout, block: list[int], width: int | None) -> str:
    names, widths = _names(layout, width), [_width(layout, column) for column in block]
    if width is not None:
        widths = [min(each, width - GAP - names) for each in widths]
    heads = [[layout.columns[c], layout.regimes[c]] for c in block]
    lines = _plain_lines([[""], *heads], [names, *widths])
    lines.append("-" * (names + sum(widths) + GAP * len(widths)))
    for row, cells in layout.rows:
        shown = [_lines(cells[column]) for column in block]
        lines += _plain_lines([[row], *shown], [names, *widths])
    return "\n".join(lines)


def _plain_lines(cells: list[list[str]], widths: list[int]) -> list[str]:
    """Return cells side by side, each wrapped to its width."""
    broken = [
        [part for line in cell for part in wrapped(line, width)]
        for cell, width in zip(cells, widths, strict=True)
    ]
    found: list[str] = []
    for turn in range(max(map(len, broken))):
        texts = [cell[turn] if turn < len(cell) else "" for cell in broken]
        padded = (
            text + " " * (width - display_width(text))
            for text, width in zip(texts, widths, strict=True)
        )
        found.append((" " * GAP).join(padded).rstrip())
    return found


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
