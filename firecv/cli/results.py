"""`firecv results`: how far each table is, and the folder that results are kept in."""

import json
from typing import Annotated

import typer

from firecv.cli.table import Results
from firecv.experiments import catalogue
from firecv.experiments.collect import Holdings
from firecv.experiments.standing import results_folder, todo
from firecv.experiments.store import Store
from firecv.experiments.watch import minutes

app = typer.Typer(help="Results of experiments: how far they are.", no_args_is_help=True)


@app.command(epilog="Examples: firecv results status; firecv results status --json")
def status(
    results: Results = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say of every table what is done, what is missing, and how long that would take."""
    store = Store(results_folder(results))
    lines = statuses(Holdings.of(store))
    if as_json:
        print(json.dumps(lines, indent=2))
        return
    width = max(len(str(line["table"])) for line in lines)
    for line in lines:
        print(
            f"{line['table']:{width}}  {line['protocol']:5}  {line['runs_done']:>4} runs done, "
            f"{line['runs_missing']:>4} missing (about {minutes(float(line['seconds_missing']))} "
            f"of one core), {line['blank_cells']} cells blank"
        )


@app.command(epilog="Example: firecv results pack")
def pack(results: Results = None) -> None:
    """Move finished runs into one file per kind of experiment."""
    store = Store(results_folder(results))
    print(f"packed {store.pack()} runs into {store.root}")


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
