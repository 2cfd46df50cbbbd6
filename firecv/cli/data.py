"""`firecv data`: which data sets there are, getting them, checking them, looking at them."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from firecv import charts
from firecv.cli.terminal import emit, say, tell
from firecv.data import datasets, overview
from firecv.data.fragments import FRAGMENTERS
from firecv.data.preview import preview
from firecv.data.shifts import SHIFTS
from firecv.data.specification import usage
from firecv.display import table, visible
from firecv.errors import FirecvError

app = typer.Typer(
    help="Data sets: list, describe, fetch, verify and show them.", no_args_is_help=True
)
Name = Annotated[str, typer.Argument(help="A data set; `firecv data list` names all.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs to read.")]


@app.command("list", epilog="Example: firecv data list --json")
def list_(as_json: Json = False) -> None:
    """List every data set: its size and whether it is here."""
    records = overview.overview()
    if as_json:
        emit(json.dumps(records, indent=2))
        return
    columns = ["name", "kind", "train", "test", "shape", "classes", "duplicates", "state"]
    say(table({column: [_cell(record[column]) for record in records] for column in columns}))


@app.command(epilog="Example: firecv data info heart")
def info(name: Name, as_json: Json = False) -> None:
    """Say what is known of a data set, its traps first of all; and what it holds, if it is here."""
    known = overview.facts(datasets.find(name))
    if datasets.is_here(name):
        known["holds"] = overview.contents(datasets.load(name))
    if as_json:
        emit(json.dumps(known, indent=2))
        return
    _print_tree(known)


@app.command(epilog="Example: firecv data fetch fashion_mnist")
def fetch(name: Name) -> None:
    """Download a data set, going on where an earlier download stopped, and check it."""
    is_here = datasets.is_here(name)
    datasets.fetch(name)
    say(f"{name} is here already." if is_here else f"{name} is here now and is as published.")


@app.command(epilog="Examples: firecv data verify heart; firecv data verify")
def verify(
    name: Annotated[str | None, typer.Argument(help="A data set; else all that are here.")] = None,
) -> None:
    """Check sizes, classes and every value against what was published."""
    names = [name] if name else [n for n in datasets.DATASETS if datasets.is_here(n)]
    n_bad = 0
    for each in names:
        try:
            datasets.verify(each)
            how = "every value" if datasets.find(each).checksum else "sizes and classes"
            say(f"ok     {each} ({how})")
        except FirecvError as error:
            n_bad += 1
            say(f"WRONG  {each}: {error}")
    if n_bad:
        raise FirecvError(f"{n_bad} of {len(names)} data sets are not as published")


@app.command(
    epilog="Examples: firecv data show fashion_mnist --shift rotation:a=2,b=6; "
    "firecv data show heart --shift selection --fragments folds:n=5; "
    "firecv data show digits --bands rotation --fragments iid:n=6.\n\n"
    f"Shifts with their settings: {'; '.join(usage(SHIFTS).splitlines())}.\n\n"
    f"Fragments: {'; '.join(usage(FRAGMENTERS).splitlines())}."
)
def show(
    name: Name,
    shift: Annotated[
        str | None, typer.Option(help=f"One of {', '.join(SHIFTS)}; settings after a colon.")
    ] = None,
    fragments: Annotated[
        str, typer.Option(help=f"One of {', '.join(FRAGMENTERS)}; settings after a colon.")
    ] = "iid:n=4",
    bands: Annotated[
        Literal["rotation", "noise", "colour"] | None,
        typer.Option(help="Give each fragment a shift of its own."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="The picture; else NAME.png in this folder.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all that is drawn at random.")] = 0,
) -> None:
    """Draw fragments and validation set before and after a shift: what a method faces."""
    options = {"fragments": fragments, "shift": shift, "bands": bands}
    said = ", ".join(f"{key} {value}" for key, value in options.items() if value)
    sides, columns = preview(
        datasets.load(name), fragments=fragments, shift=shift, bands=bands, seed=seed
    )
    title = f"{name}: {said}"
    figure = (
        charts.column_sheet(sides, columns, title) if columns else charts.image_sheet(sides, title)
    )
    path = output or Path(f"{name}.png")
    charts.save(figure, path)
    tell(f"drew {path}")


def _cell(value: Any) -> str:
    """Return a value as a person would write it."""
    if value is None:
        return "-"
    if isinstance(value, list):
        items: list[Any] = value
        if len(items) > 12 and all(isinstance(item, str) for item in items):
            return f"{', '.join(items[:10])}, ... ({len(items)} in all)"
        numbers = all(isinstance(item, int) for item in items)
        return ("x" if numbers else "; ").join(map(str, items))
    return f"{value:,}" if isinstance(value, int) else str(value)


def _print_tree(values: dict[str, Any], depth: int = 0) -> None:
    """Print what is not empty, a line each; sentences and tables of their own below their key."""
    for key, value in values.items():
        if value in (None, [], {}, ""):
            continue
        sentences = isinstance(value, list) and str(value[0]).endswith(".")
        below = sentences or isinstance(value, dict)
        say(visible("  " * depth + f"{key}:" + ("" if below else f" {_cell(value)}")))
        if sentences:
            for sentence in value:
                say(visible("  " * (depth + 1) + f"- {sentence}"))
        elif isinstance(value, dict):
            _print_tree(value, depth + 1)
