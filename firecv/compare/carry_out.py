"""All trainings of a comparison, those that are kept left out, one or several at a time."""

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from joblib import Parallel, delayed, parallel_config

from firecv.compare.measure import Cell, Measured, measure
from firecv.compare.prepare import Prepared
from firecv.files import append_line
from firecv.locks import locked
from firecv.progress import bar

FILE = "comparison.jsonl"
"""In the folder: a line per finished training."""


def carry_out(
    cells: Sequence[Cell],
    prepared: Prepared,
    *,
    n_jobs: int = 1,
    folder: Path | None = None,
    progress: bool = True,
) -> dict[Cell, Measured]:
    """Return what came of every cell, in their order.

    Every line is on disk before the next result is looked at, so that whatever happens to this
    process only trainings under way are lost.

    Parameters
    ----------
    cells
        What to do.
    prepared
        The data.
    n_jobs
        Trainings at a time, each in a process with one thread; with one no process is started.
    folder
        Where finished trainings are kept and found again; None to keep none.
    progress
        Whether to show a bar on a terminal.
    """
    with _alone(folder):
        return _carried_out(cells, prepared, n_jobs, folder, progress)


@contextmanager
def _alone(folder: Path | None) -> Generator[None]:
    """Keep other processes from doing the same trainings in the same folder."""
    if folder is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / "comparison.lock", f"the comparison in {str(folder)!r}", wait=False):
        yield


def _carried_out(
    cells: Sequence[Cell], prepared: Prepared, n_jobs: int, folder: Path | None, progress: bool
) -> dict[Cell, Measured]:
    checksum = prepared.checksum
    ids = {cell: cell.id(checksum) for cell in cells}
    kept = {} if folder is None else read_kept(folder / FILE)
    found = {cell: kept[ids[cell]] for cell in cells if ids[cell] in kept}
    missing = [cell for cell in cells if cell not in found]
    with bar("comparing", len(cells), done=len(found), shown=progress) as advance:
        for cell, measured in _measured(missing, prepared, n_jobs):
            if folder is not None and measured.lasts:
                _keep(folder / FILE, ids[cell], cell, measured)
            found[cell] = measured
            advance(1, f"{cell.entry.label}, seed {cell.seed}")
    return {cell: found[cell] for cell in cells}


def read_kept(file: Path) -> dict[str, Measured]:
    """Return what is kept, by name; lines that a kill has cut short do not count.

    Parameters
    ----------
    file
        With a line of JSON for each training; it need not be there.
    """
    if not file.exists():
        return {}
    kept: dict[str, Measured] = {}
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            facts = cast("dict[str, Any]", json.loads(line))
            scores = {
                str(name): float("nan") if value is None else float(value)
                for name, value in facts["scores"].items()
            }
            notices = tuple(map(str, facts["notices"]))
            kept[str(facts["id"])] = Measured(scores, str(facts["failed"]), notices=notices)
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
    return kept


def _measured(
    cells: Sequence[Cell], prepared: Prepared, n_jobs: int
) -> Iterator[tuple[Cell, Measured]]:
    if n_jobs == 1 or len(cells) < 2:
        for cell in cells:
            yield cell, measure(cell, prepared)
        return
    at_once: Any = {"pre_dispatch": n_jobs, "batch_size": 1}  # joblib says these are words
    with parallel_config("loky", inner_max_num_threads=1):
        parallel = Parallel(n_jobs, return_as="generator_unordered", **at_once)
        yield from cast(
            "Iterator[tuple[Cell, Measured]]",
            parallel(delayed(_with_cell)(cell, prepared) for cell in cells),
        )


def _with_cell(cell: Cell, prepared: Prepared) -> tuple[Cell, Measured]:
    return cell, measure(cell, prepared)


def _keep(file: Path, name: str, cell: Cell, measured: Measured) -> None:
    """Add a line for a finished training."""
    facts: Mapping[str, object] = {
        "id": name,
        "method": cell.entry.name,
        "seed": cell.seed,
        "scores": {k: v if v == v else None for k, v in measured.scores.items()},
        "failed": measured.failed,
        "notices": measured.notices,
        "settings": asdict(cell.settings),
    }
    append_line(file, json.dumps(facts, separators=(",", ":")).encode() + b"\n")
