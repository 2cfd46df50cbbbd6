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
from firecv.errors import FederatedError
from firecv.federated import simulation as api
from firecv.federated.algorithms import ALGORITHMS
from firecv.federated.history import History, Record
from firecv.federated.uploads import Rule
from firecv.report import keep

app = typer.Typer(help="Federated learning, simulated on this machine.", no_args_is_help=True)
SHOWN = 20
"""Rounds that the table shows, evenly spread."""


@app.callback()
def _group() -> None:  # pyright: ignore[reportUnusedFunction]
    """Federated learning, simulated on this machine."""


@app.command(
    epilog="Examples: firecv federated simulate digits --rounds 20; "
    "firecv federated simulate digits --fragments iid:n=10 --bands rotation --algorithm fire "
    "--checkpoint runs/fire; "
    "firecv federated simulate fashion_mnist --algorithm fedprox --set strength=0.1 "
    "--set local.rate=0.05 --participation 0.5 --processes 4; "
    "firecv federated simulate patients.csv --target ill --column site --validation-data val.csv "
    "--algorithm fire --out study; "
    "firecv federated simulate visits.csv --target ill --time date --window month --json.\n\n"
    f"Fragments: {'; '.join(usage(FRAGMENTERS).splitlines())}."
)
def simulate(
    data: Annotated[str, typer.Argument(help="A data set, or a file if --target is given.")],
    target: Annotated[str | None, typer.Option(help="Column of a file to predict.")] = None,
    column: Annotated[
        str | None, typer.Option(help="Column or tag that says which client a sample is of.")
    ] = None,
    time: own.Time = None,
    window: own.Window = None,
    validation_data: Annotated[
        str | None, typer.Option(metavar="FILE", help="Its halves are V and T.")
    ] = None,
    fragments: Annotated[
        str, typer.Option(help="How samples are dealt out to clients otherwise.")
    ] = api.FRAGMENTS,
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
    validation: Annotated[
        api.Seen, typer.Option(help="What the server sees of the validation set.")
    ] = "unlabelled",
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
) -> None:
    """Let clients learn together and say how good the result is, round by round."""
    simulation = api.Simulation(
        data=data,
        target=target,
        column=column,
        time=time,
        window=own.number_or_text(window),
        validation_data=validation_data,
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
        validation=validation,
        limits=limits_from(limit or ()),
    )
    found = api.simulate(
        simulation,
        engine=engine,
        checkpoint=checkpoint,
        every=every,
        n_processes=processes,
        timeout=timeout,
    )
    part = found.plain()
    if as_json:
        emit(json.dumps(part, indent=2, allow_nan=False))
    else:
        say(_as_text(found))
    if out is not None:
        tell(f"wrote {keep(part, out)}")
    if found.history.stopped is not None:
        raise FederatedError(found.history.stopped)


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
