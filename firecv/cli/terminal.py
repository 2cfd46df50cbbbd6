"""Where text meets the terminal: the one place in which commands print.

Names of columns, classes, sites and files come from whoever made the data. Here what would steer a
terminal is written out, and lines are broken to the terminal's width.
"""

import sys
from typing import TextIO

from firecv.display import terminal_width, visible, wrapped

INDENT = "  "
"""What the further lines of a message begin with, so that none looks like another message."""


def say(text: object) -> None:
    """Print a result, for people.

    Parameters
    ----------
    text
        What to print; its line breaks stay, so names in it are to be made visible before.
    """
    _write(str(text), sys.stdout)


def tell(message: object) -> None:
    """Print a message on standard error, after the name of the program.

    Parameters
    ----------
    message
        A sentence. Where it has several lines, all but the first are indented.
    """
    _write(f"firecv: {message}".replace("\n", f"\n{INDENT}"), sys.stderr)


def emit(text: str) -> None:
    """Print what programs read: unchanged, unless a terminal shows it.

    Parameters
    ----------
    text
        JSON, CSV or markup.
    """
    if sys.stdout.isatty():
        text = "\n".join(map(visible, text.split("\n")))
    print(text)


def _write(text: str, stream: TextIO) -> None:
    width = terminal_width(stream)
    lines = [visible(line) for line in text.split("\n")]
    if width is not None:
        lines = [part for line in lines for part in wrapped(line, width)]
    # Not every terminal knows every letter.
    code = stream.encoding or "utf-8"
    print("\n".join(lines).encode(code, "backslashreplace").decode(code), file=stream, flush=True)
