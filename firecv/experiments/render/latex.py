"""A table in LaTeX, with the rules of the package booktabs and nothing else."""

from firecv.experiments.render.layout import Layout, Shown, lay_out
from firecv.experiments.summary import TableSummary

MEANINGS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "[": "{[}",  # after a row's end a bracket would be read as a length
    "±": r"$\pm$",
    "−": "$-$",
    "×": r"$\times$",
    "Δ": r"$\Delta$",
    "†": r"$^\dagger$",
    "λ": r"$\lambda$",
    "μ": r"$\mu$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "→": r"$\rightarrow$",
    "…": r"\ldots{}",
}
TRANSLATION = str.maketrans(MEANINGS)


def latex(summary: TableSummary) -> str:
    r"""Return a table environment; the document needs ``\usepackage{booktabs}``.

    Parameters
    ----------
    summary
        What the table says.
    """
    layout = lay_out(summary)
    body = [line for row, cells in layout.rows for line in _row(row, cells)]
    if body and body[-1] == r"\addlinespace":
        body.pop()
    notes = [f"{{[}}{number}] {escape(note)}" for number, note in enumerate(layout.footnotes, 1)]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering\small",
            rf"\caption{{{escape(layout.title)}}}",
            rf"\label{{tab:{layout.name}}}",
            rf"\begin{{tabular}}{{@{{}}l{'l' * len(layout.columns)}@{{}}}}",
            r"\toprule",
            *_heads(layout),
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            "",
            r"\smallskip\begin{minipage}{\linewidth}\footnotesize",
            "\\\\\n".join([*map(escape, layout.sentences), *notes]),
            r"\end{minipage}",
            r"\end{table}",
            "",
        ]
    )


def escape(words: str) -> str:
    """Return text that LaTeX sets as it stands."""
    return words.translate(TRANSLATION)


def _heads(layout: Layout) -> list[str]:
    small = [rf"{{\footnotesize {escape(regime)}}}" for regime in layout.regimes]
    return [_line(["", *map(escape, layout.columns)]), _line(["", *small])]


def _row(row: str, cells: tuple[Shown, ...]) -> list[str]:
    """Return a row of our numbers, and beneath it those of the paper and the differences."""
    lines = [_line([escape(row), *map(_ours, cells)])]
    for texts in ([cell.paper for cell in cells], [cell.effect for cell in cells]):
        if any(texts):
            small = [rf"{{\footnotesize {escape(each)}}}" if each else "" for each in texts]
            lines.append(_line(["", *small]))
    return [*lines, r"\addlinespace"] if len(lines) > 1 else lines


def _ours(shown: Shown) -> str:
    bold = rf"\textbf{{{escape(shown.ours)}}}" if shown.is_best else escape(shown.ours)
    notes = "".join(f"{{[}}{number}]" for number in shown.notes)
    return " ".join(filter(None, [bold + escape(shown.marks), notes]))


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
