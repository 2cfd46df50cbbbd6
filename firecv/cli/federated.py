"""`firecv federated`: a federation of one data set, simulated on this machine."""

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from firecv.cli import own_data as own
from firecv.cli.terminal import emit, say, tell
from firecv.data.bands import Kind
from firecv.data.fragments import FRAGMENTERS
from firecv.data.limits import limits_from
from firecv.data.specification import usage
from firecv.display import table, visible
from firecv.errors import DataError, FederatedError
from firecv.federated import simulation as api
from firecv.federated.algorithms import ALGORITHMS
from firecv.federated.history import History, Record
from firecv.federated.simulated import FRAGMENTS, Labels
from firecv.federated.uploads import Rule
from firecv.report import keep
from firecv.trained.federated import of_clients

app = typer.Typer(help="Federated learning, simulated on this machine.", no_args_is_help=True)
MODEL = "model"
"""The folder of the model in that of a study."""
SHOWN = 20
"""Rounds that the table shows, evenly spread."""
OLD_WORDS = {"labelled": "server", "unlabelled": "none", "none": "none"}
"""What --validation took before it was the name of a file, and what to write instead."""


@app.callback()
def _group() -> None:  # pyright: ignore[reportUnusedFunction]
    """Federated learning, simulated on this machine."""


