"""`firecv results`: how far each table is, and the folder that results are kept in."""

import json
from pathlib import Path
from typing import Annotated

import typer

from firecv.cli.table import Results
from firecv.cli.terminal import emit, say
from firecv.display import table
from firecv.experiments.collect import Holdings
from firecv.experiments.pages import pages as write_pages
from firecv.experiments.standing import results_folder, statuses
from firecv.experiments.store import Store
from firecv.experiments.watch import minutes
from firecv.files import write_atomically

MEMORY = Path("benchmarks/results/fisher.json")
app = typer.Typer(help="Results of experiments: how far they are.", no_args_is_help=True)


@app.command(epilog="Examples: firecv results status; firecv results status --json")
def status(
    results: Results = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say of every table what is done, what is missing, and how long that would take."""
    holdings = Holdings.of(Store(results_folder(results)))
    lines = statuses(holdings)
    if as_json:
        emit(json.dumps(lines, indent=2))
        return
    shown = [
        {
            "table": line["table"],
            "protocol": line["protocol"],
            "runs done": line["runs_done"],
            "missing": line["runs_missing"],
            "which take one core about": minutes(float(line["seconds_missing"])),
            "cells blank": line["blank_cells"],
        }
        for line in lines
    ]
    say(table({name: [str(line[name]) for line in shown] for name in shown[0]}))
    say(f"{holdings.n_runs} runs are stored, which took {holdings.seconds / 3600:.1f} core-hours")


@app.command(epilog="Example: firecv results pages --out docs")
def pages(
    out: Annotated[Path, typer.Option(help="Folder to write them to.")] = Path("docs"),
    results: Results = None,
) -> None:
    """Write the pages on the paper's claims and on where FIRE gains."""
    holdings = Holdings.of(Store(results_folder(results)))
    for name, words in write_pages(holdings, MEMORY).items():
        write_atomically(out / name, words)
        say(f"wrote {out / name}")


@app.command(epilog="Example: firecv results pack")
def pack(results: Results = None) -> None:
    """Move finished runs into one file per kind of experiment."""
    store = Store(results_folder(results))
    say(f"packed {store.pack()} runs into {store.root}")
