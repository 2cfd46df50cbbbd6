"""What sections of the page are made of."""

from collections.abc import Iterable

from firecv.report.markup import Markup, tag
from firecv.report.parts import COMMANDS

ADDS = {
    "diagnosis": "whether fragments differ from the validation set, which of them, and in what",
    "comparison": "which method does best on these data",
    "federation": "how methods fare when the data stay where they are",
}


def section(name: str, title: str, *children: str) -> Markup:
    """Return a section with its heading; `name` is its id."""
    heading = f"{name}-heading"
    return tag(
        "section",
        {"id": name, "aria-labelledby": heading},
        tag("h2", {"id": heading}, title),
        *children,
    )


def paragraph(*children: str) -> Markup:
    """Return a paragraph."""
    return tag("p", {}, *children)


def bullets(sentences: Iterable[str]) -> Markup:
    """Return a list of sentences; nothing if there are none."""
    items = [tag("li", {}, sentence) for sentence in sentences]
    return tag("ul", {}, *items) if items else Markup("")


def missing(kind: str) -> Markup:
    """Return the line that says which command adds a part.

    Examples
    --------
    >>> "firecv compare" in missing("comparison")
    True
    """
    return tag(
        "p",
        {"class": "missing"},
        f"This folder does not say {ADDS[kind]}. To add it, run ",
        tag("code", {}, f"{COMMANDS[kind]} --out FOLDER"),
        " with this folder as FOLDER.",
    )