@app.command(
    epilog="Examples: firecv federated simulate digits --rounds 20; "
    "firecv federated simulate digits --fragments iid:n=10 --bands rotation --algorithm fire "
    "--checkpoint runs/fire; "
    "firecv federated simulate fashion_mnist --algorithm fedprox --set strength=0.1 "
    "--set local.rate=0.05 --participation 0.5 --processes 4; "
    "firecv federated simulate patients.csv --target ill --fragment site --validation val.csv "
    "--algorithm fire --out study; "
    "firecv federated simulate visits.csv --target ill --time date --window month --json.\n\n"
    f"Fragments: {'; '.join(usage(FRAGMENTERS).splitlines())}."
)
def simulate(
    data: Annotated[str, typer.Argument(help="A data set, or a file if --target is given.")],
    target: Annotated[str | None, typer.Option(help="Column of a file to predict.")] = None,
    fragment: Annotated[
        str | None, typer.Option(help="Column or tag that says which client a sample is of.")
    ] = None,
    time: own.Time = None,
    window: own.Window = None,
    validation: Annotated[
        str | None,
        typer.Option(metavar="FILE|SHARE", help="Its halves are V and T; a share of rows."),
    ] = None,
    drop: own.Drop = None,
    categorical: own.Categorical = None,
    fragments: Annotated[
        str, typer.Option(help="How samples are dealt out to clients otherwise.")
    ] = FRAGMENTS,
    bands: Annotated[Kind | None, typer.Option(help="Give each client a shift of its own.")] = None,
    algorithm: Annotated[str, typer.Option(help=f"One of {', '.join(ALGORITHMS)}.")] = "fedavg",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of the algorithm, name=value; may be repeated."),
    ] = None,
    rounds: Annotated[int, typer.Option(help="Number of the last round.")] = 10,
    epochs: Annotated[
        int | None, typer.Option(help="Passes of a client over its data in a round.")
    ] = None,
    participation: Annotated[
        float, typer.Option(help="Share of the clients that take part in a round.")
    ] = 1.0,
    min_clients: Annotated[
        int, typer.Option(help="Below so many answers a round does not count.")
    ] = 1,
    rule: Annotated[Rule, typer.Option(help="How answers are combined.")] = "mean",
    labels: Annotated[
        Labels, typer.Option(help="Where V's labels are: on the server, nowhere, at clients too.")
    ] = "server",
    baseline: Annotated[
        bool, typer.Option("--baseline/--no-baseline", help="Run FedAvg beside the algorithm.")
    ] = True,
    seed: Annotated[int, typer.Option(help="Of all that is drawn at random.")] = 0,
    every: Annotated[int, typer.Option(help="Rounds from one evaluation to the next.")] = 1,
    engine: Annotated[api.Engine, typer.Option(help="What runs the rounds.")] = "embedded",
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder to save rounds to, and to go on from.")
    ] = None,
    processes: Annotated[int, typer.Option(help="Clients computed at the same time.")] = 1,
    timeout: Annotated[float | None, typer.Option(help="Seconds a client has to answer.")] = None,
    limit: own.Limit = None,
    as_json: own.Json = False,
    out: own.Out = None,
    column: Annotated[str | None, typer.Option(hidden=True)] = None,
    validation_data: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Let clients learn together and say how good the result is, beside FedAvg."""
    _check_names(column, validation_data, validation)
    simulation = api.Simulation(
        data=data,
        target=target,
        fragment=fragment,
        time=time,
        window=own.number_or_text(window),
        validation=None if validation is None else own.file_or_share(validation),
        drop=tuple(drop or ()),
        categorical=tuple(categorical or ()),
        fragments=fragments,
        bands=bands,
        algorithm=algorithm,
        settings=settings or [],
        n_rounds=rounds,
        n_epochs=epochs,
        participation=participation,
        min_clients=min_clients,
        rule=rule,
        seed=seed,
        labels=labels,
        limits=limits_from(limit or ()),
    )
    found = api.simulate(
        simulation,
        engine=engine,
        checkpoint=checkpoint,
        every=every,
        n_processes=processes,
        timeout=timeout,
        baseline=baseline,
    )
    part = found.plain()
    if as_json:
        emit(json.dumps(part, indent=2, allow_nan=False))
    else:
        say(_as_text(found))
    if out is not None:
        tell(f"wrote {keep(part, out)}")
        if found.table is not None:
            of_clients(found).save(out / MODEL)
            tell(f"wrote {out / MODEL}; predict by: firecv predict {out / MODEL} FILE")
    if found.history.stopped is not None:
        raise FederatedError(found.history.stopped)


def _check_names(column: str | None, validation_data: str | None, validation: str | None) -> None:
    """Raise `DataError` if an option has a name that it no longer has."""
    if column is not None:
        raise DataError(f"--column is now --fragment; write --fragment {column}")
    if validation_data is not None:
        raise DataError(
            f"--validation-data is now --validation; write --validation {validation_data}"
        )
    if validation in OLD_WORDS and not Path(validation).exists():
        raise DataError(
            f"--validation names the file of V and T; where V's labels are is now --labels, so "
            f"write --labels {OLD_WORDS[validation]}"
        )


def _as_text(found: api.Simulated) -> str:
    """Return a table of rounds, evenly spread if there are many, and the result in a sentence."""
    records = [record for record in found.history.records if record.scores] or list(
        found.history.records
    )
    step = -(-len(records) // SHOWN)
    shown = records[::-step][::-1]  # the last is among them
    rows = pd.DataFrame([_row(record) for record in shown]).fillna("")
    rounds = table({str(name): list(map(str, rows[name])) for name in rows})
    failed = [f"{found.names[k]} {n}" for k, n in _failures(found.history).items()]
    lines: list[str] = []
    if failed:
        lines.append(f"Rounds that went without a client: {', '.join(failed)}.")
    if n_unweighed := sum(record.unweighed is not None for record in found.history.records):
        lines.append(f"Rounds whose clients could not be weighed and count by n/N: {n_unweighed}.")
    if found.aim is not None:
        lines.append(found.aim)
    said = " and ".join(f"{100 * s.accuracy:.1f} % on {n}" for n, s in found.scores.items())
    last = found.history.state.round
    lines.append(f"After round {last} of {len(found.names)} clients: {said}.")
    if found.baseline is not None:
        beside = found.baseline.scores["test"].accuracy
        lines.append(
            f"{found.baseline.label} beside it: {100 * beside:.1f} % on test; {found.label} has "
            f"{100 * found.gains['test']:+.1f} points."
        )
    if found.changed:
        lines.append(found.changed)
    if "labelled" in found.regime.split("_"):
        lines.append("V's labels were used, so accuracy on validation is optimistic; test is not.")
    return "\n".join([rounds, "", *map(visible, lines)])


def _row(record: Record) -> dict[str, str | int]:
    """Return a record as a person reads it."""
    shares = {
        name.removesuffix("_accuracy"): f"{100 * value:.1f} %"
        for name, value in {**record.scores, **record.client_means()}.items()
        if name.endswith("_accuracy")
    }
    return {
        "round": record.round,
        "heard": len(record.clients),
        "failed": len(record.failures),
        **shares,
        "MB up": f"{record.bytes_up / 1e6:.2f}",
        "MB down": f"{record.bytes_down / 1e6:.2f}",
        "seconds": f"{record.seconds:.2f}",
        "shift p": "" if record.p_value is None else f"{record.p_value:.2g}",
    }


def _failures(history: History) -> Counter[int]:
    """Return how many rounds went without each client that failed."""
    return Counter(client for record in history.records for client in record.failures)
