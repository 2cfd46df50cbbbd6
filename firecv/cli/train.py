"""`firecv train`: one method on the user's own data, kept in a folder."""

import json
from pathlib import Path
from typing import Annotated

import typer

from firecv import trained as api
from firecv.cli import own_data as own
from firecv.cli.terminal import emit, say, tell
from firecv.estimators.methods import FIRE_FORMS
from firecv.rivals import RIVALS
from firecv.trained.fitting import Seen

NAMES = ", ".join((*FIRE_FORMS, *RIVALS))

EXAMPLES = (
    "Examples: firecv train patients.csv --target ill --fragment site --validation val.csv "
    "--method fire --set n_epochs=50 --out model; "
    "firecv train visits.csv --target ill --time date --window month --method erm --out plain; "
    "firecv train patients.csv --target ill --fragment site --method dann "
    "--set method.strength=0.5 --set hidden=64,32 --json.\n\n"
    "Then: firecv predict model new.csv."
)


def train(
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
    method: Annotated[
        str, typer.Option(help=f"One of {', '.join((*FIRE_FORMS, *RIVALS))}.")
    ] = "fire",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of the method, name=value; may be repeated."),
    ] = None,
    sees: Annotated[
        Seen | None,
        typer.Option(help="What the method may see of V; inputs, unless it needs labels."),
    ] = None,
    seed: own.Seed = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where to keep the model.")
    ] = None,
    as_json: own.Json = False,
) -> None:
    """Train a model on fragments and say what it has seen and how good it is."""
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
    model = api.train(
        data,
        method=method,
        settings=settings or [],
        sees=sees,
        target=target,
        seed=seed,
        verbose=True,
    )
    if as_json:
        emit(json.dumps(model.plain(), indent=2))
    else:
        say(model)
    if out is None:
        tell("the model is not kept; give --out FOLDER to keep it")
    else:
        model.save(out)
