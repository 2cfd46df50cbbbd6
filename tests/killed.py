"""The command line in a process that a test kills, with a small table and a small data set.

``python -m tests.killed ADDRESS WORDS...`` says "begun" once everything is loaded, so that kills
meet the work and not the loading; ADDRESS is where the data set's archive is published.
"""

import hashlib
import io
import sys
import zipfile
from dataclasses import replace
from functools import cache
from importlib import import_module

import numpy as np

from firecv import cli
from firecv.data.arrays import Arrays, Split
from firecv.data.catalogue import DATASETS
from firecv.data.dataset import Copy, Dataset, Published
from firecv.experiments import catalogue
from firecv.experiments.kinds.folds import Folds
from firecv.experiments.spec import Cell, Table

NAME = "killed"
N_FILES, N_SAMPLES = 40, 60
LOADED = {
    "federated": ["firecv.cli.federated"],
    "compare": ["firecv.cli.compare", "firecv.report.page", "firecv.estimators"],
    "train": ["firecv.cli.train"],
    "table": ["firecv.cli.table", "firecv.experiments.kinds.fold_trials", "firecv.stacked"],
    "data": ["firecv.cli.data", "requests"],
}


@cache
def archive() -> bytes:
    """Return the archive that is published: random images, a file each."""
    rng, packed = np.random.default_rng(0), io.BytesIO()
    with zipfile.ZipFile(packed, "w") as pack:
        for k in range(N_FILES):
            written = io.BytesIO()
            np.save(written, rng.integers(0, 256, (N_SAMPLES, 28, 28), np.uint8))
            pack.writestr(zipfile.ZipInfo(f"{k}.npy"), written.getvalue())
    return packed.getvalue()


def images(paths) -> Split:
    x = np.concatenate([np.load(path) for path in paths])
    y = np.arange(len(x)) % 10
    classes = tuple("0123456789")
    return Split(Arrays(x, y, classes), Arrays(x[:0], y[:0], classes))


def dataset(address: str) -> Dataset:
    """Return a set like those that come as an archive of many files."""
    checksum = f"sha256:{hashlib.sha256(archive()).hexdigest()}"
    files = tuple(f"{NAME}/unpacked/{k}.npy" for k in range(N_FILES))
    published = Published(f"{NAME}/all.zip", address, checksum, None, f"{NAME}/unpacked")
    return replace(
        DATASETS["mnist"],
        name=NAME,
        n_train=N_FILES * N_SAMPLES,
        n_test=0,
        copies=(Copy(files, images),),
        published=(published,),
        checksum=None,
    )


def table(protocol) -> Table:
    """Return a table of many short runs."""
    columns = (("ERM", "erm", "none", None), ("FIRE", "fire-align", "unlabelled", 0.1))
    cells = [
        Cell(
            f"{n_epochs} epochs",
            column,
            Folds("wine", 2, method, regime, strength, n_epochs=n_epochs),
            regime,
            20,
        )
        for n_epochs in range(60, 84, 2)
        for column, method, regime, strength in columns
    ]
    return Table(NAME, "Killed", protocol, tuple(cells), rival="ERM", tested=("FIRE",))


def main() -> int:
    address, *words = sys.argv[1:]
    DATASETS[NAME], catalogue.TABLES[NAME] = dataset(address), table
    for module in LOADED[words[0]]:
        import_module(module)
    print("begun", flush=True)
    sys.argv[1:] = words
    return cli.main()


if __name__ == "__main__":
    raise SystemExit(main())
