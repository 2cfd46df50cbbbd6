"""`firecv predict`: what a trained model says of new rows."""

import csv
import json
import os
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TextIO

import numpy as np
import typer
from numpy.typing import NDArray

from firecv.cli import own_data as own
from firecv.data.limits import limits_from
from firecv.data.table_files import read_columns
from firecv.trained import Trained, load_trained

EXAMPLES = (
    "Examples: firecv predict model new.csv --out predictions.csv --proba; "
    "firecv predict model new.parquet | head.\n\n"
    "Answers are in the order of the rows."
)
Chunks = Iterable[NDArray[np.float64]]


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
    as_json: own.Json = False,
    limit: own.Limit = None,
) -> None:
    """Predict the class of every row of a table."""
    trained = load_trained(model)
    chunks = trained.chunks(read_columns(path, limits_from(limit or ())), str(path))
    with _opened(out) as file:
        if as_json:
            json.dump(_plain(trained, chunks, proba), file, indent=2)
            file.write("\n")
        else:
            _write_csv(trained, chunks, proba, file)


def _write_csv(trained: Trained, chunks: Chunks, proba: bool, file: TextIO) -> None:
    """Write a line per row as chunks come."""
    classes = trained.facts.classes
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["predicted", *([f"p({name})" for name in classes] if proba else [])])
    for chunk in chunks:
        best: list[int] = chunk.argmax(1).tolist()
        shares: list[list[float]] = chunk.tolist() if proba else [[]] * len(best)
        writer.writerows([classes[k], *share] for k, share in zip(best, shares, strict=True))


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
def _opened(path: Path | None) -> Generator[TextIO]:
    """Give standard output, or a file that is in its place only once it is whole."""
    if path is None:
        yield sys.stdout
        return
    part = path.with_name(f"{path.name}.part{os.getpid()}")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
