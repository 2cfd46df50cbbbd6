"""`firecv compare`: which method is best on the user's own data, and whether that can be told."""

import json
from typing import Annotated

import typer

from firecv import compare as api
from firecv.cli import own_data as own
from firecv.cli.terminal import emit, say, tell
from firecv.compare.comparison import Metric
from firecv.compare.prepare import Protocol
from firecv.display import table
from firecv.report import keep

EXAMPLES = (
    "Examples: firecv compare patients.csv --target ill --fragment site --validation judged.csv "
    "--out study; firecv compare patients.csv --target ill --folds 5 --methods erm,fire,pooled "
    "--seeds 20 --jobs 2; firecv compare --list"
)


def _list(is_asked: bool) -> None:
    """Print every method and end."""
    if is_asked:
        methods = api.listing()
        say(table({str(name): list(map(str, methods[name])) for name in methods}))
        say("\nMETHOD:REGIME shows a method that much of the validation set; * is the usual one.")
        raise typer.Exit


def compare(
    path: own.Path_,
    target: own.Target,
    fragment: own.Fragment = None,
    time: own.Time = None,
    window: own.Window = None,
    folds: own.Folds = None,
    validation: own.ValidationFile = None,
    categorical: own.Categorical = None,
    drop: own.Drop = None,
    limit: own.Limit = None,
    methods: Annotated[
        str | None, typer.Option(help="Names with commas between; --list shows them.")
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, help="Splits and trainings of each method; a test needs 10.")
    ] = 10,
    protocol: Annotated[
        Protocol, typer.Option(help="Score rows that no method sees, or V itself (optimistic).")
    ] = "clean",
    labels: Annotated[
        bool, typer.Option(help="Whether methods may see labels of the validation set.")
    ] = True,
    metric: Annotated[Metric, typer.Option(help="What decides.")] = "accuracy",
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Passes over the rows; else their number decides.")
    ] = None,
    at_most: Annotated[
        int | None, typer.Option(min=1, help="Rows to use if there are more: 20000, images 4000.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Trainings at a time, each on one core.")] = 1,
    seed: own.Seed = 0,
    as_json: own.Json = False,
    out: own.Out = None,
    _: Annotated[
        bool, typer.Option("--list", help="List all methods.", callback=_list, is_eager=True)
    ] = False,
) -> None:
    """Train methods on the fragments, score them on the validation set, and say which is best."""
    data = own.own_data(
        path,
        target=target,
        fragment=fragment,
        time=time,
        window=window,
        folds=folds,
        validation=validation,
        categorical=categorical,
        drop=drop,
        limit=limit,
        seed=seed,
        needs_labels=False,  # the comparison says what it needs them for
    )
    found = api.compare(
        data,
        methods=None if methods is None else methods.split(","),
        n_seeds=seeds,
        protocol=protocol,
        validation_labels=labels,
        metric=metric,
        n_epochs=epochs,
        at_most=at_most,
        seed=seed,
        n_jobs=jobs,
        folder=out,
        progress=True,
    )
    plain = found.plain(str(path))
    if as_json:
        emit(json.dumps(plain, indent=2, allow_nan=False))
    else:
        say(found)
    if out is not None:
        tell(f"wrote {keep(plain, out)}")
