"""`firecv table`: a table of the paper or of our study, run as far as it is missing, and shown."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from firecv.cli.terminal import emit, tell
from firecv.errors import FirecvError
from firecv.experiments import catalogue
from firecv.experiments.collect import Holdings
from firecv.experiments.engines import Engine
from firecv.experiments.render import FORMATS, page, show
from firecv.experiments.runner import Outcome, carry_out
from firecv.experiments.spec import Table
from firecv.experiments.standing import Todo, results_folder, summary_of, todo
from firecv.experiments.store import Store
from firecv.experiments.summary import TableSummary
from firecv.experiments.watch import minutes
from firecv.files import write_atomically

EXAMPLES = (
    "Examples: firecv table rotated --budget 10; firecv table folds-fire --cells 'Bupa/*' "
    "--seeds 10; firecv table selection --no-run --format latex --out selection.tex"
)
Results = Annotated[
    Path | None,
    typer.Option(help="Folder of results; $FIRECV_RESULTS or ./results without it."),
]


def table(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(catalogue.TABLES)}.")],
    cells: Annotated[
        list[str] | None, typer.Option(help="Only cells 'row/column' like this; * fits anything.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Seeds per cell.")] = None,
    protocol: Annotated[
        Literal["clean", "paper"],
        typer.Option(help="Score on a test set of its own, or on V as the paper does."),
    ] = "clean",
    budget: Annotated[
        float | None,
        typer.Option(min=0, help="Minutes: only the most telling runs that fit are done."),
    ] = None,
    run: Annotated[
        bool, typer.Option(help="Do what is missing, or only show what there is.")
    ] = True,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at a time, each on one core.")] = 1,
    engine: Annotated[
        Literal["loky", "dask", "ray"], typer.Option(help="Who runs the processes.")
    ] = "loky",
    cluster: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler or a Ray head.")
    ] = None,
    results: Results = None,
    format: Annotated[
        Literal["text", "markdown", "latex", "html", "csv"], typer.Option(help="How to write it.")
    ] = "text",
    out: Annotated[Path | None, typer.Option(help="File to write it to.")] = None,
) -> None:
    """Run what is missing of a table, as far as the data are here, and show it."""
    whole, store = catalogue.table(name, protocol), Store(results_folder(results))
    declared, outcome = replace(whole, cells=whole.chosen(cells or [])), Outcome()
    holdings = Holdings.of(store)
    if run:
        outcome = run_missing(
            declared,
            store,
            holdings,
            seeds=seeds,
            budget=budget,
            jobs=jobs,
            engine=engine,
            cluster=cluster,
        )
    if outcome.n_done or outcome.n_elsewhere:
        holdings = Holdings.of(store)
    _write(summary_of(declared, holdings, seeds), format, out)
    complain(outcome)


def run_missing(
    declared: Table,
    store: Store,
    holdings: Holdings,
    *,
    seeds: int | None = None,
    budget: float | None = None,
    jobs: int = 1,
    engine: Engine = "loky",
    cluster: str | None = None,
) -> Outcome:
    """Say what a table lacks and how long that takes, and do it."""
    cpu = None if budget is None else budget * jobs
    missing = todo(declared, holdings, n_seeds=seeds, budget=cpu)
    _announce(missing)
    return carry_out(
        missing.runs, store, n_jobs=jobs, engine=engine, cluster=cluster, minutes=budget
    )


def _announce(missing: Todo) -> None:
    n, done = len(missing.runs), missing.n_done
    if n:
        tell(
            f"{n} runs to do, {done} done; about {minutes(missing.seconds)} of one core. "
            f"Ctrl-C keeps what is finished."
        )


def _write(summary: TableSummary, format: str, out: Path | None) -> None:
    if out is None and format == "text":
        show(summary)
        return
    words = FORMATS[format](summary)
    if format == "html":
        words = page([summary], summary.table.title)
    if out is None:
        emit(words)
    else:
        write_atomically(out, words)
        tell(f"wrote {out}")


def complain(outcome: Outcome) -> None:
    """Say what was left, and raise if runs came to nothing."""
    if outcome.n_left or outcome.n_elsewhere:
        tell(
            f"{outcome.n_left} runs were left for want of time, {outcome.n_elsewhere} are being "
            f"done by another process; the same command goes on."
        )
    if outcome.failures:
        why = sorted({failed.why for failed in outcome.failures})
        raise FirecvError(f"{len(outcome.failures)} runs came to nothing: {'; '.join(why[:5])}")
