"""The network of one seed under sample selection bias: its rows, and One-step's own training."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from firecv.data.arrays import Rows, duplicates
from firecv.data.selection import Selection, select
from firecv.errors import DataError, NumericalError
from firecv.experiments.kinds.stacks import Encoded, Trial, build_stack, encoded
from firecv.experiments.spec import ProtocolName
from firecv.models import Task, table_mlp
from firecv.rivals import OneStep, Target
from firecv.seeding import derive, derive_torch
from firecv.stacked import Stack
from firecv.training import Training

SHARE_OF_V = 0.25
"""Of the target, in the protocol "clean"."""


def selection_trial(
    dataset: str, target: Literal["complement", "unbiased"], protocol: ProtocolName, seed: int
) -> Trial:
    """Return the network of one seed, which all methods share.

    Parameters
    ----------
    dataset, target, protocol
        As for `firecv.experiments.kinds.selection.SelectionBias`.
    seed
        Of the direction, of V and of what training draws.
    """
    table, rule = encoded(dataset), Selection(target=target)
    x = table.distinct.x[table.distinct.places]
    train, _ = select(x, derive(seed, "selection"), "train", rule)
    judged, _ = select(x, derive(seed, "selection"), "target", rule)
    validation, test = judged, judged
    if protocol == "clean":
        validation, test = _parted(judged, duplicates(x)[judged], derive(seed, "parts"))
    return Trial(train, validation, test, seed, place=0)


def one_at_a_time(
    table: Encoded, trials: Sequence[Trial], n_epochs: int
) -> list[NDArray[np.floating]]:
    """Return the probabilities of networks that One-step trains, which no stack can.

    Parameters
    ----------
    table, trials
        The data, and the networks.
    n_epochs
        Full-batch steps.
    """
    stack, places = build_stack(table, trials), table.distinct.places
    return [
        _onestep(stack, model, places[trial.train], places[trial.validation], trial, n_epochs)
        for model, trial in enumerate(trials)
    ]


def _parted(rows: Rows, groups: Rows, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Return a share of the rows and the rest, rows of a group being together."""
    names, inverse = np.unique(groups, return_inverse=True)
    rank = rng.permutation(len(names))[inverse]
    sizes = np.bincount(rank, minlength=len(names))
    n_groups = int(np.searchsorted(np.cumsum(sizes), SHARE_OF_V * len(rows))) + 1
    is_first = rank < min(n_groups, len(names) - 1)  # something is left to be scored
    if not is_first.any():
        raise DataError("all rows of the target are equal; give a table whose rows differ")
    return rows[is_first], rows[~is_first]


def _onestep(
    stack: Stack, model: int, train: Rows, validation: Rows, trial: Trial, n_epochs: int
) -> NDArray[np.floating]:
    assert stack.mean is not None and stack.scale is not None
    n_classes = len(stack.initial["2.bias"][model])
    task = Task(table_mlp(stack.x.shape[1], n_classes, derive_torch(trial.seed, "weights", 0)))
    x = torch.from_numpy((stack.x - stack.mean[model]) / stack.scale[model]).float()
    y = torch.from_numpy(stack.y.astype(np.int64))
    settings = Training(n_epochs=n_epochs, batch_size=None)
    try:
        OneStep().fit(task, (x[train], y[train]), Target(x[validation]), settings, trial.seed)
    except NumericalError:
        return np.full((len(x), n_classes), np.nan)
    with torch.no_grad():
        return task.scores(x).softmax(1).numpy()
