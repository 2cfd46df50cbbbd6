"""`firecv diagnose`: whether fragments differ from the validation set, which ones, and in what."""

import json
from typing import Annotated

import typer

from firecv.cli import own_data as own
from firecv.cli.terminal import emit, say, tell
from firecv.diagnose import diagnose_own
from firecv.diagnose.diagnosis import AT_MOST
from firecv.diagnose.inputs import FEWEST_ROWS
from firecv.report import keep

EXAMPLES = (
    "Examples: firecv diagnose patients.csv --target ill --fragment site --validation new.csv; "
    "firecv diagnose sales.parquet --target bought --time date --window month --validation 0.2 "
    "--out study; firecv diagnose patients.csv --target ill --folds 5 --json"
)


def diagnose(
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
    level: Annotated[
        float, typer.Option(help="False alarms to allow, over all fragments together.")
    ] = 0.05,
    at_most: Annotated[
        int, typer.Option(min=FEWEST_ROWS, help="Rows of a fragment and of V to look at.")
    ] = AT_MOST,
    seed: own.Seed = 0,
    as_json: own.Json = False,
    out: own.Out = None,
) -> None:
    """Say whether fragments differ from the validation set, which ones, in what, and what to do."""
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
        needs_labels=False,
    )
    found = diagnose_own(data, seed=seed, level=level, at_most=at_most, progress=True)
    part = found.plain(path.name)
    if as_json:
        emit(json.dumps(part, indent=2, allow_nan=False))
    else:
        say(found)
    if out is not None:
        tell(f"wrote {keep(part, out)}")
