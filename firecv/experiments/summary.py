"""What a table says: of every cell how many seeds, how good, how sure, and beside what.

Numbers are in the table's unit, percent where its values are shares. Nothing is run here, and what
is not stored is blank with a reason.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

import numpy as np

from firecv.errors import DataError, FileFormatError
from firecv.experiments.pairs import Comparison, Values, compare, read_values
from firecv.experiments.spec import Cell, Columns, Table
from firecv.experiments.winners import LEVEL, Winner, find_winners
from firecv.statistics import holm

HEADER = ["row", "column", "mean", "sd", "source", "note"]


@dataclass(frozen=True)
class Published:
    """A number of the paper, in the unit it is printed in.

    Attributes
    ----------
    mean, sd
        As printed; NaN where nothing is.
    source, note
        Where it stands, and what is odd about it.
    """

    mean: float
    sd: float
    source: str
    note: str


@dataclass(frozen=True)
class Summary:
    """What a cell says.

    Attributes
    ----------
    cell
        Its place, settings and regime.
    n_held, n_wanted, n_diverged
        Seeds stored, seeds asked for, and how many of the stored ones gave nothing finite.
    mean, sd, low, high
        Over the seeds that have not diverged, with a 95 % interval; NaN where there are too few.
    published, difference
        The paper's number, and ours less it; None where the paper has none.
    against
        How it differs from the rival of its row; None for the rival itself and where the two share
        no seed.
    p_value, p_holm
        Of the paired test against the rival, as it is and corrected for all tested cells of the
        table; None where nothing was tested.
    why
        Why it is blank, or "".
    """

    cell: Cell
    n_held: int
    n_wanted: int
    n_diverged: int
    mean: float
    sd: float
    low: float
    high: float
    published: Published | None
    difference: float | None
    against: Comparison | None
    p_value: float | None
    p_holm: float | None
    why: str

    @property
    def differs(self) -> bool:
        """Whether it differs from the rival at 5 % after correction."""
        return self.p_holm is not None and self.p_holm < LEVEL


@dataclass(frozen=True)
class TableSummary:
    """What a table says.

    Attributes
    ----------
    table
        The declaration.
    cells
        One for each of its cells, in their order.
    winners
        The best of each row for each regime that occurs in it.
    values
        What each filled cell holds, by row and column.
    """

    table: Table
    cells: tuple[Summary, ...]
    winners: tuple[Winner, ...]
    values: Mapping[tuple[str, str], Values]

    @cached_property
    def places(self) -> dict[tuple[str, str], Summary]:
        """Cells by row and column."""
        return {(each.cell.row, each.cell.column): each for each in self.cells}

    @cached_property
    def best(self) -> dict[tuple[str, str], Winner]:
        """By row and column the winners of the regime that they themselves belong to.

        A method that is alone in seeing as little is no winner.
        """
        return {
            (won.row, won.column): won
            for won in self.winners
            if won.runner_up and self.places[won.row, won.column].cell.regime == won.regime
        }


def summarise(
    table: Table,
    measured: Mapping[Cell, Columns],
    printed: Mapping[tuple[str, str], Published] | None = None,
) -> TableSummary:
    """Return what a table says, from what is stored of it.

    Parameters
    ----------
    table
        Its declaration.
    measured
        What is stored, by cell: as many seeds as there are, in any order.
    printed
        The paper's numbers; those the table names unless given.
    """
    if printed is None:
        printed = published(table.published) if table.published else {}
    values = {
        cell: read_values(columns, cell.metric, table.scale(cell), table.pairing)
        for cell in table.cells
        if (columns := measured.get(cell)) is not None and cell.metric in columns
    }
    against = _against_rival(table, values)
    p_values = {
        cell: found.p_value
        for cell, found in against.items()
        if cell.column in table.tested and cell.is_score
    }
    p_holm = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    cells = tuple(
        _summarise_cell(
            cell,
            values.get(cell),
            printed.get((cell.row, cell.column)),
            against.get(cell),
            (p_values.get(cell), p_holm.get(cell)),
            _why_blank(cell, measured.get(cell)),
        )
        for cell in table.cells
    )
    by_place = {(cell.row, cell.column): found for cell, found in values.items()}
    return TableSummary(table, cells, find_winners(table, values), by_place)


def published(name: str) -> dict[tuple[str, str], Published]:
    """Return the paper's numbers of one table by row and column.

    Parameters
    ----------
    name
        Of the file, without its ending.
    """
    folder = files("firecv.experiments") / "published"
    file = folder / f"{name}.csv"
    if not file.is_file():
        names = sorted(
            each.name.removesuffix(".csv")
            for each in folder.iterdir()
            if each.name.endswith(".csv")
        )
        raise DataError(f"there are no published numbers {name!r}; there are {', '.join(names)}")
    lines = csv.reader(file.read_text(encoding="utf-8").splitlines())
    header = next(lines, [])
    if header != HEADER:
        raise FileFormatError(f"{name}.csv starts with {header}; it must start with {HEADER}")
    found: dict[tuple[str, str], Published] = {}
    for number, line in enumerate(lines, 2):
        try:
            row, column, mean, sd, source, note = line
            entry = Published(float(mean or "nan"), float(sd or "nan"), source, note)
        except ValueError as error:
            raise FileFormatError(
                f"line {number} of {name}.csv is {line}; it must hold {', '.join(HEADER)}, with "
                f"numbers for mean and sd"
            ) from error
        if (row, column) in found:
            raise FileFormatError(f"{name}.csv has row {row!r}, column {column!r} twice; keep one")
        found[row, column] = entry
    return found


def _against_rival(table: Table, values: Mapping[Cell, Values]) -> dict[Cell, Comparison]:
    """Return how every cell differs from the rival of its row, where they measure the same."""
    rivals = {(c.row, c.metric): v for c, v in values.items() if c.column == table.rival}
    found = {
        cell: compare(own, rivals[cell.row, cell.metric], table.pairing)
        for cell, own in values.items()
        if cell.column != table.rival and (cell.row, cell.metric) in rivals
    }
    return {cell: comparison for cell, comparison in found.items() if comparison is not None}


def _summarise_cell(
    cell: Cell,
    values: Values | None,
    printed: Published | None,
    against: Comparison | None,
    p_values: tuple[float | None, float | None],
    why: str,
) -> Summary:
    values = values or Values({}, {}, 0)
    mean, low, high = values.interval()
    return Summary(
        cell=cell,
        n_held=len(values.by_seed) + values.n_diverged,
        n_wanted=cell.n_seeds,
        n_diverged=values.n_diverged,
        mean=mean,
        sd=values.sd(),
        low=low,
        high=high,
        published=printed,
        difference=None if printed is None or np.isnan(mean) else mean - printed.mean,
        against=against,
        p_value=p_values[0],
        p_holm=p_values[1],
        why=why,
    )


def _why_blank(cell: Cell, columns: Columns | None) -> str:
    """Return why there is nothing to show, or ""."""
    if columns is not None and len(columns.get("seed", ())):
        if cell.metric in columns:
            return ""
        names = ", ".join(name for name in columns if name != "seed")
        return f"its runs hold no {cell.metric!r}, only {names}"
    if cell.why or cell.setting is None:
        return cell.why or "there is nothing to run"
    return cell.setting.missing() or "not run yet"
