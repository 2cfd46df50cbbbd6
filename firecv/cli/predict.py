"""`firecv predict`: what a trained model says of new rows.

Spreadsheets run a cell that begins like a formula, and a class may have such a name. Text that does
is written with ``'`` before it, which spreadsheets show as text; so is text that begins with ``'``
and goes on like a formula, so that taking one ``'`` off gives every name back.
"""

import io
import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from firecv.cli import own_data as own
from firecv.cli.terminal import emit
from firecv.data.limits import limits_from
from firecv.data.table_files import read_columns
from firecv.files import open_atomically
from firecv.trained import Trained, load_trained

EXAMPLES = (
    "Examples: firecv predict model new.csv --out predictions.csv --proba; "
    "firecv predict model new.parquet | head.\n\n"
    "Answers are in the order of the rows."
)
Chunks = Iterable[NDArray[np.float64]]
FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""How cells begin that are run (OWASP, CSV injection), full-width signs among them."""
NUMBER = re.compile("[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?")
QUOTED = re.compile(r'[,;\t"\r\n]')
"""What puts a cell in quotes: signs at which spreadsheets may part cells, quotes, line breaks."""


def predict(
    model: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="What `firecv train --out` wrote.")
    ],
    path: own.Path_,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write there, not to standard output.")
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Give the probability of each class, too.")
    ] = False,
    raw: Annotated[
        bool,
        typer.Option("--raw", help="Write text as it is, also what spreadsheets run as formulas."),
    ] = False,
    as_json: own.Json = False,
    limit: own.Limit = None,
) -> None:
    """Predict the class of every row of a table."""
    trained = load_trained(model)
    chunks = trained.chunks(read_columns(path, limits_from(limit or ())), str(path))
    with _opened(out) as write:
        if as_json:
            write(json.dumps(_plain(trained, chunks, proba), indent=2))
        else:
            for lines in _csv(trained.facts.classes, chunks, proba=proba, raw=raw):
                write(lines)


def _csv(classes: Sequence[str], chunks: Chunks, *, proba: bool, raw: bool) -> Iterator[str]:
    """Yield the head, and the lines of each chunk as it comes."""
    names = [_field(name, raw=raw) for name in classes]
    yield ",".join(["predicted", *([_field(f"p({name})") for name in classes] if proba else [])])
    for chunk in chunks:
        best: list[int] = chunk.argmax(1).tolist()
        shares: list[list[float]] = chunk.tolist() if proba else [[]] * len(best)
        yield "\n".join(
            ",".join([names[k], *map(repr, share)]) for k, share in zip(best, shares, strict=True)
        )


def _field(text: str, *, raw: bool = False) -> str:
    """Return a text as a cell of a CSV file that no spreadsheet runs."""
    if not raw and FORMULA.match(text) and not NUMBER.fullmatch(text):
        text = f"'{text}"
    if not text or QUOTED.search(text):
        return '"{}"'.format(text.replace('"', '""'))
    return text


def _plain(trained: Trained, chunks: Chunks, proba: bool) -> dict[str, object]:
    """Return all predictions as JSON has them."""
    facts, found = trained.facts, np.concatenate(list(chunks))
    return {
        "kind": "predictions",
        "version": 1,
        "target": facts.target,
        "classes": list(facts.classes),
        "predicted": [facts.classes[k] for k in found.argmax(1)],
        **({"probabilities": found.tolist()} if proba else {}),
    }


@contextmanager
def _opened(path: Path | None) -> Generator[Callable[[str], object]]:
    """Give a way to write lines to standard output, or to a file that is whole once it is there."""
    if path is None:
        yield emit
        return
    with open_atomically(path) as binary:
        file = io.TextIOWrapper(binary, encoding="utf-8", newline="")
        yield lambda lines: file.write(f"{lines}\n")
        file.detach()  # writes what is left and leaves the file open, to be forced to the disk
