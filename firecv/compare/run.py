"""`compare`: methods side by side on the user's own data."""

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from firecv.compare.carry_out import carry_out
from firecv.compare.comparison import Comparison, Metric
from firecv.compare.conclude import conclude
from firecv.compare.entries import chosen
from firecv.compare.measure import Cell
from firecv.compare.prepare import Protocol, prepare
from firecv.compare.settings import sensible
from firecv.data.arrays import Fragmented
from firecv.data.even import check_whole
from firecv.errors import DataError
from firecv.models.scores import SCORES


def compare(
    data: Fragmented,
    *,
    methods: Sequence[str] | None = None,
    n_seeds: int = 10,
    protocol: Protocol = "clean",
    validation_labels: bool = True,
    metric: Metric = "accuracy",
    hidden: tuple[int, ...] = (64,),
    n_epochs: int | None = None,
    batch_size: int | None = None,
    rate: float | None = None,
    at_most: int | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    folder: str | Path | None = None,
    progress: bool = False,
) -> Comparison:
    """Return how methods do on the user's data, and whether one of them is best.

    For every seed the validation set is halved into V, of which a method sees what its regime says,
    and T, which is scored; all methods have the same halves, initial weights and order of samples.
    Nothing is chosen with T. Inputs are encoded as the fragments alone say.

    Parameters
    ----------
    data
        Fragments and a labelled validation set, as `firecv.data.own.own` gives them; images are
        ``uint8``.
    methods
        Names in `firecv.estimators.METHODS`, such as ``["iwerm", "fire", "fire:labelled"]``: after
        a colon what a form of FIRE sees of V, "unlabelled" unless it is said. Plain training
        (``"erm"``), which others are compared with, is always added. None for
        `firecv.compare.DEFAULT`.
    n_seeds
        Splits and trainings of every method; with fewer than ten nothing is tested.
    protocol
        "clean" as above; "paper" scores V itself, which is optimistic.
    validation_labels
        Whether methods may see the labels of V; if not, those that must are left out.
    metric
        What decides: "accuracy", "balanced_accuracy", "auc", "log_loss" or "calibration_error"; of
        the last two less is better.
    hidden, n_epochs, batch_size, rate
        Of the network of all methods; None lets the number of rows decide. Images have the paper's
        convolutional network.
    at_most
        Rows to train on, and rows of the validation set, if there are more; None for 20,000, of
        images 4,000.
    seed
        The first of the seeds.
    n_jobs
        Trainings at a time, each on one core.
    folder
        Where finished trainings are kept, so that the same call goes on after a stop.
    progress
        Whether to show a bar on a terminal.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from firecv.data.own import own
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"a": rng.normal(size=240), "site": ["A", "B", "C"] * 80})
    >>> frame["ill"] = (frame["a"] > 0).astype(int)
    >>> data = own(frame, target="ill", fragment="site", validation=0.25)
    >>> found = compare(data, methods=["fire"], n_seeds=2, n_epochs=30)
    >>> found.table()[["method", "regime", "n_seeds"]]
      method      regime  n_seeds
    0    erm        none        2
    1   fire  unlabelled        2
    """
    _check(n_seeds, n_jobs, at_most, protocol, metric)
    entries, left_out = chosen(methods, labels=validation_labels)
    prepared = prepare(data, at_most, seed)
    settings = sensible(
        len(prepared.y),
        is_image=prepared.image_shape is not None,
        hidden=hidden,
        n_epochs=n_epochs,
        batch_size=batch_size,
        rate=rate,
    )
    cells = [Cell(e, s, protocol, settings) for s in range(seed, seed + n_seeds) for e in entries]
    measured = carry_out(
        cells,
        prepared,
        n_jobs=n_jobs,
        folder=None if folder is None else Path(folder),
        progress=progress,
    )
    return conclude(data, prepared, measured, left_out, protocol, metric)


def _check(
    n_seeds: int, n_jobs: int, at_most: int | None, protocol: Protocol, metric: Metric
) -> None:
    for name, value in {"n_seeds": n_seeds, "n_jobs": n_jobs, "at_most": at_most}.items():
        if value is not None:
            check_whole(name, value)
    if protocol not in get_args(Protocol):
        raise DataError(f"protocol is {protocol!r}; expected 'clean' or 'paper'")
    if metric not in SCORES:
        raise DataError(f"metric is {metric!r}; expected one of {', '.join(SCORES)}")
