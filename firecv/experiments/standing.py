"""What a table still lacks, and what it says from what is stored."""

import os
from dataclasses import dataclass
from pathlib import Path

from firecv.experiments import catalogue
from firecv.experiments.collect import Holdings
from firecv.experiments.estimates import Estimates, most_telling
from firecv.experiments.spec import Cell, Run, Table, expand
from firecv.experiments.summary import TableSummary, summarise

VARIABLE = "FIRECV_RESULTS"


def results_folder(given: Path | None = None) -> Path:
    """Return where results are kept: as given, else $FIRECV_RESULTS, else the folder results.

    Parameters
    ----------
    given
        The folder that the user names, if any.
    """
    return given or Path(os.environ.get(VARIABLE) or "results")


@dataclass(frozen=True)
class Todo:
    """What a table still lacks.

    Attributes
    ----------
    runs
        Runs to do, in their order.
    seconds
        CPU seconds they are expected to take.
    n_done
        Runs that are finished.
    blank
        Cells that cannot be run here, and why.
    """

    runs: tuple[Run, ...]
    seconds: float
    n_done: int
    blank: dict[Cell, str]


def todo(
    table: Table,
    holdings: Holdings,
    *,
    n_seeds: int | None = None,
    budget: float | None = None,
) -> Todo:
    """Return what a table still lacks.

    Parameters
    ----------
    table
        Its declaration.
    holdings
        What is stored.
    n_seeds
        How many seeds instead of each cell's own number.
    budget
        CPU minutes: only the most telling runs that fit are chosen.
    """
    blank = {
        cell: why
        for cell in table.cells
        if (why := cell.why or (cell.setting.missing() if cell.setting else ""))
    }
    able = [cell for cell in table.cells if cell not in blank and cell.setting is not None]
    runs = expand(able, n_seeds)
    done = {run.id for run in runs if holdings.has(run)}
    records = [record for found in holdings.records.values() for record in found]
    estimates = Estimates.of(records, (run.setting for run in runs))
    tested = [*table.tested, *([table.rival] if table.rival else [])]
    if budget is None:
        left = [run for run in runs if run.id not in done]
    else:
        left = most_telling(able, tested, done, estimates, 60 * budget, n_seeds)
    return Todo(tuple(left), sum(map(estimates.seconds, left)), len(done), blank)


def summary_of(table: Table, holdings: Holdings, n_seeds: int | None = None) -> TableSummary:
    """Return what a table says, from what is stored.

    Parameters
    ----------
    table
        Its declaration.
    holdings
        What is stored.
    n_seeds
        How many seeds instead of each cell's own number.
    """
    return summarise(table, holdings.measured(table.cells, n_seeds))


def statuses(holdings: Holdings) -> list[dict[str, str | int | float]]:
    """Return how far each table is, in both protocols."""
    found: list[dict[str, str | int | float]] = []
    for name, declared in catalogue.TABLES.items():
        for protocol in catalogue.PROTOCOLS:
            missing = todo(declared(protocol), holdings)
            found.append(
                {
                    "table": name,
                    "protocol": protocol,
                    "runs_done": missing.n_done,
                    "runs_missing": len(missing.runs),
                    "seconds_missing": round(missing.seconds, 1),
                    "blank_cells": len(missing.blank),
                }
            )
    return found
