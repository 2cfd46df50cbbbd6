"""A table in Markdown, as GitHub and MkDocs show it."""

from firecv.experiments.render.layout import Shown, lay_out
from firecv.experiments.summary import TableSummary

MEANINGS = {
    **{character: "\\" + character for character in "\\`*_{}[]"},
    **{character: f"&#{ord(character)};" for character in "&<>|~"},  # not all take a backslash
    "\n": " ",
}
TRANSLATION = str.maketrans(MEANINGS)


def markdown(summary: TableSummary) -> str:
    """Return a table in Markdown with its title and footnotes.

    Parameters
    ----------
    summary
        What the table says.
    """
    layout = lay_out(summary)
    heads = [
        f"{escape(column)}<br>{escape(regime)}"
        for column, regime in zip(layout.columns, layout.regimes, strict=True)
    ]
    lines = [_line(["", *heads]), _line(["---"] * (len(heads) + 1))]
    lines += [_line([escape(row), *map(_cell, cells)]) for row, cells in layout.rows]
    notes = [f"\\[{number}\\] {escape(note)}" for number, note in enumerate(layout.footnotes, 1)]
    closing = "  \n".join([*map(escape, layout.sentences), *notes])  # two blanks break a line
    return f"### {escape(layout.title)}\n\n" + "\n".join(lines) + f"\n\n{closing}\n"


def escape(words: str) -> str:
    """Return text that Markdown shows as it stands."""
    return words.translate(TRANSLATION)


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(shown: Shown) -> str:
    first = f"**{shown.ours}**" if shown.is_best else shown.ours
    notes = "".join(f"\\[{number}\\]" for number in shown.notes)
    first = " ".join(filter(None, [first + escape(shown.marks), notes]))
    return "<br>".join(filter(None, [first, shown.paper, shown.effect]))
