"""What every rendering shows, in words: heads, the lines of each cell, and footnotes."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from firecv.experiments.spec import Pairing, ProtocolName
from firecv.experiments.summary import Summary, TableSummary
from firecv.experiments.verdicts import verdicts

PROTOCOLS: dict[ProtocolName, str] = {
    "clean": "The score comes from a test set that no method has seen.",
    "paper": "The score is optimistic: the scored set is the validation set.",
}
TESTS: dict[Pairing, str] = {
    "seeds": "paired two-sided Wilcoxon signed-rank test over seeds",
    "folds": "corrected resampled t test over repeated folds",
    "targets": "paired two-sided Wilcoxon signed-rank test over targets and seeds",
}
SHOWN_WITH: dict[Pairing, str] = {
    "seeds": "10 or more shared seeds",
    "folds": "10 or more shared seeds",
    "targets": "10 or more shared pairs of target and seed",
}
DIFFERS, BEYOND_NOISE = "*", "†"


@dataclass(frozen=True)
class Shown:
    """A cell as it is shown.

    Attributes
    ----------
    ours, paper, effect
        Our number, the paper's, and the difference from the rival; "" where there is none.
    marks
        What stands after our number.
    notes
        Numbers of the footnotes on it.
    is_best
        Whether it is the best of those that see no more than it does.
    detail
        What does not fit in: interval and tests.
    """

    ours: str = ""
    paper: str = ""
    effect: str = ""
    marks: str = ""
    notes: tuple[int, ...] = ()
    is_best: bool = False
    detail: str = ""


@dataclass(frozen=True)
class Layout:
    """A table as it is shown.

    Attributes
    ----------
    name, title
        Of the table.
    columns, regimes
        What stands above each column: its name, and what its method sees of the validation set.
    rows
        Each row's name and cells, one per column.
    sentences
        What holds for the whole table.
    footnotes
        Numbered from 1, on single cells.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    regimes: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Shown, ...]], ...]
    sentences: tuple[str, ...]
    footnotes: tuple[str, ...]


def lay_out(summary: TableSummary) -> Layout:
    """Return what is shown of a table, in words that every format shares.

    Parameters
    ----------
    summary
        What the table says.
    """
    table = summary.table
    numbers: dict[str, int] = {}
    rows = tuple(
        (row, tuple(_show(summary, row, column, numbers) for column in table.columns))
        for row in table.rows
    )
    seen: dict[str, dict[str, None]] = {column: {} for column in table.columns}
    for cell in table.cells:
        seen[cell.column][cell.regime.replace("_", " ")] = None
    return Layout(
        table.name,
        table.title,
        table.columns,
        tuple(" / ".join(regimes) for regimes in seen.values()),
        rows,
        tuple(_sentences(summary)),
        tuple(numbers),
    )


def _show(summary: TableSummary, row: str, column: str, numbers: dict[str, int]) -> Shown:
    """Return a cell as it is shown; footnotes it needs are added to `numbers`."""
    found = summary.places.get((row, column))
    if found is None:
        return Shown()
    percent, best = summary.table.percent, summary.best.get((row, column))
    remarks = [found.why] if found.why else []
    if found.published is not None and found.published.note:
        remarks.append(f"in the paper: {found.published.note}")
    is_tested = column in summary.table.tested and found.cell.is_score
    beyond_noise = best is not None and bool(best.beyond_noise)
    return Shown(
        ours=_ours(found, percent),
        paper=_paper(found, percent),
        effect=_effect(found, percent) if is_tested else "",
        marks=DIFFERS * found.differs + BEYOND_NOISE * beyond_noise,
        notes=tuple(numbers.setdefault(remark, len(numbers) + 1) for remark in remarks),
        is_best=best is not None,
        detail=_detail(found, percent),
    )


def _ours(found: Summary, percent: bool) -> str:
    if not found.n_held:
        return ""
    seeds = str(found.n_held)
    if found.n_held < found.n_wanted:
        seeds += f"/{found.n_wanted}"
    if found.n_diverged == found.n_held:
        return f"diverged ({seeds})"
    if found.n_diverged:
        seeds += f", {found.n_diverged} diverged"
    return f"{_with_spread(found.mean, found.sd, percent)} ({seeds})"


def _paper(found: Summary, percent: bool) -> str:
    if found.published is None or math.isnan(found.published.mean):
        return ""
    number = _with_spread(found.published.mean, found.published.sd, percent)
    if found.difference is None:
        return f"paper {number}"
    return f"paper {number} ({_signed(found.difference, percent)})"


def _effect(found: Summary, percent: bool) -> str:
    if found.against is None:
        return ""
    effect = found.against.effect
    relative = "" if math.isnan(effect.relative) else f" ({_signed(effect.relative, True)} %)"
    return f"Δ {_signed(effect.points, percent)}{relative}"


def _detail(found: Summary, percent: bool) -> str:
    """Return interval and tests in one line."""
    parts: list[str] = []
    if not math.isnan(found.low):
        low, high = _number(found.low, percent), _number(found.high, percent)
        parts.append(f"95 % interval {low} to {high}")
    if found.p_value is not None and found.p_holm is not None:
        parts.append(f"p = {found.p_value:.2g}, after Holm {found.p_holm:.2g}")
    return "; ".join(parts)


def _number(value: float, percent: bool) -> str:
    text = f"{value:.1f}" if percent else f"{value:.4g}"
    return text.replace("-", "−")


def _with_spread(mean: float, sd: float, percent: bool) -> str:
    if math.isnan(sd):
        return _number(mean, percent)
    spread = (f"{sd:.1f}" if sd >= 1 else f"{sd:.2f}") if percent else f"{sd:.2g}"
    return f"{_number(mean, percent)} ± {spread}"


def _signed(value: float, percent: bool) -> str:
    sign = "" if value < 0 else "+"
    return sign + _number(value, percent)


def _sentences(summary: TableSummary) -> Iterator[str]:
    table = summary.table
    unit = " in percent" if table.percent else ""
    yield f"Mean ± standard deviation{unit} (seeds)."
    yield "Beneath each column: what its method sees of the validation set."
    if any(found.published is not None for found in summary.cells):
        yield "Beneath our number: the paper's (ours less the paper's)."
    if table.rival and table.tested:
        points = "points" if table.percent else "the same unit"
        yield (
            f"Δ: difference from {table.rival} in {points} (in percent of {table.rival}); "
            f"{DIFFERS}: p < 0.05 by the {TESTS[table.pairing]}, Holm-corrected over the tested "
            f"cells of the table, shown with {SHOWN_WITH[table.pairing]}."
        )
    if summary.best:
        yield (
            f"Bold: best of those that see no more of the validation set, cells with fewer seeds "
            f"than others of their row left out; {BEYOND_NOISE}: it differs from the second at "
            f"p < 0.05 by the same kind of test."
        )
    yield PROTOCOLS[table.protocol]
    yield from table.notes
    if table.verdicts:
        yield from (verdict.text() for verdict in verdicts(summary))
    if n_diverged := sum(found.n_diverged for found in summary.cells):
        runs = "1 run has" if n_diverged == 1 else f"{n_diverged} runs have"
        yield f"{runs} diverged; means are over the others."
