"""The demonstration: eight sites, one validation set, and what a user would ask, in one page.

Handwritten digits are dealt out to eight sites that hold the page at different angles; the
validation set is like the last of them. Run it as ``python -m firecv.demo``.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from firecv.compare import compare
from firecv.data import load
from firecv.data.own import read_own
from firecv.data.rotation import rotate
from firecv.diagnose import diagnose_own
from firecv.errors import FirecvError
from firecv.federated.simulation import Simulation, simulate
from firecv.files import write_atomically
from firecv.report import keep
from firecv.seeding import derive

FOLDER = Path("demo")
SITES = ("Aachen", "Bonn", "Celle", "Dessau", "Erfurt", "Fulda", "Gera", "Halle")
DEGREES = 180.0
N_VALIDATION = 400
METHODS = ("iwerm", "deepcoral", "fire", "fire-trace:labelled", "pooled")
N_SEEDS, N_EPOCHS, N_ROUNDS = 10, 20, 20


def main() -> int:
    """Write the data, ask three questions of them, and name the page with the answers."""
    try:
        print(_answered(FOLDER))
    except (FirecvError, OSError) as error:
        print(f"firecv: {error}", file=sys.stderr)
        return 1
    return 0


def tables(seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of all sites, and those of the validation set.

    Examples
    --------
    >>> sites, validation = tables()
    >>> len(sites) + len(validation), list(sites.columns[-2:])
    (1797, ['digit', 'site'])
    """
    digits = load("digits").train
    rng = derive(seed, "demo")
    rows = rng.permutation(len(digits))
    held, rest = np.split(rows, [N_VALIDATION])
    site = rng.integers(len(SITES), size=len(rest))
    width = DEGREES / len(SITES)

    def turned(rows: NDArray[np.intp], angles: NDArray[np.float64]) -> pd.DataFrame:
        pixels = rotate(np.asarray(digits.x)[rows], angles).reshape(len(rows), -1)
        names = [f"row {i} column {j}" for i in range(8) for j in range(8)]
        return pd.DataFrame(pixels, columns=names).assign(digit=digits.y[rows])

    sites = turned(rest, width * (site + rng.random(len(rest))))
    validation = turned(held, DEGREES * rng.beta(6, 2, len(held)))
    return sites.assign(site=np.asarray(SITES)[site]), validation


def _answered(folder: Path) -> str:
    """Return the last words, once all is done."""
    folder.mkdir(exist_ok=True)
    data, validation = folder / "sites.csv", folder / "validation.csv"
    for table, path in zip(tables(), (data, validation), strict=True):
        write_atomically(path, table.to_csv(index=False))
    _say("firecv diagnose", data, validation, "--fragment site", "Is there shift, and where?")
    read = read_own(data, target="digit", fragment="site", validation=validation)
    diagnosis = diagnose_own(read, progress=True)
    print(diagnosis)
    keep(diagnosis.plain(data.name), folder)
    _say("firecv compare", data, validation, "--fragment site", "Does FIRE help, against what?")
    comparison = compare(
        read,
        methods=METHODS,
        n_seeds=N_SEEDS,
        n_epochs=N_EPOCHS,
        n_jobs=2,
        folder=folder,
        progress=True,
    )
    print(comparison)
    keep(comparison.plain(data.name), folder)
    _say(
        "firecv federated simulate",
        data,
        validation,
        "--fragment site --algorithm fire",
        "And if the data stay where they are?",
    )
    federation = Simulation(
        str(data),
        target="digit",
        fragment="site",
        validation=str(validation),
        algorithm="fire",
        n_rounds=N_ROUNDS,
    )
    found = simulate(federation)
    assert found.baseline is not None
    for label, scores in (
        (found.baseline.label, found.baseline.scores),
        (found.label, found.scores),
    ):
        said = " and ".join(f"{100 * s.accuracy:.1f} % on {n}" for n, s in scores.items())
        print(f"{label}, {N_ROUNDS} rounds: {said}")
    page = keep(found.plain(), folder)
    return f"\nAll of it, with pictures: {page}"


def _say(
    command: str,
    data: Path,
    validation: Path,
    options: str,
    question: str,
) -> None:
    words = f"{command} {data} --target digit {options} --validation {validation}"
    print(f"\n## {question}\n\n{words}\n")


if __name__ == "__main__":
    raise SystemExit(main())
