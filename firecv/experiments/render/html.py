"""A table in HTML: a fragment for a page of one's own, or a whole page that needs nothing else."""

from collections.abc import Sequence
from html import escape

from firecv.experiments.render.layout import Layout, Shown, lay_out
from firecv.experiments.summary import TableSummary

STYLE = """
body { font: 15px/1.45 system-ui, "Segoe UI", Arial, sans-serif; color: #222; background: #fff;
  margin: 2rem auto; max-width: 90rem; padding: 0 1rem; }
.results { margin-bottom: 3rem; }
.results h2 { font-size: 1.15rem; }
.results .wide { overflow-x: auto; }
.results table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.results th, .results td { padding: .35rem .8rem; text-align: left; vertical-align: top;
  white-space: nowrap; }
.results thead th { border-bottom: 2px solid #222; }
.results tbody tr { border-bottom: 1px solid #e2e2e2; }
.results tbody th { position: sticky; left: 0; background: #fff; font-weight: 600; }
.results .small { display: block; font-size: .82em; font-weight: 400; color: #666; }
.results footer { font-size: .85em; color: #444; max-width: 60rem; margin-top: .6rem; }
.results footer p { margin: .15rem 0; }
"""


def html(summary: TableSummary) -> str:
    """Return a table as a section of a page; `STYLE` is how it is meant to look.

    Intervals and p-values appear over a cell that is pointed at.

    Parameters
    ----------
    summary
        What the table says.
    """
    layout = lay_out(summary)
    body = "\n".join(
        f'<tr><th scope="row">{escape(row)}</th>{"".join(map(_cell, cells))}</tr>'
        for row, cells in layout.rows
    )
    return (
        f'<section class="results" id="{escape(layout.name)}">\n'
        f"<h2>{escape(layout.title)}</h2>\n"
        f'<div class="wide"><table>\n<thead>{_head(layout)}</thead>\n<tbody>\n{body}\n</tbody>\n'
        f"</table></div>\n<footer>\n{_closing(layout)}\n</footer>\n</section>\n"
    )


def page(summaries: Sequence[TableSummary], title: str) -> str:
    """Return a whole page of tables in one file that loads nothing.

    Parameters
    ----------
    summaries
        What each table says.
    title
        What the page is called.
    """
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n{''.join(map(html, summaries))}</body>\n</html>\n"
    )


def _head(layout: Layout) -> str:
    heads = [
        f'<th scope="col">{escape(column)}{_small(regime)}</th>'
        for column, regime in zip(layout.columns, layout.regimes, strict=True)
    ]
    return f"<tr><th></th>{''.join(heads)}</tr>"


def _cell(shown: Shown) -> str:
    first = escape(shown.ours)
    if shown.is_best:
        first = f"<b>{first}</b>"
    notes = "".join(f"[{number}]" for number in shown.notes)
    first = " ".join(filter(None, [first + shown.marks, notes]))
    detail = f' title="{escape(shown.detail)}"' if shown.detail else ""
    return f"<td{detail}>{first}{_small(shown.paper)}{_small(shown.effect)}</td>"


def _small(words: str) -> str:
    return f'<span class="small">{escape(words)}</span>' if words else ""


def _closing(layout: Layout) -> str:
    notes = [f"[{number}] {note}" for number, note in enumerate(layout.footnotes, 1)]
    return "\n".join(f"<p>{escape(line)}</p>" for line in (*layout.sentences, *notes))
