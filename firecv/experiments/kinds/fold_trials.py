"""The networks of one repeat of cross-validation: what each is trained, validated and scored on."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from firecv.data.folds import Folds as Cut
from firecv.data.folds import folds
from firecv.experiments.kinds.stacks import Scores, Trial, encoded
from firecv.experiments.spec import ProtocolName
from firecv.seeding import derive

HOLD_OUT = 5
"""Parts of the table of which one is held out where there is one fold only."""


def fold_trials(dataset: str, n_folds: int, protocol: ProtocolName, seed: int) -> list[Trial]:
    """Return the networks of one repeat, which all methods share.

    Parameters
    ----------
    dataset, n_folds, protocol
        As for `firecv.experiments.kinds.folds.Folds`.
    seed
        Of the folds and of what training draws.
    """
    is_clean = protocol == "clean"
    fold, is_test = _places(dataset, n_folds, is_clean, seed)
    return [
        Trial(
            train=np.flatnonzero(fold != held),
            validation=np.flatnonzero((fold == held) & ~(is_test & is_clean)),
            test=np.flatnonzero((fold == held) & is_test),
            seed=seed,
            place=held,
        )
        for held in range(n_folds)
    ]


def mean_over_folds(repeat: Sequence[Scores], name: str) -> float:
    """Return the mean over folds; of the AUC over those folds in which it is defined."""
    values = np.array([found[name] for found in repeat])
    is_trained = np.isfinite([found["accuracy"] for found in repeat]).all()
    if name == "auc" and is_trained:  # undefined where all of T is of one class
        values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else float("nan")


@lru_cache(maxsize=1024)
def _places(
    dataset: str, n_folds: int, is_clean: bool, seed: int
) -> tuple[NDArray[np.int16], NDArray[np.bool_]]:
    """Return the fold of each row, and whether it may be scored there.

    Kept, as all methods share it and keeping equal inputs together takes seconds in large tables.
    """
    arrays = encoded(dataset).arrays
    n, first = (n_folds, seed) if n_folds > 1 else (HOLD_OUT, 0)
    fold = np.zeros(len(arrays), np.int16)
    is_test = np.full(len(arrays), not is_clean)
    cut = folds(arrays, derive(first, "folds", n), Cut(n, keep_duplicates_together=is_clean))
    for number, rows in enumerate(cut.values()):
        fold[rows] = number
        if is_clean and number < n_folds:
            _, tested = folds(
                arrays.take(rows), derive(first, "halves", n, number), Cut(2)
            ).values()
            is_test[rows[tested]] = True
    return fold, is_test
