"""Text for people: names that cannot command a terminal, and tables that fit its width.

A table goes into as many columns as the terminal has, or `WIDTH` where there is none, such as in a
file: cells are wrapped, and columns that do not fit follow in a block of their own below. Sentences
are wrapped on a terminal alone, so that in a file each stays on its line.
"""

import os
import re
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

WIDTH = 120
"""Columns of a table where there is no terminal to ask."""
NARROWEST = 24
"""Columns that are used however narrow a terminal is: a name and a number need as many."""
MOST_LINES = 4
"""Lines of a cell; a longer text loses its middle."""
GAP = 2
JOINERS = "\u200c\u200d"
"""Format characters that words are spelled with, in Persian and Hindi for instance."""
_NUMBER = re.compile(r"[-+]?[\d,.]+(e[-+]?\d+)?( %)?|")


def visible(text: str) -> str:
    r"""Return a text with all that steers a terminal, or hides in it, written out.

    These are control characters, line breaks among them, characters that change the direction of
    text, and those that take no space.

    Examples
    --------
    >>> print(visible("\x1b[31mred\n\u202etxt"))
    \x1b[31mred\n\u202etxt
    """
    if text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode() if _is_hidden(char) else char for char in text
    )


def display_width(text: str) -> int:
    """Return how many columns of a terminal a visible text takes.

    Examples
    --------
    >>> display_width("Ulm"), display_width("東京"), display_width("e\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(map(_char_width, text))


def terminal_width(stream: TextIO | None = None) -> int | None:
    """Return the columns of the terminal that a stream is; None if it is none.

    The environment variable COLUMNS, where it is set, says it for every stream.

    Parameters
    ----------
    stream
        By default standard output.
    """
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return max(int(given), NARROWEST)
    output = stream or sys.stdout
    try:
        if not output.isatty():
            return None
        return max(os.get_terminal_size(output.fileno()).columns or 80, NARROWEST)
    except (OSError, ValueError):  # a stream without a file, or one that is closed
        return None


def wrapped(text: str, width: int) -> list[str]:
    """Return a visible text in lines of at most so many columns, broken between words if possible.

    Further lines are indented like the first, and those of an item of a list below its text.

    Examples
    --------
    >>> wrapped("- Kiel differs from V", 12)
    ['- Kiel', '  differs', '  from V']
    """
    if display_width(text) <= width:
        return [text]
    body = text.lstrip(" ")
    first = " " * min(len(text) - len(body), width // 2)
    rest = first + ("  " if body.startswith("- ") else "")
    lines, line = list[str](), first
    for word in body.split(" "):
        is_begun = line.strip(" ") != ""
        joined = f"{line} {word}" if is_begun else line + word
        if display_width(joined) <= width:
            line = joined
            continue
        if is_begun and line.strip(" ") != "-":
            lines.append(line)
            line = rest + word
        else:
            line = joined
        while display_width(line) > width:
            head, tail = _split(line, width)
            lines.append(head)
            line = rest + tail
    return [*lines, line]


def table(columns: Mapping[str, Sequence[str]], width: int | None = None) -> str:
    """Return columns of text side by side, numbers to the right.

    Parameters
    ----------
    columns
        Cells by the name of their column. The first column names rows, and is repeated if columns
        do not fit side by side.
    width
        Columns of the terminal; by default as many as it has, and `WIDTH` if there is none.

    Examples
    --------
    >>> print(table({"site": ["Ulm", "Bonn"], "rows": ["1,200", "80"], "alarm": ["yes", "no"]}))
    site   rows  alarm
    Ulm   1,200  yes
    Bonn     80  no
    >>> print(table({"site": ["Saint-Denis-en-Val"], "rows": ["80"], "p (Holm)": ["0.021"]}, 24))
    site            rows
    Saint-Denis-en    80
    -Val
    <BLANKLINE>
    site            p (Holm)
    Saint-Denis-en     0.021
    -Val
    """
    room = width or terminal_width() or WIDTH
    shown = [[visible(each) for each in (head, *cells)] for head, cells in columns.items()]
    widths = [max(map(display_width, column)) for column in shown]
    if sum(widths) + GAP * (len(widths) - 1) > room:
        widest = max(widths[1:], default=0)
        widths[0] = min(widths[0], max(room - widest - GAP, room // 3))
        widths[1:] = [min(each, room - widths[0] - GAP) for each in widths[1:]]
    cells = [
        _column(column, each, is_left=k == 0)
        for k, (column, each) in enumerate(zip(shown, widths, strict=True))
    ]
    return "\n\n".join(_block([cells[k] for k in block]) for block in _blocks(widths, room))


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") and char not in JOINERS


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _split(text: str, width: int) -> tuple[str, str]:
    """Return the beginning of a text that takes so many columns at most, and the rest."""
    used = 0
    for place, char in enumerate(text):
        used += _char_width(char)
        if used > width:
            return text[:place], text[place:]
    return text, ""


def _column(texts: Sequence[str], width: int, *, is_left: bool) -> list[list[str]]:
    """Return the lines of every cell, the head's first, each as wide as the column."""
    is_left = is_left or not all(_NUMBER.fullmatch(text) for text in texts[1:])
    found: list[list[str]] = []
    for text in texts:
        lines = wrapped(text, width)
        if len(lines) > MOST_LINES:
            half = MOST_LINES // 2
            lines = [*lines[:half], "...", *lines[-half:]]
        blanks = [" " * (width - display_width(line)) for line in lines]
        found.append(
            [
                line + blank if is_left else blank + line
                for line, blank in zip(lines, blanks, strict=True)
            ]
        )
    return found


def _blocks(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    """Yield groups of columns that fit, each with the first column before it."""
    block, used = [0], widths[0]
    for k, width in enumerate(widths[1:], start=1):
        if len(block) > 1 and used + GAP + width > room:
            yield block
            block, used = [0], widths[0]
        block.append(k)
        used += GAP + width
    yield block


def _block(columns: Sequence[list[list[str]]]) -> str:
    lines: list[str] = []
    for row in zip(*columns, strict=True):
        for turn in range(max(map(len, row))):
            cells = (
                cell[turn] if turn < len(cell) else " " * display_width(cell[0]) for cell in row
            )
            lines.append((" " * GAP).join(cells).rstrip())
    return "\n".join(lines)
