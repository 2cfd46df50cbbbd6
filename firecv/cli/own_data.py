"""The options of every command that takes the user's own data, and the data they ask for."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from firecv.cli.terminal import tell
from firecv.data.arrays import Fragmented
from firecv.data.folds import Folds as Cut
from firecv.data.folds import folds as cut_into_folds
from firecv.data.fragments import taken
from firecv.data.limits import NAMES, limits_from
from firecv.data.own import read_own
from firecv.errors import DataError
from firecv.seeding import derive

SHARE = 0.2
"""Share of the rows held out for validation if nothing else is asked for."""

Path_ = Annotated[
    Path, typer.Argument(metavar="FILE", help="The data: .csv, .tsv, .parquet, .feather or .npz.")
]
Target = Annotated[str, typer.Option(help="Column to predict.")]
Fragment = Annotated[
    str | None, typer.Option(help="Column that says which fragment a row is of, such as a site.")
]
Time = Annotated[str | None, typer.Option(help="Column of dates or numbers to cut by --window.")]
Window = Annotated[
    str | None,
    typer.Option(help="Width: day, week, month, quarter, year, 12h, 7D; for numbers a number."),
]
Folds = Annotated[
    int | None, typer.Option(min=1, help="Cut the rows into so many stratified folds instead.")
]
ValidationFile = Annotated[
    str | None,
    typer.Option(
        "--validation",
        metavar="FILE|SHARE",
        help=f"Validation data, or the share of rows to hold out; {SHARE} without it.",
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="Column of numbers that are names of categories; may be repeated."),
]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")]
Seed = Annotated[int, typer.Option(help="Of all that is drawn at random.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs to read.")]
Limit = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=NUMBER",
        help=f"Raise a limit on what is read: {', '.join(NAMES)}; may be repeated.",
    ),
]
Out = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Keep the result and a report in a folder.")
]


def own_data(
    path: str | Path,
    *,
    target: str,
    fragment: str | None = None,
    time: str | None = None,
    window: str | None = None,
    folds: int | None = None,
    validation: str | None = None,
    categorical: Collection[str] | None = None,
    drop: Collection[str] | None = None,
    seed: int = 0,
    needs_labels: bool = True,
    limit: Collection[str] | None = None,
) -> Fragmented:
    """Return the user's data in fragments, with a validation set.

    Parameters
    ----------
    path
        The file.
    target, fragment, time, window, categorical, drop, seed, needs_labels
        As for `firecv.data.own.own`; a window that is a number in text is a number.
    folds
        Number of stratified folds to be the fragments, in place of a column.
    validation
        The path of a file, or a share between 0 and 1 as text. Without it a fifth of the rows is
        held out, and said so on standard error.
    limit
        Limits on what is read that differ from the usual, such as ``"columns=20000"``.
    """
    if folds is not None and (by := fragment or time) is not None:
        raise DataError(
            f"got both {folds} folds and the column {by!r} to cut by; leave one of them out"
        )
    if validation is None:
        tell(f"no --validation, so a share of {SHARE} is held out")
    data = read_own(
        path,
        target=target,
        fragment=fragment,
        time=time,
        window=number_or_text(window),
        validation=SHARE if validation is None else file_or_share(validation),
        categorical=categorical or (),
        drop=drop or (),
        seed=seed,
        needs_labels=needs_labels,
        limits=limits_from(limit or ()),
    )
    if folds is None:
        return data
    (whole,) = data.fragments.values()
    cut = cut_into_folds(whole, derive(seed, "folds"), Cut(folds))
    return Fragmented(taken(whole, cut), data.validation)


def number_or_text(text: str | None) -> float | str | None:
    """Return the width of a window: a number if the text is one."""
    try:
        return text if text is None else float(text)
    except ValueError:
        return text


def file_or_share(text: str) -> float | str:
    """Return a share if the text is a number and no file has that name."""
    found = number_or_text(text)
    return text if found is None or Path(text).exists() else found
