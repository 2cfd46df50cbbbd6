"""Tables for people: what a summary says, as text, Markdown, LaTeX, HTML or CSV."""

from collections.abc import Callable

from firecv.experiments.render.html import STYLE, html, page
from firecv.experiments.render.latex import latex
from firecv.experiments.render.markdown import markdown
from firecv.experiments.render.text import show, text
from firecv.experiments.render.tidy import csv, tidy
from firecv.experiments.summary import TableSummary

FORMATS: dict[str, Callable[[TableSummary], str]] = {
    "text": text,
    "markdown": markdown,
    "latex": latex,
    "html": html,
    "csv": csv,
}
"""How a table can be written; each gives the whole of it."""

__all__ = ["FORMATS", "STYLE", "csv", "html", "latex", "markdown", "page", "show", "text", "tidy"]
