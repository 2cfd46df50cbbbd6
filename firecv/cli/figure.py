"""`firecv figure`: a figure of the paper or of our study."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from firecv.charts import save_chart
from firecv.cli.table import Results, complain, run_missing
from firecv.cli.terminal import tell
from firecv.experiments import catalogue
from firecv.experiments.collect import Holdings
from firecv.experiments.figures import FIGURES
from firecv.experiments.figures import figure as find_figure
from firecv.experiments.standing import results_folder, summary_of
from firecv.experiments.store import Store

EXAMPLES = "Examples: firecv figure batching --out batching.pdf; firecv figure rounds --no-run"


def figure(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(FIGURES)}.")],
    out: Annotated[
        Path | None, typer.Option(help="A .png, .svg, .pdf, .html or .json; NAME.png without it.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Seeds per point.")] = None,
    protocol: Annotated[
        Literal["clean", "paper"],
        typer.Option(help="Score on a test set of its own, or on V as the paper does."),
    ] = "clean",
    budget: Annotated[
        float | None, typer.Option(min=0, help="Minutes for what is missing.")
    ] = None,
    run: Annotated[
        bool, typer.Option(help="Do what is missing, or only draw what there is.")
    ] = True,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at a time, each on one core.")] = 1,
    results: Results = None,
) -> None:
    """Run what is missing of the tables behind a figure, and draw it."""
    found, store = find_figure(name), Store(results_folder(results))
    tables = {each: catalogue.table(each, protocol) for each in found.tables}
    if run:
        for table in tables.values():
            known = Holdings.of(store)
            complain(run_missing(table, store, known, seeds=seeds, budget=budget, jobs=jobs))
    holdings = Holdings.of(store)
    summaries = {each: summary_of(table, holdings, seeds) for each, table in tables.items()}
    path = out or Path(f"{name}.png")
    save_chart(found.draw(summaries), path)
    tell(f"wrote {path}")
